// SPDX-License-Identifier: GPL-2.0-or-later

/// Who this process is when it asks for a device.
public struct ProcessIdentity: Sendable, Hashable {
    /// The effective user.
    public let user: UInt32
    /// The user's login name, where `/etc/passwd` has it.
    public let userName: String?
    /// The effective and the supplementary groups, ascending.
    public let groups: [UInt32]
    /// The container around the process, where one left its mark.
    public let container: Container?

    /// Container engines that leave a file by which their containers can be told.
    public enum Container: String, Sendable, Hashable {
        /// Docker: `/.dockerenv`.
        case docker
        /// Podman: `/run/.containerenv`.
        case podman
    }

    /// Whether the permission bits of a file let this process read and write it, capabilities left aside.
    ///
    /// As in POSIX, only the first class that applies counts: owner, group, others.
    func mayReadAndWrite(_ file: DeviceFile) -> Bool {
        let readAndWrite: UInt16 = 0o6
        let shift: UInt16 = file.owner == user ? 6 : groups.contains(file.group) ? 3 : 0
        return file.permissions >> shift & readAndWrite == readAndWrite
    }
}

extension ProcessIdentity: CustomStringConvertible {
    /// Such as `user alice (uid 1000) in groups 27, 1000`.
    public var description: String {
        let name = userName.map { "user \($0) (uid \(user))" } ?? "uid \(user)"
        return "\(name) in group\(groups.count == 1 ? "" : "s") \(groups.map(String.init).joined(separator: ", "))"
    }
}
