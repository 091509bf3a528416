// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
public import MediaTypes

/// Where the helper program is.
public enum HelperLocation {
    /// The name of the program.
    public static let programName = "vatoolbox-helper"
    /// The environment variable that names the program, for executables that are installed elsewhere. Programs that run
    /// with more rights than their user has ignore it.
    public static let environmentVariable = "VATOOLBOX_HELPER"

    /// Finds the program: by an explicit path, by the environment variable, beside the executable of this process, then
    /// in the folders of `PATH`. A path that was given is not replaced by another.
    ///
    /// - Throws: `unavailable` with the places that were looked at.
    public static func find(_ explicitPath: String? = nil) throws(MediaError) -> String {
        try find(
            explicitPath,
            environment: { name in linux_environment(name).map { String(cString: $0) } },
            executable: realpath("/proc/self/exe", nil).map { path in
                defer { free(path) }
                return String(cString: path)
            },
            isProgram: { path in
                var status = stat()
                return access(path, X_OK) == 0 && stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            }
        )
    }

    static func find(
        _ explicitPath: String?,
        environment: (String) -> String?,
        executable: String?,
        isProgram: (String) -> Bool
    ) throws(MediaError) -> String {
        for (path, source) in [(explicitPath, "given"), (environment(environmentVariable), environmentVariable)] {
            guard let path, !path.isEmpty else { continue }
            if isProgram(path) { return path }
            throw MediaError(
                .unavailable,
                "the helper program (\(source)) cannot be run",
                given: path,
                cause: .helperMissing,
                remedies: remedies
            )
        }
        var folders = [executable.flatMap { $0.lastIndex(of: "/").map { String(executable?[..<$0] ?? "") } }]
        folders += (environment("PATH") ?? "").split(separator: ":").map { String($0) }
        let places = folders.compactMap(\.self).map { "\($0)/\(programName)" }
        if let found = places.first(where: isProgram) { return found }
        throw MediaError(
            .unavailable,
            "the helper program \(programName) was not found; set \(environmentVariable) to its path",
            allowed: places.joined(separator: ", "),
            cause: .helperMissing,
            remedies: remedies
        )
    }

    /// What to do when another program, or one of another version, is in its place.
    public static let remediesForAnother = [
        "build the helper from the same version as the program: swift build -c release --product \(programName)",
        "check whether \(environmentVariable) or PATH points to another one: unset \(environmentVariable)",
    ]

    /// What to do when it is not where it is looked for.
    static let remedies = [
        "set its path: export \(environmentVariable)=/path/to/\(programName)",
        "build it next to the program: swift build -c release --product \(programName)",
    ]
}
