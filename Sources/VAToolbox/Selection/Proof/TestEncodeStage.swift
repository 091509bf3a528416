// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

extension TestEncode {
    /// The steps from a driver to a picture, in order.
    package enum Stage: String, Sendable, CaseIterable {
        /// The driver is loaded and asked what it can do.
        case device
        /// `vaCreateConfig`.
        case config
        /// `vaCreateContext`, with the surfaces and buffers that an encoder begins with.
        case context
        /// Pictures are handed to the driver (`vaBeginPicture`, `vaRenderPicture`, `vaEndPicture` and what brings samples into
        /// surfaces).
        case submit
        /// Coded pictures are waited for and mapped (`vaSyncBuffer`, `vaSyncSurface`, `vaMapBuffer`).
        case sync
        /// Every picture has come out, and none is empty.
        case bytes
        /// Parameter sets and slice headers can be read, and are what was asked for.
        case parses
        /// A decoder of another project's decodes every picture, and they are those that were encoded.
        case decodes

        /// The stages that a report has columns for.
        package static let reported = allCases.filter { $0 != .device }
    }
}

// MARK: - Whose fault it is

extension TestEncode.Ending {
    /// What an error means that came while the encoder was made.
    package init(creationFailedBy error: MediaError) {
        let isOfEncoder = error.call == nil && [.unsupported, .invalidArgument].contains(error.code)
        if isOfEncoder {
            self = .refused(error)
            return
        }
        let stage: TestEncode.Stage =
            switch error.call {
            case "vaCreateConfig": .config
            case "vaCreateContext", "vaCreateSurfaces", "vaCreateBuffer": .context
            // A driver that crashes or hangs here does not say in what.
            case nil: error.code == .deadlineExceeded ? .config : .device
            case let call?: call.hasPrefix("va") ? .device : .config
            }
        self = .failed(stage, error.withoutHelper)
    }

    /// What an error means that came while frames were encoded.
    ///
    /// - Parameters:
    ///   - framesUnderWay: How many frames were taken and had not come out.
    ///   - depth: How many the driver may have at a time; one more waits for a place.
    package init(encodingFailedBy error: MediaError, framesUnderWay: Int, depth: Int) {
        let stage: TestEncode.Stage =
            switch error.call {
            case "vaSyncBuffer", "vaSyncSurface", "vaSyncSurface2", "vaMapBuffer": .sync
            case let call? where call.hasPrefix("va"): .submit
            // The helper has ended, and nobody knows in which call.
            case .some: .submit
            // As long as there are places, nobody waits for the driver but who hands a picture to it.
            case nil where error.code == .deadlineExceeded: framesUnderWay <= depth ? .submit : .sync
            case nil: error.code == .malformedData ? .parses : .bytes
            }
        self = .failed(stage, error.withoutHelper)
    }
}

extension MediaError {
    /// The error of a helper that has ended, without its path and status, which say nothing of the driver.
    fileprivate var withoutHelper: MediaError {
        var error = self
        if let call, !call.hasPrefix("va") { (error.call, error.status) = (nil, nil) }
        return error
    }
}
