// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
package import MediaTypes

/// The results of a benchmark so far, in a file that grows by one line for each completed run. If the program ends for
/// any reason, only one run is lost, and the benchmark can be resumed.
package struct RunJournal {
    /// The first line, which identifies the benchmark.
    package struct Header: Codable, Sendable, Hashable {
        /// The program with its version.
        package var program: String
        /// The start time, as in the report.
        package var startedAt: String
        /// The plan.
        package var plan: BenchmarkPlan
        /// The environment at the start.
        package var environment: BenchmarkReport.Environment
    }

    /// A completed run.
    package struct RunEntry: Codable, Sendable, Hashable {
        package var key: BenchmarkRun
        package var run: BenchmarkReport.Run
        /// The encoder as described by its session; `nil` if there was none.
        package var encoder: BenchmarkReport.Encoder?
        /// The digest of the coded samples; `nil` if there are none.
        package var digest: String?
        /// The seconds since the start of the benchmark, without interruptions.
        package var elapsed: Double
    }

    /// A completed search.
    package struct DensityEntry: Codable, Sendable, Hashable {
        package var density: BenchmarkReport.Density
        package var encoder: BenchmarkReport.Encoder?
        /// The seconds since the start of the benchmark, without interruptions.
        package var elapsed: Double
    }

    private enum Line: Codable {
        case header(Header)
        case clip(BenchmarkReport.Clip)
        case run(RunEntry)
        case density(DensityEntry)
    }

    /// The header, which identifies the benchmark.
    package let header: Header
    /// The prepared clips.
    package private(set) var clips: [BenchmarkReport.Clip] = []
    /// The completed runs, in order.
    package private(set) var runs: [RunEntry] = []
    /// The completed searches.
    package private(set) var densities: [DensityEntry] = []

    private let file: OpenFile

    /// Resumes a journal, or creates one. While the value exists, no other process can do so.
    ///
    /// An incomplete last line is the remainder of an interrupted run, and is dropped.
    ///
    /// - Parameters:
    ///   - continues: Whether an existing journal is resumed. A file without a complete line does not count as a
    ///     journal.
    ///   - header: Creates the header of a new journal; called if there is no journal.
    /// - Throws: `unavailable` if another process is using it; `invalidArgument` if there is already one that is not to
    ///   be resumed; `inputOutput`, `malformedData`; any error that `header` throws.
    package init(
        path: String,
        continues: Bool,
        header: () throws(MediaError) -> Header
    ) throws(MediaError) {
        file = try OpenFile(path, O_CREAT | O_APPEND)
        guard try file.lock() else {
            throw MediaError(
                .unavailable,
                "another benchmark is running in the folder",
                given: path,
                remedies: ["wait until it ends, or choose another folder with --output"]
            )
        }
        let (lines, byteCount) = try Self.lines(path)
        guard lines.isEmpty || continues else {
            throw MediaError(
                .invalidArgument,
                "the folder already contains a benchmark",
                given: path,
                allowed: "--resume to continue it, or another folder"
            )
        }
        guard ftruncate(file.descriptor, off_t(byteCount)) == 0 else {
            throw systemFailure("ftruncate", "the journal cannot be written", path)
        }
        guard !lines.isEmpty else {
            self.header = try header()
            try append(.header(self.header))
            return
        }
        self.header = try Self.header(lines, path)
        for line in lines.dropFirst() {
            switch try BenchmarkFile.value(line, path) as Line {
            case .header: throw MediaError(.malformedData, "the journal has two headers", given: path)
            case .clip(let value): clips.append(value)
            case .run(let value): runs.append(value)
            case .density(let value): densities.append(value)
            }
        }
    }

    /// Reads the header of a journal, which may be in use by another process.
    ///
    /// - Throws: `unavailable` if there is none; `inputOutput`, `malformedData`.
    package static func header(path: String) throws(MediaError) -> Header {
        guard access(path, F_OK) == 0 else {
            throw MediaError(.unavailable, "the folder contains no benchmark to continue", given: path)
        }
        return try header(try lines(path).lines, path)
    }

    private static func header(_ lines: [String], _ path: String) throws(MediaError) -> Header {
        guard let first = lines.first, case .header(let header) = try BenchmarkFile.value(first, path) as Line else {
            throw MediaError(.malformedData, "the journal has no header", given: path)
        }
        return header
    }

    /// Returns the complete lines without their newlines, and their total size in bytes with newlines.
    private static func lines(_ path: String) throws(MediaError) -> (lines: [String], byteCount: Int) {
        let end = UInt8(ascii: "\n")
        let bytes = try BenchmarkFile.bytes(path)
        let complete = bytes[..<(bytes.lastIndex(of: end).map { $0 + 1 } ?? 0)]
        return (complete.split(separator: end).map { String(decoding: $0, as: UTF8.self) }, complete.count)
    }

    /// The duration of the benchmark in seconds.
    package var elapsed: Double { max(runs.map(\.elapsed).max() ?? 0, densities.map(\.elapsed).max() ?? 0) }

    /// Adds a clip.
    package mutating func add(_ clip: BenchmarkReport.Clip) throws(MediaError) {
        try append(.clip(clip))
        clips.append(clip)
    }

    /// Adds a run.
    package mutating func add(_ run: RunEntry) throws(MediaError) {
        try append(.run(run))
        runs.append(run)
    }

    /// Adds a search.
    package mutating func add(_ density: DensityEntry) throws(MediaError) {
        try append(.density(density))
        densities.append(density)
    }

    private func append(_ line: Line) throws(MediaError) {
        try file.write([UInt8](try BenchmarkFile.line(line).utf8))
        guard fdatasync(file.descriptor) == 0 else {
            throw systemFailure("fdatasync", "the journal cannot be written", file.path)
        }
    }
}
