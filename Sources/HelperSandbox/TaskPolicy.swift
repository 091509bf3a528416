// SPDX-License-Identifier: GPL-2.0-or-later

/// What a task of the encoding service may access, besides what every program needs to start.
package struct TaskAccess: Sendable, Hashable {
    /// The program, and others that it starts; the interpreter of a script is one of them.
    package var programs: [String]
    /// Files and folders to read.
    package var readable: [String]
    /// Files and folders to read and write; in folders, also to create, move and remove.
    package var writable: [String]
    /// Whether the render nodes may be used.
    package var devices: Bool
    /// Whether Internet sockets may be opened.
    package var network: Bool

    /// Describes an access.
    package init(
        programs: [String],
        readable: [String] = [],
        writable: [String] = [],
        devices: Bool = false,
        network: Bool = false
    ) {
        self.programs = programs
        self.readable = readable
        self.writable = writable
        self.devices = devices
        self.network = network
    }
}

extension SandboxPolicy {
    /// Creates the policy of a task. The programs, the libraries and what the environment names are found as for a
    /// helper.
    ///
    /// `/proc` is readable, because Swift programs read their arguments there, and a grant of `/proc/self` does not
    /// reach the processes that the task starts. Environment, memory and descriptors of others are closed to it all the
    /// same: Landlock denies them with the right to trace.
    ///
    /// - Parameters:
    ///   - access: What the task may access.
    ///   - guardians: The processes that watch the task.
    ///   - environment: Returns the value of an environment variable of the task.
    ///   - libraries: The paths of the libraries of the calling program, which are those of this package's other
    ///     programs; the dynamic linker among them is needed to start any program.
    package init(
        task access: TaskAccess,
        guardians: [Int32],
        environment: (String) -> String?,
        libraries: [String] = loadedLibraries
    ) {
        let home = environment("HOME")
        var read = Self.system + ["/proc"]
        let files = access.programs + libraries + Self.list(environment("LD_PRELOAD"), dividedBy: ": ")
        read += files.filter { $0.contains("/") }.map { Self.surroundings(of: $0, home: home) }
        read += Self.list(environment("LIBVA_DRIVERS_PATH"), dividedBy: ":")
        read += Self.list(environment("LD_LIBRARY_PATH"), dividedBy: ":;")
        let linkers = libraries.filter { $0.split(separator: "/").last?.hasPrefix("ld-linux") == true }
        self.init(
            grants: Self.unique(
                read.map { Grant($0, .read) } + (access.programs + linkers).map { Grant($0, .execute) }
                    + Self.streams + (access.devices ? [Grant("/dev/dri", .devices)] : [])
                    + access.readable.map { Grant($0, .read) } + access.writable.map { Grant($0, .everything) }
            )
        )
        calls = .task(network: access.network, guardians: guardians)
    }
}
