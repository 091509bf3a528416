// SPDX-License-Identifier: GPL-2.0-or-later

/// Why a render node cannot be used, and what its user can do about it.
public struct NodeRefusal: Error, Sendable, Hashable {
    /// What stands in the way.
    public let cause: Cause
    /// The file or folder concerned.
    public let path: String
    /// The `errno` of the call that failed, where one did.
    public let code: Int32?
    /// What was found, with the numbers it was concluded from: one or two sentences.
    public let explanation: String
    /// What to do, the likeliest remedy first. Commands stand alone after a colon, ready to be copied.
    public let remedies: [String]

    /// What stands between a process and a render node. The raw values are stable names for programs.
    public enum Cause: String, Sendable, Hashable {
        /// There is no `/dev/dri`: no GPU, or a container that was not given one.
        case noDeviceFolder = "no-device-folder"
        /// `/dev/dri` is there but holds no render node.
        case noRenderNode = "no-render-node"
        /// `/dev/dri` holds nodes for displays (`card0`) and none for rendering.
        case displayNodeOnly = "display-node-only"
        /// The permission bits do not let this process in (EACCES).
        case permissionDenied = "permission-denied"
        /// The node belongs to a group that this user namespace cannot name (rootless containers).
        case unmappedGroup = "unmapped-group"
        /// The container's device rules forbid the node (EPERM): mounted as a file, not passed as a device.
        case deviceNotAllowed = "device-not-allowed"
        /// The node disappeared between being listed and being opened (ENOENT).
        case vanished = "node-vanished"
        /// The path leads to something other than a character device.
        case notACharacterDevice = "not-a-device"
        /// No driver answers behind the node (ENXIO, ENODEV).
        case noDriver = "no-kernel-driver"
        /// The process or the system has no descriptor left (EMFILE, ENFILE).
        case outOfDescriptors = "out-of-descriptors"
        /// Any other failure; the code and explanation name it.
        case failed = "node-failed"
    }
}

extension NodeRefusal: CustomStringConvertible {
    /// The explanation and the remedies, one to a line.
    public var description: String {
        ([explanation] + remedies.map { "  - " + $0 }).joined(separator: "\n")
    }
}
