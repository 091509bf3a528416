// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// An ffmpeg program that measures qualities which this package does not compute.
package struct QualityProgram: Sendable, Hashable {
    /// The path.
    package let path: String
    /// The version that it reports, such as `5.1.9-0+deb12u1`.
    package let version: String
    /// Whether it has the `libvmaf` filter.
    package let hasVMAF: Bool
    /// Whether it has the `xpsnr` filter, introduced in FFmpeg 7.1.
    package let hasXPSNR: Bool

    /// The environment variable with its path.
    package static let variable = "VATOOLBOX_FFMPEG"

    /// The result of a search.
    package enum Search: Sendable, Hashable {
        /// The program was found; it reports missing filters itself.
        case found(QualityProgram)
        /// No program was found, or none is wanted: the reason, as text for users, without a full stop.
        case missing(String)
    }

    /// Searches for a program.
    ///
    /// - Parameter path: Its path; `nil` for the value of the variable `VATOOLBOX_FFMPEG`, otherwise the first `ffmpeg`
    ///   in `PATH`. A name without a slash is searched for in `PATH`.
    package static func search(path: String? = nil) -> Search {
        let variables = { (name: String) in getenv(name).map { String(cString: $0) } }
        let given = path ?? variables(Self.variable)
        let name = given ?? "ffmpeg"
        guard let program = name.contains("/") ? name : inPath(variables("PATH") ?? "", name) else {
            return .missing(given == nil ? "no ffmpeg was found" : "there is no \(name) in PATH")
        }
        do throws(MediaError) {
            return .found(try QualityProgram(asking: program))
        } catch {
            return .missing("the filters of \(program) cannot be listed: \(error.message)")
        }
    }

    /// The result of searching without a path, determined once.
    static let usual = search()

    /// Its entry in a report; `nil` if it measures nothing.
    var component: BenchmarkReport.Component? {
        guard hasVMAF || hasXPSNR else { return nil }
        return BenchmarkReport.Component(name: "ffmpeg for VMAF and XPSNR", version: version, detail: path)
    }

    /// The same program, for VMAF alone.
    var withoutXPSNR: QualityProgram { QualityProgram(path: path, version: version, hasVMAF: hasVMAF, hasXPSNR: false) }

    private init(path: String, version: String, hasVMAF: Bool, hasXPSNR: Bool) {
        (self.path, self.version, self.hasVMAF, self.hasXPSNR) = (path, version, hasVMAF, hasXPSNR)
    }

    private static func inPath(_ list: String, _ name: String) -> String? {
        list.split(separator: ":").map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }

    /// - Parameter given: Its path, which may be relative; it is run in other working folders.
    private init(asking given: String) throws(MediaError) {
        let resolved = realpath(given, nil)
        defer { free(resolved) }
        let path = resolved.map { String(cString: $0) } ?? given
        func answer(_ option: String) throws(MediaError) -> String {
            try TemporaryFolder.with { folder throws(MediaError) in
                try ChildProgram([path, "-hide_banner", "-nostdin", option], folder: folder).finish()
            }
        }
        let filters = Self.filterNames(try answer("-filters"))
        self.path = path
        version = Self.version(try answer("-version"))
        hasVMAF = filters.contains("libvmaf")
        hasXPSNR = filters.contains("xpsnr")
    }

    /// Returns the third word of each line: flags, name, inputs and outputs, description.
    static func filterNames(_ text: String) -> Set<Substring> {
        Set(
            text.split(separator: "\n").compactMap { line in
                let words = line.split(separator: " ", omittingEmptySubsequences: true)
                return words.count > 2 && words[2].contains("->") ? words[1] : nil
            }
        )
    }

    /// Returns the third word of `ffmpeg version 5.1.9 Copyright ...`.
    static func version(_ text: String) -> String {
        let words = text.split(separator: "\n").first { $0.hasPrefix("ffmpeg version ") }?.split(separator: " ") ?? []
        return words.count > 2 ? String(words[2]) : "unknown version"
    }
}
