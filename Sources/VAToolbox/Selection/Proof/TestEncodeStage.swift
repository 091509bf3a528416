// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

extension TestEncode {
    /// The steps from a driver to a picture, in order.
    package enum Stage: String, Sendable, CaseIterable {
        /// The driver is loaded and its capabilities are queried.
        case device
        /// `vaCreateConfig`.
        case config
        /// `vaCreateContext`, with the initial surfaces and buffers of the encoder.
        case context
        /// Pictures are submitted to the driver (`vaBeginPicture`, `vaRenderPicture`, `vaEndPicture` and the upload to
        /// surfaces).
        case submit
        /// Coded pictures are awaited and mapped (`vaSyncBuffer`, `vaSyncSurface`, `vaMapBuffer`).
        case sync
        /// Every picture was returned, and none is empty.
        case bytes
        /// Parameter sets and slice headers can be parsed and match the request.
        case parses
        /// An independent decoder decodes every picture, and the pictures match the source pictures.
        case decodes

        /// The stages that are columns of a report.
        package static let reported = allCases.filter { $0 != .device }
    }
}

// MARK: - The stage of an error

extension TestEncode.Ending {
    /// Determines the stage of an error during the creation of the encoder.
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
            // A driver that crashes or hangs here does not report the call.
            case nil: error.code == .deadlineExceeded ? .config : .device
            case let call?: call.hasPrefix("va") ? .device : .config
            }
        self = .failed(stage, error.withoutHelper)
    }

    /// Determines the stage of an error during encoding.
    ///
    /// - Parameters:
    ///   - framesUnderWay: The number of frames that were submitted and not returned.
    ///   - depth: The number of frames that the driver may hold at a time; one more waits for a slot.
    package init(encodingFailedBy error: MediaError, framesUnderWay: Int, depth: Int) {
        let stage: TestEncode.Stage =
            switch error.call {
            case "vaSyncBuffer", "vaSyncSurface", "vaSyncSurface2", "vaMapBuffer": .sync
            case let call? where call.hasPrefix("va"): .submit
            // The helper has ended, and the call is unknown.
            case .some: .submit
            // While slots are free, only the submission of a picture waits for the driver.
            case nil where error.code == .deadlineExceeded: framesUnderWay <= depth ? .submit : .sync
            case nil: error.code == .malformedData ? .parses : .bytes
            }
        self = .failed(stage, error.withoutHelper)
    }
}

extension MediaError {
    /// The error of a helper that has ended, without its path and status, which do not concern the driver.
    var withoutHelper: MediaError {
        var error = self
        if let call, !call.hasPrefix("va") { (error.call, error.status) = (nil, nil) }
        return error
    }
}
