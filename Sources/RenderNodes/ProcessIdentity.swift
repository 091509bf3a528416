// SPDX-License-Identifier: GPL-2.0-or-later

/// The identity of this process, as relevant for device access.
public struct ProcessIdentity: Sendable, Hashable {
    /// The effective user.
    public let user: UInt32
    /// The login name of the user, if `/etc/passwd` contains it.
    public let userName: String?
    /// The effective and the supplementary groups, ascending.
    public let groups: [UInt32]
    /// The container of the process, if it was detected.
    public let container: Container?

    /// The container engines that are detected by a marker file.
    public enum Container: String, Sendable, Hashable {
        /// Docker: `/.dockerenv`.
        case docker
        /// Podman: `/run/.containerenv`.
        case podman
    }

    /// Returns whether the permission bits of a file let this process read and write it, without regard to
    /// capabilities.
    ///
    /// As in POSIX, only the first matching class counts: owner, group, others.
    func mayReadAndWrite(_ file: DeviceFile) -> Bool {
        let readAndWrite: UInt16 = 0o6
        let shift: UInt16 = file.owner == user ? 6 : groups.contains(file.group) ? 3 : 0
        return file.permissions >> shift & readAndWrite == readAndWrite
    }
}

extension ProcessIdentity: CustomStringConvertible {
    /// A description such as `user alice (uid 1000) in groups 27, 1000`.
    public var description: String {
        let name = userName.map { "user \($0) (uid \(user))" } ?? "uid \(user)"
        return "\(name) in group\(groups.count == 1 ? "" : "s") \(groups.map(String.init).joined(separator: ", "))"
    }
}
