// SPDX-License-Identifier: GPL-2.0-or-later

/// The reason why a render node cannot be used, and what the user can do about it.
public struct NodeRefusal: Error, Sendable, Hashable {
    /// The cause.
    public let cause: Cause
    /// The affected file or folder.
    public let path: String
    /// The `errno` of the failed call, if there is one.
    public let code: Int32?
    /// The finding, with the values that it is based on: one or two sentences.
    public let explanation: String
    /// The remedies, most likely first. A command follows a colon and can be copied.
    public let remedies: [String]

    /// The causes that prevent the use of a render node. The raw values are stable names for programs.
    public enum Cause: String, Sendable, Hashable {
        /// `/dev/dri` does not exist: there is no GPU, or the container has no access to one.
        case noDeviceFolder = "no-device-folder"
        /// `/dev/dri` exists but contains no render node.
        case noRenderNode = "no-render-node"
        /// `/dev/dri` contains display nodes (`card0`) but no render nodes.
        case displayNodeOnly = "display-node-only"
        /// The permission bits deny access to this process (EACCES).
        case permissionDenied = "permission-denied"
        /// The group of the node is not mapped in this user namespace (rootless containers).
        case unmappedGroup = "unmapped-group"
        /// The device rules of the container forbid the node (EPERM): it was mounted as a file, not passed as a device.
        case deviceNotAllowed = "device-not-allowed"
        /// The node disappeared after it was listed and before it was opened (ENOENT).
        case vanished = "node-vanished"
        /// The path does not refer to a character device.
        case notACharacterDevice = "not-a-device"
        /// No kernel driver serves the node (ENXIO, ENODEV).
        case noDriver = "no-kernel-driver"
        /// The process or the system has no free descriptor (EMFILE, ENFILE).
        case outOfDescriptors = "out-of-descriptors"
        /// Any other failure; see the code and the explanation.
        case failed = "node-failed"
    }
}

extension NodeRefusal: CustomStringConvertible {
    /// The explanation and the remedies, one per line.
    public var description: String {
        ([explanation] + remedies.map { "  - " + $0 }).joined(separator: "\n")
    }
}
