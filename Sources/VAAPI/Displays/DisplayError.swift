// SPDX-License-Identifier: GPL-2.0-or-later

public import RenderNodes

/// Why a display could not be opened.
public struct DisplayError: Error, Sendable, Hashable {
    /// The path of the node.
    public let path: String
    /// The reason for the failure.
    public let reason: Reason
    /// The messages of libva and the driver, in order.
    public let messages: [DriverMessage]

    /// The steps that can fail.
    public enum Reason: Sendable, Hashable {
        /// The node could not be opened.
        case refused(NodeRefusal)
        /// The device is not a DRM device (`vaGetDisplayDRM` returned no display).
        case notADRMDevice
        /// libva or the driver refused.
        case failed(VAError)
    }
}

extension DisplayError: CustomStringConvertible {
    /// The reason, followed by the errors that libva or the driver reported.
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

/// How the start of a driver failed, as far as libva reports it.
public enum DriverStartFailure: Sendable, Hashable {
    /// The kernel driver did not indicate which driver libva should load.
    case noName
    /// No driver file exists.
    case noFile
    /// No driver file could be loaded.
    case unloadable
    /// A file was loaded, but it exports no initialization function for this version of libva.
    case otherVersion
    /// A driver was loaded and refused to start.
    case refused

    /// - Parameters:
    ///   - stage: The last stage that was reached.
    ///   - errors: The error lines of libva and the driver.
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
    /// The error lines of libva and the driver.
    public var errorLines: [String] { messages.filter { $0.severity == .error }.map(\.text) }

    /// The reason why the node could not be opened, from ``NodeRefusal``, with the stable name of the cause; nil if the
    /// node was opened.
    public var nodeRefusal: (cause: String, explanation: String, remedies: [String])? {
        guard case .refused(let refusal) = reason else { return nil }
        return (refusal.cause.rawValue, refusal.explanation, refusal.remedies)
    }

    /// How the driver's start failed; nil if the start was not reached.
    public var startFailure: DriverStartFailure? {
        guard case .failed = reason else { return nil }
        let stages = messages.indices.compactMap { DisplayStage(announcedBy: Array(messages[...$0])) }
        let started = stages.last { if case .initializing = $0 { true } else { false } }
        return DriverStartFailure(started ?? stages.last ?? .choosingDriver, errors: errorLines)
    }
}
