// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// The steps from a driver to a picture, in order.
enum TrialStage: String, Sendable, CaseIterable {
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
    /// A decoder of another project's decodes every picture.
    case decodes

    /// The stages that a report has columns for.
    static let reported = allCases.filter { $0 != .device }
}

/// What came of a trial.
struct TrialResult: Sendable, Hashable {
    /// What was tried.
    var trial: Trial
    /// How it ended.
    var ending: Ending
    /// What the encoder does otherwise than it was asked to.
    var adjustments: [Adjustment]
    /// How long it took.
    var duration: Duration

    /// How a trial ends.
    enum Ending: Sendable, Hashable {
        /// Every stage was passed.
        case passed
        /// A stage was not passed; those before it were.
        case failed(TrialStage, reason: String)
        /// The encoder said before anything was created that the driver cannot do it.
        case refused(reason: String)
    }

    /// One word for it.
    enum Status: String, Sendable, CaseIterable {
        /// All that was asked for works.
        case passed
        /// All stages were passed, but with something else than what was asked for.
        case altered
        case failed
        case refused
    }

    /// One word for it.
    var status: Status {
        switch ending {
        case .passed: adjustments.isEmpty ? .passed : .altered
        case .failed: .failed
        case .refused: .refused
        }
    }

    /// What became of a stage: whether it was passed; `nil` if it was not reached.
    func passed(_ stage: TrialStage) -> Bool? {
        switch ending {
        case .passed: return true
        case .refused: return nil
        case .failed(let failed, _):
            let order = TrialStage.allCases
            guard let place = order.firstIndex(of: stage), let end = order.firstIndex(of: failed) else { return nil }
            return place == end ? false : place < end ? true : nil
        }
    }

    /// Why it is not what was asked for; `nil` if it is.
    var reason: String? {
        switch ending {
        case .passed: adjustments.isEmpty ? nil : adjustments.map(\.description).joined(separator: "; ")
        case .failed(_, let reason), .refused(let reason): reason
        }
    }
}

// MARK: - Whose fault it is

extension TrialResult.Ending {
    /// What an error means that came while the encoder was made.
    init(creationFailedBy error: MediaError) {
        let isOfEncoder = error.call == nil && [.unsupported, .invalidArgument].contains(error.code)
        if isOfEncoder {
            self = .refused(reason: error.cause)
            return
        }
        let stage: TrialStage =
            switch error.call {
            case "vaCreateConfig": .config
            case "vaCreateContext", "vaCreateSurfaces", "vaCreateBuffer": .context
            // A driver that crashes or hangs here does not say in what.
            case nil: error.code == .deadlineExceeded ? .config : .device
            case let call?: call.hasPrefix("va") ? .device : .config
            }
        self = .failed(stage, reason: error.cause)
    }

    /// What an error means that came while frames were encoded.
    ///
    /// - Parameters:
    ///   - framesUnderWay: How many frames were taken and had not come out.
    ///   - depth: How many the driver may have at a time; one more waits for a place.
    init(encodingFailedBy error: MediaError, framesUnderWay: Int, depth: Int) {
        let stage: TrialStage =
            switch error.call {
            case "vaSyncBuffer", "vaSyncSurface", "vaSyncSurface2", "vaMapBuffer": .sync
            case let call? where call.hasPrefix("va"): .submit
            // The helper has ended, and nobody knows in which call.
            case .some: .submit
            // As long as there are places, nobody waits for the driver but who hands a picture to it.
            case nil where error.code == .deadlineExceeded: framesUnderWay <= depth ? .submit : .sync
            case nil: error.code == .malformedData ? .parses : .bytes
            }
        self = .failed(stage, reason: error.cause)
    }
}

extension MediaError {
    /// The error on one line; that of a helper that has ended without its path and status, which say nothing of the driver.
    fileprivate var cause: String {
        var error = self
        if let call, !call.hasPrefix("va") { (error.call, error.status) = (nil, nil) }
        return Readable.oneLine(error.readable)
    }
}
