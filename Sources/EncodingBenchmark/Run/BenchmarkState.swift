// SPDX-License-Identifier: GPL-2.0-or-later

internal import FoundationEssentials
internal import MediaTypes

/// The state of a running benchmark: its journal, and data that is rebuilt after an interruption.
struct BenchmarkState {
    private var journal: RunJournal
    private let plan: BenchmarkPlan
    private let began = monotonicSeconds()
    private let before: Double
    private var done: Set<BenchmarkRun>
    private var clock = RunClock()
    private var qualities: [String: BenchmarkReport.Quality] = [:]
    private(set) var prepared: [PreparedClip] = []
    /// The searches of the plan.
    let searches: [BenchmarkRun]
    /// The simulated render nodes.
    private let fakeNodes: Set<String>

    /// Starts a benchmark, or resumes the one in the folder.
    ///
    /// - Parameter environment: The current state of the machine.
    /// - Throws: `invalidArgument` if the folder contains something else, or an unfinished benchmark that was started
    ///   on another machine or with other software; `unavailable` if another process is using it; `inputOutput`,
    ///   `malformedData`.
    init(_ options: Benchmark.Options, _ environment: BenchmarkReport.Environment) throws(MediaError) {
        plan = options.plan
        searches = options.plan.searches
        journal = try RunJournal(path: Self.path(options.folder), continues: options.resumes) {
            let now = Date.now.formatted(.iso8601)
            return .init(program: options.program, startedAt: now, plan: options.plan, environment: environment)
        }
        let header = journal.header
        guard header.plan == options.plan else {
            throw MediaError(
                .invalidArgument,
                "the folder contains a benchmark with another plan",
                given: options.folder
            )
        }
        guard header.program == options.program else {
            throw MediaError(
                .invalidArgument,
                "the folder contains a benchmark that was started by another version",
                given: header.program,
                allowed: options.program
            )
        }
        fakeNodes = Set(header.environment.gpus.filter(\.isFake).map(\.node))
        before = journal.elapsed
        done = Set(journal.runs.map(\.key))
        var last = 0.0
        for entry in journal.runs {
            clock.note(entry.key, entry.elapsed - last)
            last = entry.elapsed
        }
        let changes = ReportComparison.changes(from: header.environment, to: environment)
        guard isFinished || changes.isEmpty else {
            throw MediaError(
                .invalidArgument,
                "the machine or its software has changed since the benchmark was started",
                given: changes.joined(separator: "; "),
                remedies: ["start again in another folder with --output", "restore the original machine or software"]
            )
        }
    }

    /// Returns the path of a folder's journal.
    static func path(_ folder: String) -> String { folder + "/journal.jsonl" }

    /// Whether the plan is complete.
    private var isFinished: Bool {
        plan.runs().allSatisfy { isDone($0) } && searches.allSatisfy { isDone(search: $0) }
    }

    /// The duration of the benchmark in seconds, without interruptions.
    var elapsed: Double { before + monotonicSeconds() - began }

    func isDone(_ run: BenchmarkRun) -> Bool { done.contains(run) }

    func isDone(search: BenchmarkRun) -> Bool {
        let clip = PreparedClip.title(search.clip, search.size)
        return journal.densities.contains {
            $0.density.clip == clip && $0.density.encoder == search.encoder.title && $0.density.point == search.point
        }
    }

    /// Returns the estimated duration of runs in seconds; `nil` if nothing is known.
    func remaining(_ runs: some Sequence<BenchmarkRun>) -> Double? { clock.remaining(runs) }

    /// Adds a prepared clip. After an interruption, it must be the same clip.
    mutating func add(_ clip: PreparedClip) throws(MediaError) {
        let described = clip.described
        if let known = journal.clips.first(where: { $0.id == described.id }) {
            guard known == described else {
                throw MediaError(
                    .invalidArgument,
                    "a clip has changed since the benchmark was started",
                    given: known.source
                )
            }
        } else {
            try journal.add(described)
        }
        prepared.append(clip)
    }

    /// Adds a completed run.
    mutating func add(
        _ key: BenchmarkRun,
        _ run: BenchmarkReport.Run,
        _ record: StreamRecord?,
        seconds: Double
    ) throws(MediaError) {
        try journal.add(
            RunJournal.RunEntry(
                key: key,
                run: run,
                encoder: record.map { encoder(key, $0) },
                digest: record?.streams.first?.digest,
                elapsed: elapsed
            )
        )
        done.insert(key)
        clock.note(key, seconds)
    }

    /// Adds a completed search.
    mutating func add(
        _ key: BenchmarkRun,
        _ density: BenchmarkReport.Density,
        _ record: StreamRecord?
    ) throws(MediaError) {
        try journal.add(
            RunJournal.DensityEntry(density: density, encoder: record.map { encoder(key, $0) }, elapsed: elapsed)
        )
    }

    private func encoder(_ run: BenchmarkRun, _ record: StreamRecord) -> BenchmarkReport.Encoder {
        run.encoder.described(by: record, isFakeNode: run.encoder.node.map(fakeNodes.contains) ?? false)
    }

    /// Compares a stream with its clip. Streams with the same bytes have the same quality, which is measured once.
    mutating func quality(of path: String, _ record: StreamRecord, _ clip: PreparedClip) -> BenchmarkReport.Quality {
        guard let stream = record.streams.first, stream.failure == nil else { return .absent("there is no stream") }
        let key = clip.digest + stream.digest
        if let known = qualities[key] { return known }
        let quality = BenchmarkReport.Quality(ofStream: path, codedFrames: stream.arrived.map { $0 >= 0 }, clip)
        qualities[key] = quality
        return quality
    }

    // MARK: - Report

    /// Returns the report.
    func report() -> BenchmarkReport {
        let described = journal.runs.compactMap(\.encoder) + journal.densities.compactMap(\.encoder)
        // Profile and level are those of the first run; at higher bitrates, they may differ.
        let encoders = plan.encoders.compactMap { encoder in described.first { $0.id == encoder.title } }
        var environment = journal.header.environment
        for index in environment.gpus.indices {
            let node = environment.gpus[index].node
            environment.gpus[index].driver = described.first { $0.device == node }?.driver
        }
        let missing = plan.encoders.filter { encoder in !encoders.contains { $0.id == encoder.title } }
        return BenchmarkReport(
            program: journal.header.program,
            startedAt: journal.header.startedAt,
            duration: journal.elapsed,
            isComplete: plan.runs().allSatisfy { done.contains($0) },
            environment: environment,
            plan: plan,
            clips: journal.clips,
            encoders: encoders + missing.map(\.undescribed),
            runs: journal.runs.map(\.run),
            density: journal.densities.map(\.density),
            remarks: plan.weaknesses.map { BenchmarkReport.Warning(.note, $0) }
        )
    }
}
