// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
public import MediaTypes

/// What a process that encodes may reach: which files, and whether it is confined at all.
///
/// A value that is computed from the environment and from what the process has loaded; ``Sandbox/apply(_:)`` makes it hold.
/// Which system calls are left is not part of it: that is the same for everybody.
public struct SandboxPolicy: Sendable, Hashable {
    /// What may be done with a file, or with what lies in a folder. No access includes execution: libraries are mapped,
    /// which is reading, and no program is ever started.
    public enum Access: Sendable, Hashable {
        /// Reading files and listing folders.
        case read
        /// Reading and writing files that are there.
        case readWrite
        /// The same and listing, and requests to devices (ioctl).
        case devices
        /// Reading, listing, writing, making and removing files and folders.
        case everything
    }

    /// A path with what is allowed there and below.
    public struct Grant: Sendable, Hashable {
        /// The file, device or folder.
        public var path: String
        /// What is allowed.
        public var access: Access

        /// Allows an access to a path.
        public init(_ path: String, _ access: Access) {
            self.path = path
            self.access = access
        }
    }

    /// Whether files, system calls and capabilities are confined. Limits hold in any case.
    public var isOn: Bool
    /// What may be reached. A path that does not exist is no error.
    public var grants: [Grant]

    /// The variable that turns confinement `on` (the default) or `off`.
    public static let modeVariable = "VATOOLBOX_SANDBOX"
    /// The variable that names further folders, divided by colons, in which everything is allowed: for traces of libva,
    /// dumps of drivers, and the like.
    public static let writableVariable = "VATOOLBOX_SANDBOX_WRITABLE"

    /// Makes a policy of grants.
    public init(isOn: Bool = true, grants: [Grant]) {
        self.isOn = isOn
        self.grants = grants
    }

    /// The policy of this process.
    ///
    /// - Throws: `invalidArgument` for a value of ``modeVariable`` that is none.
    public static func ofThisProcess() throws(MediaError) -> SandboxPolicy {
        try SandboxPolicy(
            environment: { name in linux_environment(name).map { String(cString: $0) } },
            program: realpath("/proc/self/exe", nil).map { path in
                defer { free(path) }
                return String(cString: path)
            },
            libraries: loadedLibraries
        )
    }

    /// The policy of a process.
    ///
    /// - Parameters:
    ///   - environment: The value of a variable.
    ///   - program: The path of the program.
    ///   - libraries: The paths of libraries that it has loaded; others are expected beside them.
    /// - Throws: `invalidArgument` for a value of ``modeVariable`` that is none.
    public init(
        environment: (String) -> String?,
        program: String?,
        libraries: [String]
    ) throws(MediaError) {
        isOn = try Self.isOn(environment(Self.modeVariable))
        let home = environment("HOME")
        var read = Self.system
        for file in [program].compactMap(\.self) + libraries + Self.list(environment("LD_PRELOAD"), dividedBy: ": ")
        where file.contains("/") {
            read.append(Self.surroundings(of: file, home: home))
        }
        read += Self.list(environment("LIBVA_DRIVERS_PATH"), dividedBy: ":")
        read += Self.list(environment("LD_LIBRARY_PATH"), dividedBy: ":;")
        grants = Self.unique(
            read.map { Grant($0, .read) } + Self.devices
                + Self.list(environment(Self.writableVariable), dividedBy: ":").map { Grant($0, .everything) }
        )
    }

    private static func isOn(_ mode: String?) throws(MediaError) -> Bool {
        switch mode {
        case nil, "", "on": return true
        case "off": return false
        case let mode:
            throw MediaError(
                .invalidArgument,
                "\(modeVariable) is not valid",
                given: mode,
                allowed: "on, off"
            )
        }
    }

    // MARK: - Where things are

    /// What drivers and libraries read of the system: themselves and their data, the dynamic linker's cache, their settings,
    /// what the kernel tells of devices, processors and memory, and of this process. Nothing of other processes, and of
    /// /etc only what is named.
    private static let system = [
        "/usr", "/lib", "/lib32", "/lib64", "/opt", "/nix/store", "/gnu/store",
        "/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime", "/etc/libva.conf", "/etc/drirc",
        "/etc/igfx_user_feature.txt", "/etc/igfx_user_feature_next.txt",
        // The last one lies in the one before, unless a preloaded library shows other devices.
        "/sys/bus/pci", "/sys/class/drm", "/sys/dev/char", "/sys/devices", "/sys/devices/system",
        "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/dev/i915",
        "/proc/sys/vm/overcommit_memory",
    ]

    private static let devices = [
        Grant("/dev/dri", .devices),
        Grant("/dev/null", .readWrite), Grant("/dev/zero", .readWrite),
        Grant("/dev/random", .read), Grant("/dev/urandom", .read),
    ]

    /// The folder of a file; the file alone if the folder holds what is not meant.
    private static func surroundings(of file: String, home: String?) -> String {
        let folder = parts(of: file).dropLast()
        // A path that goes up again is not judged by its beginning.
        if folder.contains("..") || isWide(Array(folder)) || Array(folder) == home.map(parts) { return file }
        return (file.hasPrefix("/") ? "/" : "") + folder.joined(separator: "/")
    }

    /// Whether a folder holds, or may hold, all that a user has, or what the system or other programs keep.
    private static func isWide(_ folder: [String]) -> Bool {
        let wide: Set<[String]> = [
            [], ["home"], ["root"], ["tmp"], ["var"], ["var", "tmp"], ["var", "home"], ["dev"], ["dev", "shm"], ["run"],
            ["run", "user"], ["var", "run"], ["var", "run", "user"], ["etc"], ["srv"], ["mnt"], ["media"], ["proc"],
            ["sys"],
        ]
        // Homes, and the folders in which users' sessions keep their sockets and keys.
        let parents: Set<[String]> = [["home"], ["var", "home"], ["run", "user"], ["var", "run", "user"]]
        return wide.contains(folder) || parents.contains(folder.dropLast())
    }

    /// The names in a path, without empty ones and those that stay where they are.
    private static func parts(of path: String) -> [String] {
        path.split(separator: "/").map { String($0) }.filter { $0 != "." }
    }

    private static func list(_ text: String?, dividedBy dividers: String) -> [String] {
        (text ?? "").split { dividers.contains($0) }.map { String($0) }
    }

    private static func unique(_ grants: [Grant]) -> [Grant] {
        var known: Set<Grant> = []
        return grants.filter { known.insert($0).inserted }
    }

    private static var loadedLibraries: [String] {
        var paths: [String] = []
        withUnsafeMutablePointer(to: &paths) { paths in
            linux_each_library(
                { path, context in
                    context?.assumingMemoryBound(to: [String].self).pointee.append(String(cString: path))
                },
                paths
            )
        }
        return paths
    }
}
