// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import MediaTypes
import VAToolbox

/// Encodes chunks of one input, each into its file with its record.
struct ChunkWork: Sendable {
    /// The result of an attempt at a chunk.
    enum Outcome: Sendable {
        case finished(ChunkRecord, TranscodeReport)
        /// Frames were lost because a GPU failed.
        case lost
        /// The input cannot be encoded in chunks, for this reason.
        case unfit(String)
    }

    /// How an attempt differs from the request.
    struct Variation: Sendable {
        /// The encoders that may be used.
        var policy: DevicePolicy
        var decoder: DecoderChoice
        /// The configuration of the whole.
        var configuration: EncoderConfiguration
    }

    let request: TranscodeRequest
    let plan: ChunkPlan
    let folder: ChunkFolder

    /// The largest difference between the times of pictures in the input and in a chunk, in seconds.
    private static let timeTolerance = 0.002

    /// Makes the transcoder of a chunk.
    ///
    /// - Parameter file: The name of the file to write.
    func transcoder(
        _ number: Int,
        to file: String,
        _ variation: Variation,
        notify: @escaping @Sendable (Transcoder.Notice) -> Void
    ) -> Transcoder {
        var part = request
        part.source = plan.source(of: number, request.source)
        part.first.path = folder.path(file)
        part.first.sink = MediaSink.Options()
        part.first.audio = AudioSettings(rule: .omit)
        part.first.configurationOfWhole = variation.configuration
        part.first.encoderChange = .restarts
        part.first.session.policy = variation.policy
        part.decoder = variation.decoder
        return Transcoder(part, notify: notify)
    }

    /// Encodes a chunk with a transcoder made for it and the file, and stores its record.
    ///
    /// - Throws: The errors of the encoder and of the folder; `cancelled`.
    func encode(
        _ number: Int,
        to file: String,
        with transcoder: Transcoder
    ) async throws(MediaError) -> Outcome {
        let report: TranscodeReport
        do throws(MediaError) {
            report = try await transcoder.run()
        } catch {
            // What the input is to blame for is not in one piece of it: the whole tells it, or not.
            guard [.malformedData, .invalidArgument].contains(error.code) else { throw error }
            return .unfit("chunk \(number + 1) failed: \(error.readable)")
        }
        if report.lostFrames > 0 { return .lost }
        if let problem = Self.problem(report.problems) { return .unfit("chunk \(number + 1): \(problem)") }
        return try await PlainThread.result(name: "vt-chunk") { () throws(MediaError) in
            try store(number, file, report)
        }
    }

    private static func problem(_ problems: SourceProblems) -> String? {
        if problems.isLossy { return problems.descriptions.first ?? "the input is damaged" }
        let isRepaired = problems.repairedTimes > 0 || problems.discontinuities > 0
        return isRepaired ? "times of the input had to be repaired" : nil
    }

    /// Reads the file of a chunk, and stores its record.
    private func store(_ number: Int, _ file: String, _ report: TranscodeReport) throws(MediaError) -> Outcome {
        let frames = plan.chunks[number]
        let source = try SampleSource(path: folder.path(file), logger: request.logger)
        var (times, sizes): ([MediaTime], [Int]) = ([], [])
        while let sample = try source.next() {
            guard sample.formatDescription.parameterSets == source.formatDescription.parameterSets else {
                return .unfit("the parameter sets change within chunk \(number + 1)")
            }
            times.append(sample.presentationTime)
            sizes.append(sample.data.count)
        }
        guard times.count == frames.count else {
            return .unfit("chunk \(number + 1) has \(times.count) frames instead of \(frames.count)")
        }
        let order = times.indices.sorted { times[$0] < times[$1] }
        var ranks = [Int](repeating: 0, count: times.count)
        for (rank, position) in order.enumerated() { ranks[position] = rank }
        let (first, start) = (times[order[0]], plan.index.frames[frames.lowerBound].presentationTime)
        for (rank, position) in order.enumerated() {
            let expected = plan.index.frames[frames.lowerBound + rank].presentationTime - start
            guard abs((times[position] - first - expected).seconds) <= Self.timeTolerance else {
                return .unfit("frame \(rank + 1) of chunk \(number + 1) has another time than its packet")
            }
        }
        let record = ChunkRecord(
            key: folder.key,
            file: file,
            encoder: ChunkRecord.Encoder(report.encoder),
            digest: try folder.digest(file) { _ in true },
            parameterSets: ChunkRecord.digest(source.formatDescription.parameterSets.joined()),
            samples: zip(ranks, sizes).map { ChunkRecord.Sample(rank: $0, byteCount: $1) },
            adjustments: report.adjustments,
            comparedPictureCount: report.verification?.comparedPictureCount ?? 0,
            psnr: report.verification?.psnr.map {
                ChunkRecord.PSNR(lowest: $0.lowest, mean: $0.mean, pictureCount: $0.pictureCount)
            }
        )
        try folder.store(record, number)
        return .finished(record, report)
    }
}

extension ChunkRecord.Encoder {
    init(_ description: EncoderDescription) {
        self.init(
            identity: description.identity,
            name: description.properties.name,
            profile: description.properties.profile,
            level: description.properties.level,
            isInHelper: description.isInHelper,
            reason: description.reason
        )
    }
}
