// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
public import MediaTypes

/// The location of the helper program.
public enum HelperLocation {
    /// The name of the program.
    public static let programName = "vatoolbox-helper"
    /// The environment variable with the path of the program, for programs that are installed elsewhere. Programs with
    /// more privileges than their user ignore it.
    public static let environmentVariable = "VATOOLBOX_HELPER"

    /// Finds the program: by an explicit path, by the environment variable, next to the executable of this process,
    /// then in the folders of `PATH`. An explicit path is never replaced by another one.
    ///
    /// - Throws: `unavailable` with the searched places.
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

    /// The remedies if another program, or one of another version, is in its place.
    public static let remediesForAnother = [
        "build the helper from the same version as the program: swift build -c release --product \(programName)",
        "check whether \(environmentVariable) or PATH points to another one: unset \(environmentVariable)",
    ]

    /// The remedies if it is not found.
    static let remedies = [
        "set its path: export \(environmentVariable)=/path/to/\(programName)",
        "build it next to the program: swift build -c release --product \(programName)",
    ]
}
