// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
package import MediaTypes

/// What a benchmark has found out so far, in a file to which lines are added: one for each run, as soon as it is over. So
/// whatever ends the program costs one run, and the rest goes on from here.
package struct RunJournal {
    /// What stands in the first line: which benchmark it is.
    package struct Header: Codable, Sendable, Hashable {
        /// The program with its version.
        package var program: String
        /// When it began, as in the report.
        package var startedAt: String
        /// What it measures.
        package var plan: BenchmarkPlan
        /// Where it began.
        package var environment: BenchmarkReport.Environment
    }

    /// A run that is over.
    package struct RunEntry: Codable, Sendable, Hashable {
        package var key: BenchmarkRun
        package var run: BenchmarkReport.Run
        /// The encoder as its session described it; `nil` if there was none.
        package var encoder: BenchmarkReport.Encoder?
        /// Of the coded samples; `nil` if there are none.
        package var digest: String?
        /// Seconds since the benchmark began, without interruptions.
        package var elapsed: Double
    }

    /// A search that is over.
    package struct DensityEntry: Codable, Sendable, Hashable {
        package var density: BenchmarkReport.Density
        package var encoder: BenchmarkReport.Encoder?
        /// Seconds since the benchmark began, without interruptions.
        package var elapsed: Double
    }

    private enum Line: Codable {
        case header(Header)
        case clip(BenchmarkReport.Clip)
        case run(RunEntry)
        case density(DensityEntry)
    }

    /// Which benchmark it is.
    package let header: Header
    /// Clips that were prepared.
    package private(set) var clips: [BenchmarkReport.Clip] = []
    /// Runs that are over, in their order.
    package private(set) var runs: [RunEntry] = []
    /// Searches that are over.
    package private(set) var densities: [DensityEntry] = []

    private let file: OpenFile

    /// Goes on with a journal, or begins one. As long as the value lives no other process can do so.
    ///
    /// A last line that is not complete is what an interruption left of a run, and is dropped.
    ///
    /// - Parameters:
    ///   - continues: Whether a journal that is there is gone on with; one without a complete line is none.
    ///   - header: Begins a journal; called if there is none.
    /// - Throws: `unavailable` if somebody else is at it; `invalidArgument` if there is one already and it is not to be gone on
    ///   with; `inputOutput`, `malformedData`; what `header` throws.
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

    /// The beginning of a journal, which may be another process's.
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

    /// Those that are complete, without their ends, and how many bytes they take with them.
    private static func lines(_ path: String) throws(MediaError) -> (lines: [String], byteCount: Int) {
        let end = UInt8(ascii: "\n")
        let bytes = try BenchmarkFile.bytes(path)
        let complete = bytes[..<(bytes.lastIndex(of: end).map { $0 + 1 } ?? 0)]
        return (complete.split(separator: end).map { String(decoding: $0, as: UTF8.self) }, complete.count)
    }

    /// Seconds that the benchmark has taken.
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
