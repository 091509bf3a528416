// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
public import MediaTypes

/// The access of an encoding process: which files it may use, and whether it is confined at all.
///
/// The value is computed from the environment and the loaded libraries; ``Sandbox/apply(_:)`` enforces it. The allowed
/// system calls are not part of it, because they are the same for all processes.
public struct SandboxPolicy: Sendable, Hashable {
    /// The access to a file, or to the contents of a folder. Only one includes execution: libraries are mapped, which
    /// counts as reading, and a helper never starts a program.
    public enum Access: Sendable, Hashable {
        /// Reading files and listing folders.
        case read
        /// Reading a file and running it as a program.
        case execute
        /// Reading and writing existing files.
        case readWrite
        /// Reading, writing and listing, and device requests (ioctl).
        case devices
        /// Reading, listing, writing, creating, moving and removing files and folders; no symbolic links, FIFOs,
        /// sockets or devices.
        case everything
    }

    /// A path with the access to it and everything below.
    public struct Grant: Sendable, Hashable {
        /// The file, device or folder.
        public var path: String
        /// The allowed access.
        public var access: Access

        /// Grants access to a path.
        public init(_ path: String, _ access: Access) {
            self.path = path
            self.access = access
        }
    }

    /// Whether files, system calls and capabilities are confined. Resource limits apply in any case.
    public var isOn: Bool
    /// The accessible paths. A path that does not exist is not an error.
    public var grants: [Grant]
    /// The system calls that the process may make.
    package var calls = Calls.helper
    /// The size of the largest file or shared memory that the process can create, in bytes.
    package var largestFile: UInt64 = 4 << 30
    /// The number of descriptors that the process can have. An encoder has about twenty, plus those of the pictures
    /// that its client lends it.
    package var mostDescriptors: UInt64 = 8192

    /// The kinds of processes, by the system calls that they may make.
    package enum Calls: Sendable, Hashable {
        /// One that works on what it is given, and starts nothing.
        case helper
        /// A program that starts others, which inherit its confinement.
        ///
        /// - network: Whether it may open Internet sockets.
        /// - guardians: The processes that watch it, to which it can send no signal.
        case task(network: Bool, guardians: [Int32])

        var allowsNetwork: Bool { if case .task(network: true, _) = self { true } else { false } }
    }

    /// The environment variable that turns confinement `on` (the default) or `off`.
    public static let modeVariable = "VATOOLBOX_SANDBOX"
    /// The environment variable with additional folders, separated by colons, with full access: for traces of libva,
    /// dumps of drivers, and similar files.
    public static let writableVariable = "VATOOLBOX_SANDBOX_WRITABLE"

    /// Creates a policy from grants.
    public init(isOn: Bool = true, grants: [Grant]) {
        self.isOn = isOn
        self.grants = grants
    }

    /// The policy of this process.
    ///
    /// - Throws: `invalidArgument` for an invalid value of ``modeVariable``.
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

    /// Creates the policy of a process.
    ///
    /// - Parameters:
    ///   - environment: Returns the value of an environment variable.
    ///   - program: The path of the program.
    ///   - libraries: The paths of its loaded libraries; others are expected next to them.
    /// - Throws: `invalidArgument` for an invalid value of ``modeVariable``.
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

    // MARK: - Paths

    /// The system files that drivers and libraries read: themselves and their data, the cache of the dynamic linker,
    /// their settings, and kernel information about devices, processors, memory and this process. Nothing about other
    /// processes, and only the named files in /etc.
    static let system = [
        "/usr", "/lib", "/lib32", "/lib64", "/opt", "/nix/store", "/gnu/store",
        "/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime", "/etc/libva.conf", "/etc/drirc",
        "/etc/igfx_user_feature.txt", "/etc/igfx_user_feature_next.txt",
        // The last one is within the previous one, unless a preloaded library presents other devices.
        "/sys/bus/pci", "/sys/class/drm", "/sys/dev/char", "/sys/devices", "/sys/devices/system",
        "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/dev/i915",
        "/proc/sys/vm/overcommit_memory",
    ]

    private static let devices = [Grant("/dev/dri", .devices)] + streams

    /// Devices that every program uses.
    static let streams = [
        Grant("/dev/null", .readWrite), Grant("/dev/zero", .readWrite),
        Grant("/dev/random", .read), Grant("/dev/urandom", .read),
    ]

    /// Returns the folder of a file, or only the file if the folder contains unrelated files.
    static func surroundings(of file: String, home: String?) -> String {
        let folder = parts(of: file).dropLast()
        // A path with `..` cannot be judged by its beginning.
        if folder.contains("..") || isWide(Array(folder)) || Array(folder) == home.map(parts) { return file }
        return (file.hasPrefix("/") ? "/" : "") + folder.joined(separator: "/")
    }

    /// Returns whether a folder contains, or may contain, all files of a user, or data of the system or other programs.
    private static func isWide(_ folder: [String]) -> Bool {
        let wide: Set<[String]> = [
            [], ["home"], ["root"], ["tmp"], ["var"], ["var", "tmp"], ["var", "home"], ["dev"], ["dev", "shm"], ["run"],
            ["run", "user"], ["var", "run"], ["var", "run", "user"], ["etc"], ["srv"], ["mnt"], ["media"], ["proc"],
            ["sys"],
        ]
        // Home folders, and the folders in which user sessions keep their sockets and keys.
        let parents: Set<[String]> = [["home"], ["var", "home"], ["run", "user"], ["var", "run", "user"]]
        return wide.contains(folder) || parents.contains(folder.dropLast())
    }

    /// Returns the components of a path, without empty ones and `.`.
    private static func parts(of path: String) -> [String] {
        path.split(separator: "/").map { String($0) }.filter { $0 != "." }
    }

    static func list(_ text: String?, dividedBy dividers: String) -> [String] {
        (text ?? "").split { dividers.contains($0) }.map { String($0) }
    }

    static func unique(_ grants: [Grant]) -> [Grant] {
        var known: Set<Grant> = []
        return grants.filter { known.insert($0).inserted }
    }

    static var loadedLibraries: [String] {
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
