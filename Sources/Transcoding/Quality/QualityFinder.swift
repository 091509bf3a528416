// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Logging
import MediaIO
import MediaTypes
import Synchronization
import VAToolbox

/// Finds the quality with which an output reaches its target, by encoding samples of the input with the encoder, the
/// settings and the pictures that the output will have.
struct QualityFinder: Sendable {
    var target: QualityTarget
    /// The output.
    var output: OutputRequest
    /// The video of the input, with the duration of the part that is encoded.
    var video: VideoTrack
    var input: InputSampleReader.Input
    /// Seconds between the key frames that segments need; `nil` for those of the encoder.
    var segmentKeyFrames: Double?
    /// Measures what this package does not.
    var judge: QualityJudgeFactory?
    /// Tells how far the search is.
    var progress: @Sendable (TranscodeProgress.Search) -> Void
    /// Tells of each attempt when it has ended.
    var tell: @Sendable (QualityReport.Attempt) -> Void

    /// The quality with which a search begins.
    private static let first = 24.0
    /// How often a search begins again because another encoder took over.
    private static let mostRestarts = 2

    /// Searches.
    ///
    /// - Throws: `targetUnreachable` with the best score if no quality reaches the target, unless the target allows it;
    ///   `unsupported` if the input does not state its duration; errors of the session and the source.
    func find() async throws(MediaError) -> QualityReport {
        let duration = try self.duration()
        let reader = InputSampleReader(input)
        let counter = Counter(progress)
        do throws(MediaError) {
            for _ in 0...Self.mostRestarts {
                if let report = try await search(reader, counter, duration: duration) { return report }
            }
            throw MediaError(
                .unavailable,
                "the encoder was replaced again and again while the quality was searched",
                remedies: ["use the CPU: --device software"]
            )
        } catch {
            await reader.close()
            throw error
        }
    }

    private func duration() throws(MediaError) -> Double {
        if let seconds = video.duration?.seconds, seconds.isFinite, seconds > 0 { return seconds }
        throw MediaError(
            .unsupported,
            "a quality target needs an input that states its duration",
            given: input.path,
            remedies: ["put the video into a container first: vatoolbox remux \(input.path) -o FILE.mkv"]
        )
    }

    /// Searches once; `nil` if the encoder was replaced meanwhile, so that the scores are of different ones.
    private func search(
        _ reader: InputSampleReader,
        _ counter: Counter,
        duration: Double
    ) async throws(MediaError) -> QualityReport? {
        var samples = SamplePlan.samples(of: duration)
        var attempts: [QualityReport.Attempt] = []
        var search: QualitySearch?
        var encoder: EncoderIdentity?
        var step = QualitySearch.Step.measure(Self.first)
        while case .measure(let quality) = step {
            counter.begin(attempts.count + 1, quality)
            let trial = try await measure(quality, samples, reader, counter)
            if encoder != nil, encoder != trial.encoder { return nil }
            guard let used = trial.encoder else { return nil }
            (encoder, samples) = (used, trial.samples)
            let prediction = SizePrediction(trial.coded, duration: duration, keyFrameInterval: trial.keyFrameInterval)
            let attempt = QualityReport.Attempt(
                quality: quality,
                score: trial.score,
                pictureCount: trial.pictureCount,
                byteCount: prediction.byteCount,
                time: prediction.time
            )
            attempts.append(attempt)
            tell(attempt)
            // Drivers take whole numbers.
            var next = search ?? QualitySearch(target, step: used.isHardware ? 1 : 0.5, first: Self.first)
            next.add(.init(quality: quality, score: trial.score))
            (search, step) = (next, next.next)
        }
        guard let encoder else { return nil }
        let chosen = try choose(attempts, step)
        return QualityReport(
            target: target,
            samples: samples.map { .init(start: $0.start, duration: $0.duration) },
            attempts: attempts,
            chosen: chosen,
            encoder: encoder
        )
    }

    private func choose(
        _ attempts: [QualityReport.Attempt],
        _ step: QualitySearch.Step
    ) throws(MediaError) -> QualityReport.Attempt {
        switch step {
        case .found(let measurement):
            if let attempt = attempts.last(where: { $0.quality == measurement.quality }) { return attempt }
        case .measure, .unreachable:
            guard let best = attempts.max(by: { $0.score < $1.score }) else { break }
            if target.shortfall == .best { return best }
            throw MediaError(
                .targetUnreachable,
                "no quality reaches the target",
                given: target.text,
                allowed: "at most \(target.metric.text(best.score)), "
                    + "with quality \(Readable.number(best.quality, places: 1))",
                remedies: [
                    "ask for less: --target \(target.metric.rawValue):\(Self.below(best.score, target.metric))",
                    "take the best quality that there is: --target-shortfall best",
                ]
            )
        }
        throw MediaError(.invalidState, "the search for a quality has ended without one")
    }

    /// A score that is reached, as text.
    private static func below(_ score: Double, _ metric: QualityMetric) -> String {
        let places = metric == .ssim ? 4 : 1
        let unit = metric == .ssim ? 1e4 : 10
        let (lowest, highest) = (metric.allowed.lowerBound, metric.allowed.upperBound)
        return Readable.number(min(max((score * unit).rounded(.down) / unit, lowest), highest), places: places)
    }

    // MARK: - A quality

    private struct Trial {
        var coded: [CodedSample] = []
        var samples: [InputSample] = []
        /// The encoder; `nil` if there were several.
        var encoder: EncoderIdentity?
        var keyFrameInterval: Double?
        var pictureCount = 0
        var score = 0.0
    }

