// SPDX-License-Identifier: GPL-2.0-or-later

/// The rights that Landlock can deny, by the version that the kernel supports. The numbers are those of
/// linux/landlock.h.
struct LandlockRights: Sendable, Hashable {
    /// `LANDLOCK_ACCESS_FS_*`, `LANDLOCK_ACCESS_NET_*` and `LANDLOCK_SCOPE_*`.
    var files: UInt64
    var network: UInt64
    var scopes: UInt64

    /// All rights of a version; the kernel refuses unknown bits.
    init(version: Int32) {
        var files = File.ofFirstVersion
        if version >= 2 { files |= File.refer }
        if version >= 3 { files |= File.truncate }
        if version >= 5 { files |= File.deviceRequests }
        self.files = files
        // Binding and connecting TCP sockets.
        network = version >= 4 ? 0b11 : 0
        // Connecting to abstract sockets, and sending signals to processes outside.
        scopes = version >= 6 ? 0b11 : 0
    }

    private enum File {
        static let execute: UInt64 = 1 << 0
        static let writeFile: UInt64 = 1 << 1
        static let readFile: UInt64 = 1 << 2
        static let readFolder: UInt64 = 1 << 3
        static let removeFolder: UInt64 = 1 << 4
        static let removeFile: UInt64 = 1 << 5
        static let makeFolder: UInt64 = 1 << 7
        static let makeFile: UInt64 = 1 << 8
        static let ofFirstVersion: UInt64 = (1 << 13) - 1
        static let refer: UInt64 = 1 << 13
        static let truncate: UInt64 = 1 << 14
        static let deviceRequests: UInt64 = 1 << 15
        /// The rights that apply to non-folders: execution, writing, reading, truncation, device requests.
        static let ofFiles: UInt64 = execute | writeFile | readFile | truncate | deviceRequests
    }

    /// Returns the rights to grant for an access.
    func granted(by access: SandboxPolicy.Access, isFolder: Bool) -> UInt64 {
        let rights: UInt64 =
            switch access {
            case .read: File.readFile | File.readFolder
            case .execute: File.readFile | File.execute
            case .readWrite: File.readFile | File.writeFile
            case .devices: File.readFile | File.readFolder | File.writeFile | File.deviceRequests
            case .everything:
                File.readFile | File.readFolder | File.writeFile | File.truncate | File.makeFile | File.makeFolder
                    | File.removeFile | File.removeFolder | File.refer
            }
        return rights & files & (isFolder ? .max : File.ofFiles)
    }

    /// Returns the rights that a version cannot deny, as text.
    static func missing(inVersion version: Int32) -> [String] {
        [
            (3, "truncating files"), (4, "TCP connections"), (5, "device requests (ioctl)"),
            (6, "signals and abstract sockets"),
        ].filter { version < $0.0 }.map(\.1)
    }
}
