// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaIO
package import MediaTypes
internal import RenderNodes
internal import Synchronization
package import VAToolbox

/// Measures the decoders of this machine with the samples of one file, and compares their frames. Each instance can run
/// once.
///
/// The samples are read into memory first. Then each decoder decodes all of them, and its frames are compared with those of
/// the software decoder; nothing of this is measured. Finally, sessions of all decoders alternate in rounds, the first of
/// which is a warm-up.
package final class DecodersBenchmark: Sendable {
    /// What is measured.
    package struct Options: Sendable {
        /// The file or URL with the samples.
        package var input: String
        /// The number of samples to decode at most.
        package var samples = 300
        /// The number of measured rounds.
        package var repeats = 6
        /// The GPUs to measure: all that can be used, none, or those that are named. The software decoder is always measured.
        package var devices = DevicePolicy.preferHardware
        /// The threads of the software decoder, 0...64; 0 for one per processor.
        package var threadCount = 0
        /// The program with its version.
        package var program: String

        /// Makes options with the defaults.
        package init(input: String, program: String) { (self.input, self.program) = (input, program) }
    }

    private let options: Options
    private let cancellation = Cancellation()
    private let current = CurrentSession()
    private let told: Mutex<BenchmarkProgress>

    /// Creates a benchmark.
    package init(_ options: Options) {
        self.options = options
        told = Mutex(BenchmarkProgress(activity: "reading \(options.input)", done: 0, total: 0, remaining: nil))
    }

    /// The present progress. Safe on any thread.
    package var progress: BenchmarkProgress { told.withLock { $0 } }

    /// Ends the benchmark. Safe on any thread, at any time.
    package func stop() {
        cancellation.cancel()
        current.stop()
    }

    /// Measures.
    ///
    /// - Returns: The report. GPUs that do not decode the input are in it, unless they were named.
    /// - Throws: `cancelled` after ``stop()``; the error of reading the input, in particular `unsupported` if its video is
    ///   neither H.264 nor HEVC; the error of the software decoder; the error of a named GPU that does not decode the input.
    package func run() async throws(MediaError) -> DecodersReport {
        let environment = MachineSurvey().environment(components: InstalledSoftware.components)
        let loaded = try await load()
        var report = DecodersReport(
            program: options.program,
            environment: environment,
            input: loaded.input,
            repeats: options.repeats,
            threadCount: options.threadCount
        )
        let subjects = try await compare(loaded, &report)
        let rounds = options.repeats + 1
        for round in 0..<rounds {
            for (index, subject) in subjects.rotated(inRound: round, of: rounds).enumerated() {
                tell(
                    "\(subject.id), \(round == 0 ? "warm-up" : "round \(round)")",
                    done: round * subjects.count + index,
                    of: rounds * subjects.count
                )
                let result = try await measure(subject, loaded)
                report.runs.append(DecodersReport.Run(decoder: subject.id, round: round, result: result))
            }
        }
        tell("finished", done: rounds * subjects.count, of: rounds * subjects.count)
        return report
    }

    private func load() async throws(MediaError) -> LoadedSamples {
        do throws(MediaError) {
            return try await SampleLoader().load(options.input, most: options.samples, cancellation)
        } catch {
            throw current.isStopped ? CurrentSession.error : error
        }
    }

    private func tell(_ activity: String, done: Int = 0, of total: Int = 0) {
        told.withLock { $0 = BenchmarkProgress(activity: activity, done: done, total: total, remaining: nil) }
    }

    private func measure(
        _ subject: DecodingSubject,
        _ loaded: LoadedSamples
    ) async throws(MediaError) -> Measured<DecodersReport.Measurement> {
        do throws(MediaError) {
            return .value(try await DecodingPass(subject, loaded, current).run())
        } catch {
            if current.isStopped { throw CurrentSession.error }
            return .absent(error.readable)
        }
    }

    // MARK: - Comparing the frames

    /// Decodes with every decoder once, and adds the decoders to the report.
    ///
    /// - Returns: The decoders to measure: those that have decoded the input.
    private func compare(
        _ loaded: LoadedSamples,
        _ report: inout DecodersReport
    ) async throws(MediaError) -> [DecodingSubject] {
        let software = DecodingSubject(threadCount: options.threadCount)
        tell("\(software.id), to compare the frames")
        let pass = try await DecodingPass(software, loaded, current)
        let recorder = FrameRecorder()
        _ = try await pass.run { frame throws(MediaError) in try recorder.take(frame) }
        let reference = recorder.frames
        report.add(software, pass.decoder, reference, comparison: nil)
        var subjects = [software]
        let nodes = options.devices.nodes
        for node in nodes {
            do throws(MediaError) {
                for transfer in [DecodersReport.Transfer.download, .zeroCopy] {
                    let subject = DecodingSubject(device: node, transfer: transfer)
                    if let subject = try await compare(subject, loaded, reference, &report) { subjects.append(subject) }
                }
            } catch {
                if current.isStopped { throw CurrentSession.error }
                if case .devices = options.devices { throw error }
                report.reject(node, error)
            }
        }
        if nodes.isEmpty, options.devices != .requireSoftware, let error = await refusal(of: loaded.format) {
            report.reject("GPU", error)
        }
        return subjects
    }

    /// Decodes with one decoder, and adds it to the report, unless it is there under another name of its render node.
    ///
    /// - Returns: The decoder if it is to be measured; `nil` if it has not decoded everything, or is in the report already.
    /// - Throws: The error of creating the session; `cancelled`.
    private func compare(
        _ subject: DecodingSubject,
        _ loaded: LoadedSamples,
        _ reference: [DecodedFrameRecord],
        _ report: inout DecodersReport
    ) async throws(MediaError) -> DecodingSubject? {
        tell("\(subject.id), to compare the frames")
        let pass = try await DecodingPass(subject, loaded, current)
        var subject = subject
        subject.device = pass.decoder.identity.device
        guard !report.decoders.contains(where: { $0.id == subject.id }) else { return nil }
        let recorder = FrameRecorder()
        do throws(MediaError) {
            _ = try await pass.run { frame throws(MediaError) in try recorder.take(frame) }
            let comparison = FrameComparison(of: recorder.frames, with: reference)
            report.add(subject, pass.decoder, recorder.frames, comparison: .value(comparison))
            return subject
        } catch {
            if current.isStopped { throw CurrentSession.error }
            report.add(subject, pass.decoder, recorder.frames, comparison: .absent(error.readable))
            return nil
        }
    }

    /// Returns the reason why no GPU decodes a format, with remedies; `nil` if one does.
    private func refusal(of format: FormatDescription) async -> MediaError? {
        var options = DecompressionOptions()
        options.policy = .requireHardware
        do throws(MediaError) {
            try await DecompressionSession(formatDescription: format, options: options).cancel()
            return nil
        } catch {
            return error
        }
    }
}

extension DevicePolicy {
    /// The render nodes to measure, also those that this process cannot open: the reason is part of a report.
    fileprivate var nodes: [String] {
        switch self {
        case .requireSoftware: []
        case .preferHardware, .requireHardware: RenderNodeSurvey().nodes.map(\.path)
        case .devices(let nodes, _): nodes
        }
    }
}

extension DecodersReport {
    fileprivate mutating func reject(_ name: String, _ error: MediaError) {
        rejections.append(.init(name: name, reason: error.readable, cause: error.cause, remedies: error.remedies))
    }

    fileprivate mutating func add(
        _ subject: DecodingSubject,
        _ description: DecoderDescription,
        _ frames: [DecodedFrameRecord],
        comparison: Measured<FrameComparison>?
    ) {
        decoders.append(
            Decoder(
                id: subject.id,
                device: subject.device,
                transfer: subject.transfer,
                name: description.properties.name,
                isFakeNode: environment.gpus.contains { $0.node == subject.device && $0.isFake },
                frames: frames.count,
                damagedFrames: frames.count(where: \.isDamaged),
                comparison: comparison
            )
        )
    }
}