    /// Encodes all samples with a quality and measures them. Samples without a picture are left out.
    private func measure(
        _ quality: Double,
        _ samples: [InputSample],
        _ reader: InputSampleReader,
        _ counter: Counter
    ) async throws(MediaError) -> Trial {
        var trial = Trial()
        for (index, sample) in samples.enumerated() {
            do throws(MediaError) {
                try await reader.open(sample)
            } catch {
                // The input may be shorter than it states. If nothing is left, it is broken.
                let hasOthers = index + 1 < samples.count || !trial.samples.isEmpty
                if error.code == .malformedData, hasOthers { continue }
                throw error
            }
            let coded = try await encode(quality, reader, counter)
            if coded.encoder == nil || trial.encoder != nil && trial.encoder != coded.encoder {
                await reader.close()
                return Trial()
            }
            trial.encoder = coded.encoder
            trial.keyFrameInterval = coded.keyFrameInterval
            trial.pictureCount += coded.samples.count
            trial.coded.append(coded.size(of: sample))
            trial.samples.append(sample)
            try await reader.compare(
                coded.samples,
                of: sample,
                codec: coded.codec,
                coded.configuration,
                { (pictures) throws(MediaError) in try makeJudge(pictures) },
                note: { counter.noteMeasured() }
            )
        }
        trial.score = try await reader.score()
        return trial
    }

    private func makeJudge(_ pictures: JudgedPictures) throws(MediaError) -> any QualityJudge {
        if target.metric != .vmaf { return LumaJudge(target.metric, pictures) }
        if let judge { return try judge(pictures) }
        throw MediaError(
            .unsupported,
            "no program was given that measures \(target.metric.name)",
            allowed: QualityMetric.allCases.filter { $0 != .vmaf }.map(\.rawValue).joined(separator: ", ")
        )
    }

    private struct Coded {
        var samples: [SampleBuffer]
        var configuration: EncoderConfiguration
        var codec: VideoCodec
        /// The encoder; `nil` if it was replaced.
        var encoder: EncoderIdentity?
        var keyFrameInterval: Double?
        var time: Double

        func size(of sample: InputSample) -> CodedSample {
            CodedSample(
                duration: sample.duration,
                byteCount: samples.reduce(0) { $0 + $1.data.count },
                keyFrameByteCount: samples.first?.data.count ?? 0,
                time: time
            )
        }
    }

    /// Encodes the open sample.
    private func encode(
        _ quality: Double,
        _ reader: InputSampleReader,
        _ counter: Counter
    ) async throws(MediaError) -> Coded {
        var (configuration, _) = output.video.configuration(for: video)
        configuration.rateControl = configuration.rateControl.with(quality: quality)
        var options = output.session
        options.realTime = nil
        options.logger = options.logger ?? input.logger
        options.devices.verifier = options.devices.verifier ?? DecodingVerifier(logger: input.logger)
        let session = try await CompressionSession(configuration: configuration, options: options)
        let first = session.encoder.identity
        let collector = Task { [samples = session.samples] in await Self.collect(samples) }
        let clock = SuspendingClock()
        let start = clock.now
        do throws(MediaError) {
            while let frame = try await reader.next() {
                try await session.encode(
                    frame.buffer,
                    presentationTime: frame.presentationTime,
                    duration: frame.duration
                )
                counter.noteEncoded(frame.duration)
            }
            try await session.finish()
        } catch {
            session.cancel()
            _ = await collector.value
            throw error
        }
        let samples = try await collector.value.get()
        let encoder = session.encoder
        let description = encoder.properties.formatDescription
        (configuration.width, configuration.height) = (description.width, description.height)
        return Coded(
            samples: samples,
            configuration: configuration,
            codec: encoder.identity.codec,
            encoder: encoder.identity == first ? first : nil,
            keyFrameInterval: keyFrameInterval(configuration),
            time: (clock.now - start) / .seconds(1)
        )
    }

    private static func collect(_ samples: SampleSequence) async -> Result<[SampleBuffer], MediaError> {
        var all: [SampleBuffer] = []
        var iterator = samples.makeAsyncIterator()
        do throws(MediaError) {
            while let sample = try await iterator.next() { all.append(sample) }
            return .success(all)
        } catch {
            return .failure(error)
        }
    }

    /// Seconds between key frames; `nil` for a single one.
    private func keyFrameInterval(_ configuration: EncoderConfiguration) -> Double? {
        if configuration.usesIntraRefresh { return nil }
        let rate = configuration.frameRate.doubleValue
        let own = configuration.keyFrameInterval.frameCount(at: configuration.frameRate).map { Double($0) / rate }
        return [own, segmentKeyFrames].compactMap(\.self).min()
    }

    /// Counts what was done, from any thread.
    private final class Counter: Sendable {
        private let search = Mutex(TranscodeProgress.Search())
        private let progress: @Sendable (TranscodeProgress.Search) -> Void

        init(_ progress: @escaping @Sendable (TranscodeProgress.Search) -> Void) { self.progress = progress }

        func begin(_ attempt: Int, _ quality: Double) {
            update { ($0.attempt, $0.quality) = (attempt, quality) }
        }

        func noteEncoded(_ duration: MediaTime) {
            update { search in
                search.encodedPictures += 1
                if duration.isValid { search.time = search.time + duration }
            }
        }

        func noteMeasured() { update { $0.measuredPictures += 1 } }

        private func update(_ change: (inout TranscodeProgress.Search) -> Void) {
            progress(
                search.withLock { search in
                    change(&search)
                    return search
                }
            )
        }
    }
}
