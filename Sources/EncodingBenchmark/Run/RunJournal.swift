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

    /// Begins a journal.
    ///
    /// - Throws: `inputOutput`; also if there is one already.
    package init(path: String, header: Header) throws(MediaError) {
        file = try OpenFile(path, O_CREAT | O_EXCL | O_APPEND)
        self.header = header
        try append(.header(header))
    }

    /// Goes on with a journal. A last line that is not complete is what an interruption left of a run, and is dropped.
    ///
    /// - Throws: `inputOutput`, `malformedData`.
    package init(continuing path: String) throws(MediaError) {
        let text = try BenchmarkFile.text(path)
        let complete = text[..<(text.lastIndex(of: "\n").map { text.index(after: $0) } ?? text.startIndex)]
        var header: Header?
        for line in complete.split(separator: "\n") {
            switch try BenchmarkFile.value(String(line), path) as Line {
            case .header(let value): header = value
            case .clip(let value): clips.append(value)
            case .run(let value): runs.append(value)
            case .density(let value): densities.append(value)
            }
        }
        guard let header else { throw MediaError(.malformedData, "the journal has no beginning", given: path) }
        self.header = header
        file = try OpenFile(path, O_APPEND)
        guard ftruncate(file.descriptor, complete.utf8.count) == 0 else {
            throw systemFailure("ftruncate", "the journal cannot be written", path)
        }
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
