// SPDX-License-Identifier: GPL-2.0-or-later

internal import FoundationEssentials
internal import Glibc
package import MediaTypes
internal import Synchronization

/// Carries out a plan, and keeps what it finds in a folder: `journal.jsonl`, from which it can go on after an interruption,
/// and under `raw` the record of each run with the times and sizes of all frames.
///
/// Each encode is made by a process of its own, so that peak memory and processor time are those of the encode alone, and an
/// encoder that crashes costs one run. Pictures are made before and compared afterwards, by this process.
package final class Benchmark: Sendable {
    /// What a benchmark is made of.
    package struct Options: Sendable {
        /// What it measures.
        package var plan: BenchmarkPlan
        /// Where to.
        package var folder: String
        /// Whether to go on with what the folder has.
        package var resumes = false
        /// Whether coded streams stay in the folder, under `streams`.
        package var keepsStreams = false
        /// The program with its version.
        package var program: String
        /// What carries requests out: a program and its first arguments.
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
    /// Files that are not part of what is found, and go in the end. Only these: the folder may have others of the same kind.
    private let temporaries = Mutex<Set<String>>([])
    private let tell: @Sendable (BenchmarkProgress) -> Void

    /// Makes a benchmark.
    ///
    /// - Parameter tell: Is told how far it has come, on the thread of ``run()``.
    package init(_ options: Options, tell: @escaping @Sendable (BenchmarkProgress) -> Void = { _ in }) {
        self.options = options
        self.tell = tell
        process = RunProcess(command: options.runCommand)
    }

    /// The plan of the benchmark that a folder has.
    ///
    /// - Throws: `unavailable` if it has none, `inputOutput`, `malformedData`.
    package static func plan(in folder: String) throws(MediaError) -> BenchmarkPlan {
        try RunJournal.header(path: BenchmarkState.path(folder)).plan
    }

    /// Ends the run that goes on, and with it ``run()``. Safe on any thread, at any time.
    package func stop() {
        isStopped.store(true, ordering: .sequentiallyConsistent)
        process.end()
    }

    /// Does the work. Blocks.
    ///
    /// - Returns: What was found.
    /// - Throws: `cancelled` after ``stop()``, and then the folder can be gone on with; `invalidArgument` if the folder has
    ///   another benchmark; `unavailable` if another process is at work in it; errors of clips and of the folder. What goes wrong
    ///   with an encoder is in the report.
    package func run() throws(MediaError) -> BenchmarkReport {
        try BenchmarkFile.makeFolder(options.folder)
        try Self.checkForStrangers(in: options.folder)
        // What is in the folder may be another process's until its journal is this one's.
        var state = try BenchmarkState(options, .ofThisMachine(nodes: options.plan.nodes))
        for name in Self.folders { try BenchmarkFile.makeFolder("\(options.folder)/\(name)") }
        defer { removeTemporaries() }
        try encodeAll(&state)
        try searchDensities(&state)
        return state.report()
    }

    /// What it makes in the folder.
    private static let folders = ["raw", "clips", "streams"]

    /// - Throws: `invalidArgument` if the folder has files where a benchmark that begins would put its own.
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
        // Those that are not empty stay.
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
    /// A trial of which nothing is known but that it failed.
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
    /// One line for a person.
    package var title: String {
        let count = isWarmUp ? "warm-up" : "repeat \(repetition)"
        return "\(encoder.title), \(PreparedClip.title(clip, size)), \(point), \(mode), \(count)"
    }
}

extension BenchmarkPlan {
    /// The render nodes of its encoders.
    var nodes: [String] { Set(encoders.compactMap(\.node)).sorted() }

    /// What is asked about streams at the same time: each encoder with each clip, at the point in the middle.
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
