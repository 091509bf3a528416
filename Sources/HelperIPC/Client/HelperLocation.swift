// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
public import MediaTypes

/// One of the two helper programs.
public enum HelperProgram: String, Sendable, Hashable, CaseIterable {
    /// `vatoolbox-helper`, which encodes. It starts fast, because it does not load FFmpeg's libraries.
    case encoding = "vatoolbox-helper"
    /// `vatoolbox-decoding-helper`, which decodes and encodes, so that pictures need not leave its process.
    case decoding = "vatoolbox-decoding-helper"

    /// The file name.
    public var name: String { rawValue }

    /// The environment variable with the path of the program, for programs that are installed elsewhere. Programs with
    /// more privileges than their user ignore it.
    public var environmentVariable: String {
        switch self {
        case .encoding: "VATOOLBOX_HELPER"
        case .decoding: "VATOOLBOX_DECODING_HELPER"
        }
    }
}

/// The location of the helper programs.
public enum HelperLocation {
    /// Finds a program: by an explicit path, by the environment variable, next to the executable of this process,
    /// then in the folders of `PATH`. An explicit path is never replaced by another one.
    ///
    /// - Throws: `unavailable` with the searched places.
    public static func find(
        _ program: HelperProgram = .encoding,
        at explicitPath: String? = nil
    ) throws(MediaError) -> String {
        try find(
            program,
            at: explicitPath,
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
        _ program: HelperProgram,
        at explicitPath: String?,
        environment: (String) -> String?,
        executable: String?,
        isProgram: (String) -> Bool
    ) throws(MediaError) -> String {
        let variable = program.environmentVariable
        for (path, source) in [(explicitPath, "given"), (environment(variable), variable)] {
            guard let path, !path.isEmpty else { continue }
            if isProgram(path) { return path }
            throw MediaError(
                .unavailable,
                "the helper program (\(source)) cannot be run",
                given: path,
                cause: .helperMissing,
                remedies: program.remedies
            )
        }
        var folders = [executable.flatMap { $0.lastIndex(of: "/").map { String(executable?[..<$0] ?? "") } }]
        folders += (environment("PATH") ?? "").split(separator: ":").map { String($0) }
        let places = folders.compactMap(\.self).map { "\($0)/\(program.name)" }
        if let found = places.first(where: isProgram) { return found }
        throw MediaError(
            .unavailable,
            "the helper program \(program.name) was not found; set \(variable) to its path",
            allowed: places.joined(separator: ", "),
            cause: .helperMissing,
            remedies: program.remedies
        )
    }
}

extension HelperProgram {
    /// The remedies if another program, or one of another version, is in its place.
    public var remediesForAnother: [String] {
        [
            "build the helper from the same version as the program: swift build -c release --product \(name)",
            "check whether \(environmentVariable) or PATH points to another one: unset \(environmentVariable)",
        ]
    }

    /// The remedies if it is not found.
    var remedies: [String] {
        [
            "set its path: export \(environmentVariable)=/path/to/\(name)",
            "build it next to the program: swift build -c release --product \(name)",
        ]
    }
}
