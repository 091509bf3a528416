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
        let errors = messages.filter { $0.severity == .error }.map { "  " + $0.text }
        return ([reason] + errors).joined(separator: "\n")
    }
}
