// SPDX-License-Identifier: GPL-2.0-or-later

internal import FoundationEssentials
internal import Glibc
package import MediaTypes
internal import Synchronization

/// Executes a plan and stores the results in a folder: `journal.jsonl`, from which it can be resumed after an
/// interruption, and under `raw` the record of each run with the times and sizes of all frames.
///
/// Each encode runs in a separate process, so that peak memory and processor time are those of the encode alone, and a
/// crashing encoder costs one run. This process generates the pictures before and compares them afterwards.
package final class Benchmark: Sendable {
    /// The options of a benchmark.
    package struct Options: Sendable {
        /// The plan.
        package var plan: BenchmarkPlan
        /// The output folder.
        package var folder: String
        /// Whether to resume the benchmark in the folder.
        package var resumes = false
        /// Whether coded streams are kept in the folder, under `streams`.
        package var keepsStreams = false
        /// The program with its version.
        package var program: String
        /// The command that executes requests: a program and its first arguments.
        package var runCommand: [String]

        package init(plan: BenchmarkPlan, folder: String, program: String, runCommand: [String]) {
            self.plan = plan
            self.folder = folder
            self.program = program
            self.runCommand = runCommand
        }
    }

    private let options: Options
    private let process: RunProcess
    private let isStopped = Atomic(false)
    /// The temporary files, which are deleted at the end. Only these, because the folder may contain other files of the
    /// same kind.
    private let temporaries = Mutex<Set<String>>([])
    private let tell: @Sendable (BenchmarkProgress) -> Void

    /// Creates a benchmark.
    ///
    /// - Parameter tell: Receives the progress, on the thread of ``run()``.
    package init(_ options: Options, tell: @escaping @Sendable (BenchmarkProgress) -> Void = { _ in }) {
        self.options = options
        self.tell = tell
        process = RunProcess(command: options.runCommand)
    }

    /// Returns the plan of the benchmark in a folder.
    ///
    /// - Throws: `unavailable` if there is none, `inputOutput`, `malformedData`.
    package static func plan(in folder: String) throws(MediaError) -> BenchmarkPlan {
        try RunJournal.header(path: BenchmarkState.path(folder)).plan
    }

    /// Ends the current run, and with it ``run()``. Safe on any thread, at any time.
    package func stop() {
        isStopped.store(true, ordering: .sequentiallyConsistent)
        process.end()
    }

    /// Executes the plan. Blocks.
    ///
    /// - Returns: The report.
    /// - Throws: `cancelled` after ``stop()``, in which case the folder can be resumed; `invalidArgument` if the folder
    ///   contains another benchmark; `unavailable` if another process is using it; errors of clips and of the folder.
    ///   Errors of encoders are in the report.
    package func run() throws(MediaError) -> BenchmarkReport {
        try BenchmarkFile.makeFolder(options.folder)
        try Self.checkForStrangers(in: options.folder)
        // The contents of the folder may belong to another process until this process owns its journal.
        var state = try BenchmarkState(options, .ofThisMachine(nodes: options.plan.nodes))
        for name in Self.folders { try BenchmarkFile.makeFolder("\(options.folder)/\(name)") }
        defer { removeTemporaries() }
        try encodeAll(&state)
        try searchDensities(&state)
        return state.report()
    }

    /// The subfolders that it creates.
    private static let folders = ["raw", "clips", "streams"]

    /// - Throws: `invalidArgument` if the folder contains files at the paths of a new benchmark.
    private static func checkForStrangers(in folder: String) throws(MediaError) {
        guard access(BenchmarkState.path(folder), F_OK) != 0 else { return }
        for name in folders {
            let found = (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(name)")) ?? []
            guard let stranger = found.min() else { continue }
            throw MediaError(
                .invalidArgument,
                "the folder contains files of another origin where the benchmark would write its own",
                given: "\(folder)/\(name)/\(stranger)",
                allowed: "a new folder, or one without files in \(folders.joined(separator: ", "))"
            )
        }
    }

    private func removeTemporaries() {
        for path in temporaries.withLock({ $0 }) { unlink(path) }
        // Folders that are not empty are kept.
        for name in Self.folders { rmdir("\(options.folder)/\(name)") }
    }

    private func checkForStop() throws(MediaError) {
        if isStopped.load(ordering: .sequentiallyConsistent) {
            throw MediaError(.cancelled, "the benchmark was interrupted")
        }
    }

    // MARK: - Runs

    private func encodeAll(_ state: inout BenchmarkState) throws(MediaError) {
        let runs = options.plan.runs()
        for (index, run) in runs.enumerated() where !state.isDone(run) {
            try checkForStop()
            let rest = runs[index...].filter { !state.isDone($0) }
            tell(
                BenchmarkProgress(
                    activity: run.title,
                    done: runs.count - rest.count,
                    total: runs.count + state.searches.count,
                    remaining: state.remaining(rest)
                )
            )
            try encode(run, index, &state)
        }
    }

    private func encode(_ run: BenchmarkRun, _ index: Int, _ state: inout BenchmarkState) throws(MediaError) {
        let clip = try clip(run.clip, run.size, &state)
        let begin = monotonicSeconds()
        let startedAfter = state.elapsed
        let stem = String(repeating: "0", count: max(0, 5 - "\(index)".count)) + "\(index)"
        let stream = "\(options.folder)/streams/\(stem).mp4"
        let request = StreamRequest(
            clip: clip,
            encoder: run.encoder,
            point: run.point,
            mode: run.mode,
            frames: clip.frames,
            output: stream
        )
        if !options.keepsStreams { note(temporary: stream) }
        var record: StreamRecord?
        let result: Measured<BenchmarkReport.Measurement>
        do throws(MediaError) {
            let taken = try process.run(request, record: "\(options.folder)/raw/\(stem).json")
            record = taken
            let rate = clip.frameRate.value.doubleValue
            let quality = run.isWarmUp ? .absent("it is a warm-up run") : state.quality(of: stream, taken, clip)
            result = .value(try taken.measurement(frameRate: rate, quality: quality))
        } catch  where error.code == .cancelled {
            throw error
        } catch {
            result = .absent(error.description)
        }
        if !options.keepsStreams { unlink(stream) }
        try checkForStop()
        try state.add(
            run,
            BenchmarkReport.Run(
                clip: clip.described.id,
                encoder: run.encoder.title,
                point: run.point,
                mode: run.mode,
                repetition: max(0, run.repetition),
                startedAfter: startedAfter,
                result: result
            ),
            record,
            seconds: monotonicSeconds() - begin
        )
    }

    private func clip(
        _ clip: BenchmarkClip,
        _ size: BenchmarkSize,
        _ state: inout BenchmarkState
    ) throws(MediaError) -> PreparedClip {
        if let prepared = state.prepared.first(where: { $0.clip == clip && $0.size == size }) { return prepared }
        let title = PreparedClip.title(clip, size)
        tell(BenchmarkProgress(activity: "preparing the pictures of \(title)", done: 0, total: 0, remaining: nil))
        let path = "\(options.folder)/clips/\(title).yuv"
        note(temporary: path)
        let prepared = try PreparedClip.prepare(clip, size, options.plan, path: path) {
            isStopped.load(ordering: .sequentiallyConsistent)
        }
        try state.add(prepared)
        return prepared
    }

    private func note(temporary path: String) { temporaries.withLock { _ = $0.insert(path) } }

    // MARK: - Density

    private func searchDensities(_ state: inout BenchmarkState) throws(MediaError) {
        guard let plan = options.plan.density else { return }
        let searches = state.searches
        for (index, search) in searches.enumerated() where !state.isDone(search: search) {
            try checkForStop()
            let clip = try clip(search.clip, search.size, &state)
            try searchDensity(search, plan, clip, number: index, &state)
        }
    }

    private func searchDensity(
        _ run: BenchmarkRun,
        _ plan: DensityPlan,
        _ clip: PreparedClip,
        number: Int,
        _ state: inout BenchmarkState
    ) throws(MediaError) {
        let rate = clip.frameRate.value.doubleValue
        var search = DensitySearch(maximum: plan.maximumStreams, confirmations: plan.confirmations)
        var trials: [BenchmarkReport.DensityTrial] = []
        var last: StreamRecord?
        while let streams = search.next {
            try checkForStop()
            tell(
                BenchmarkProgress(
                    activity: "\(run.encoder.title): \(streams) simultaneous streams",
                    done: options.plan.runs().count + number,
                    total: options.plan.runs().count + state.searches.count,
                    remaining: nil
                )
            )
            let request = StreamRequest(
                clip: clip,
                encoder: run.encoder,
                point: run.point,
                mode: plan.mode,
                frames: max(2, Int((plan.seconds * rate).rounded())),
                streams: streams
            )
            let trial: BenchmarkReport.DensityTrial
            do throws(MediaError) {
                let record = try process.run(
                    request,
                    record: "\(options.folder)/raw/density-\(number)-\(trials.count).json"
                )
                last = record
                trial = record.densityTrial(frameRate: rate, plan)
            } catch  where error.code == .cancelled {
                throw error
            } catch {
                trial = BenchmarkReport.DensityTrial(failed: error.description, streams: streams)
            }
            trials.append(trial)
            search.record(streams, isKept: trial.isKept)
        }
        try state.add(
            run,
            BenchmarkReport.Density(
                clip: clip.described.id,
                encoder: run.encoder.title,
                point: run.point,
                streams: search.result,
                isLeastEstimate: search.isAtMaximum,
                limit: trials.first { $0.streams == search.result + 1 && !$0.isKept }?.limit(plan),
                trials: trials
            ),
            last
        )
    }
}

extension BenchmarkReport.DensityTrial {
    /// Creates a failed trial without results.
    fileprivate init(failed reason: String, streams: Int) {
        self.init(
            streams: streams,
            isKept: false,
            wallTime: 0,
            results: [],
            processorTime: BenchmarkReport.ProcessorTime(user: 0, system: 0),
            peakMemory: .absent(reason),
            gpuBusy: .absent(reason),
            energy: .absent(reason),
            failure: reason
        )
    }
}

extension BenchmarkRun {
    /// The title in one line, for people.
    package var title: String {
        let count = isWarmUp ? "warm-up" : "repeat \(repetition)"
        return "\(encoder.title), \(PreparedClip.title(clip, size)), \(point), \(mode), \(count)"
    }
}

extension BenchmarkPlan {
    /// The render nodes of its encoders.
    var nodes: [String] { Set(encoders.compactMap(\.node)).sorted() }

    /// The searches for stream counts: each encoder with each clip, at the middle point.
    package var searches: [BenchmarkRun] {
        guard let density else { return [] }
        return clips.flatMap { clip in
            sizes.flatMap { size in
                encoders.map { encoder in
                    let points = points(for: size)
                    return BenchmarkRun(
                        clip: clip,
                        size: size,
                        encoder: encoder,
                        point: points[points.count / 2],
                        mode: density.mode,
                        repetition: 1
                    )
                }
            }
        }
    }
}
