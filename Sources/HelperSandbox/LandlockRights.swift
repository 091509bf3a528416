// SPDX-License-Identifier: GPL-2.0-or-later

/// What Landlock can deny, by the version of it that a kernel has. The numbers are those of linux/landlock.h.
struct LandlockRights: Sendable, Hashable {
    /// `LANDLOCK_ACCESS_FS_*`, `LANDLOCK_ACCESS_NET_*` and `LANDLOCK_SCOPE_*`.
    var files: UInt64
    var network: UInt64
    var scopes: UInt64

    /// Everything that a version knows; the kernel refuses bits that it does not.
    init(version: Int32) {
        var files = File.ofFirstVersion
        if version >= 2 { files |= File.refer }
        if version >= 3 { files |= File.truncate }
        if version >= 5 { files |= File.deviceRequests }
        self.files = files
        // Binding and connecting TCP sockets.
        network = version >= 4 ? 0b11 : 0
        // Connecting to abstract sockets, and signals to processes outside.
        scopes = version >= 6 ? 0b11 : 0
    }

    private enum File {
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
        /// What can be allowed for something that is no folder: execution, writing, reading, truncation, requests.
        static let ofFiles: UInt64 = 1 | writeFile | readFile | truncate | deviceRequests
    }

    /// The rights to give for an access.
    func granted(by access: SandboxPolicy.Access, isFolder: Bool) -> UInt64 {
        let rights: UInt64 =
            switch access {
            case .read: File.readFile | File.readFolder
            case .readWrite: File.readFile | File.writeFile
            case .devices: File.readFile | File.readFolder | File.writeFile | File.deviceRequests
            case .everything:
                File.readFile | File.readFolder | File.writeFile | File.truncate | File.makeFile | File.makeFolder
                    | File.removeFile | File.removeFolder
            }
        return rights & files & (isFolder ? .max : File.ofFiles)
    }

    /// What a version cannot deny, in words.
    static func missing(inVersion version: Int32) -> [String] {
        [
            (3, "truncating files"), (4, "TCP connections"), (5, "device requests (ioctl)"),
            (6, "signals and abstract sockets"),
        ].filter { version < $0.0 }.map(\.1)
    }
}
