// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// An ffmpeg that can state qualities that this package does not compute.
package struct QualityProgram: Sendable, Hashable {
    /// Where it is.
    package let path: String
    /// What it calls itself: `5.1.9-0+deb12u1`.
    package let version: String
    /// Whether it has the filter `libvmaf`.
    package let hasVMAF: Bool
    /// Whether it has the filter `xpsnr`, which came with FFmpeg 7.1.
    package let hasXPSNR: Bool

    /// The name of the variable that says where it is.
    package static let variable = "VATOOLBOX_FFMPEG"

    /// What a search for one came to.
    package enum Search: Sendable, Hashable {
        /// There is one; what it lacks it says itself.
        case found(QualityProgram)
        /// There is none, or none is wanted, and why; for a person, without a full stop.
        case missing(String)
    }

    /// Looks for one.
    ///
    /// - Parameter path: Where it is; `nil` for what the variable `VATOOLBOX_FFMPEG` says, else the first `ffmpeg` of `PATH`.
    ///   A name without a slash is looked for in `PATH`.
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

    /// The one that is found without being told a path, looked for once.
    static let usual = search()

    /// What a report says of it; `nil` if it has nothing to say.
    var component: BenchmarkReport.Component? {
        guard hasVMAF || hasXPSNR else { return nil }
        return BenchmarkReport.Component(name: "ffmpeg for VMAF and XPSNR", version: version, detail: path)
    }

    private static func inPath(_ list: String, _ name: String) -> String? {
        list.split(separator: ":").map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }

    /// - Parameter given: Its path, which may be relative; it is started in folders of its own.
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

    /// The third word of each line: flags, name, inputs and outputs, description.
    static func filterNames(_ text: String) -> Set<Substring> {
        Set(
            text.split(separator: "\n").compactMap { line in
                let words = line.split(separator: " ", omittingEmptySubsequences: true)
                return words.count > 2 && words[2].contains("->") ? words[1] : nil
            }
        )
    }

    /// The third word of `ffmpeg version 5.1.9 Copyright ...`.
    static func version(_ text: String) -> String {
        let words = text.split(separator: "\n").first { $0.hasPrefix("ffmpeg version ") }?.split(separator: " ") ?? []
        return words.count > 2 ? String(words[2]) : "of unknown version"
    }
}
