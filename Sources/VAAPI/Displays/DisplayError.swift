// SPDX-License-Identifier: GPL-2.0-or-later

public import RenderNodes

/// Why a display could not be opened.
public struct DisplayError: Error, Sendable, Hashable {
    /// The node's path.
    public let path: String
    /// What failed.
    public let reason: Reason
    /// What libva and the driver said on the way, in order.
    public let messages: [DriverMessage]

    /// The steps that can fail.
    public enum Reason: Sendable, Hashable {
        /// The node could not be opened.
        case refused(NodeRefusal)
        /// The device is not one of DRM (`vaGetDisplayDRM` gave nothing).
        case notADRMDevice
        /// libva or the driver refused.
        case failed(VAError)
    }
}

extension DisplayError: CustomStringConvertible {
    /// The reason, and the errors that libva or the driver reported.
    public var description: String {
        let reason =
            switch reason {
            case .refused(let refusal): refusal.description
            case .notADRMDevice: "\(path) is not a DRM device"
            case .failed(let error): "\(path): \(error)"
            }
        let errors = errorLines.map { "  " + $0 }
        return ([reason] + errors).joined(separator: "\n")
    }
}

/// How the start of a driver failed, as far as libva tells.
public enum DriverStartFailure: Sendable, Hashable {
    /// The kernel's driver did not tell libva which driver to load.
    case noName
    /// There was no file to load.
    case noFile
    /// No file could be loaded.
    case unloadable
    /// A file was loaded, and has no function by which this version of libva starts a driver.
    case otherVersion
    /// A driver was loaded, and refused to start.
    case refused

    /// - Parameters:
    ///   - stage: The furthest stage that was reached.
    ///   - errors: The lines that libva and the driver wrote as errors.
    public init(_ stage: DisplayStage, errors: [String]) {
        self =
            if case .choosingDriver = stage {
                .noName
            } else if case .initializing = stage {
                .refused
            } else if errors.contains(where: { $0.contains(" has no function __vaDriverInit") }) {
                .otherVersion
            } else if errors.contains(where: { $0.contains("dlopen of ") }) {
                .unloadable
            } else {
                .noFile
            }
    }
}

extension DisplayError {
    /// The lines that libva and the driver wrote as errors.
    public var errorLines: [String] { messages.filter { $0.severity == .error }.map(\.text) }

    /// Why the node could not be opened, in the words of ``NodeRefusal``, with the stable name of the cause; nil if it
    /// was opened.
    public var nodeRefusal: (cause: String, explanation: String, remedies: [String])? {
        guard case .refused(let refusal) = reason else { return nil }
        return (refusal.cause.rawValue, refusal.explanation, refusal.remedies)
    }

    /// How the driver's start failed; nil if it was not come to that.
    public var startFailure: DriverStartFailure? {
        guard case .failed = reason else { return nil }
        let stages = messages.indices.compactMap { DisplayStage(announcedBy: Array(messages[...$0])) }
        let started = stages.last { if case .initializing = $0 { true } else { false } }
        return DriverStartFailure(started ?? stages.last ?? .choosingDriver, errors: errorLines)
    }
}
