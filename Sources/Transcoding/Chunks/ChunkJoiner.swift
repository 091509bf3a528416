// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Logging
import MediaIO
import MediaTypes
import Synchronization

/// Writes an output whose video is encoded in chunks, without encoding it again. All other tracks come from the input in
/// one piece.
struct ChunkJoiner: Sendable {
    let request: TranscodeRequest
    let plan: ChunkPlan
    let records: [ChunkRecord]
    let folder: ChunkFolder
    let configuration: EncoderConfiguration
    /// Ends reading.
    let cancellation: Cancellation
    /// Ends writing.
    let abandonment: Cancellation
    /// What writes the output.
    let writer: MediaWriter
    /// Called with the time up to which the loudness was measured, and with `nil` at the end.
    let noteMeasured: @Sendable (MediaTime?) -> Void
    /// Called with the time up to which the output was verified.
    let noteVerified: @Sendable (MediaTime) -> Void

    /// What was written.
    struct Outcome: Sendable {
        var video: VideoTrack
        var format: FormatDescription
        var summary: MediaSink.Summary
        var verification: OutputVerification?
        var audio: [AudioOutcome]
        var problems: SourceProblems
        var adjustments: [Adjustment]
        var omissions: [String]
    }

    /// Writes the output.
    ///
    /// - Throws: The errors of input, output and chunks; `verificationFailed`; `cancelled`. Then there is no output.
    func run() async throws(MediaError) -> Outcome {
        let reader = MediaReader()
        do throws(MediaError) {
            let outcome = try await run(reader)
            await reader.close()
            return outcome
        } catch {
            await reader.close()
            await writer.abort()
            throw error
        }
    }

    private func run(_ reader: MediaReader) async throws(MediaError) -> Outcome {
        var options = request.demandedSource
        options.allowsOtherDecoder = false
        var contents = try await reader.open(request.input, options, request.logger, cancellation)
        contents.levels = try await request.measuredLevels(of: contents, cancellation, note: noteMeasured)
        noteMeasured(nil)
        var omissions = contents.ignoredStreams.map(\.omission) + contents.video.lostMetadata
        omissions += contents.dropTimecode(if: request.source.start ?? .zero > .zero)
        let tracks = TrackWriter(
            try await writer.open(
                request.first.destination(input: request.input, contents.video, configuration),
                MediaWriter.Plan(
                    contents: contents,
                    audio: request.audio,
                    end: request.source.duration,
                    logger: request.logger
                ),
                cancellation,
                abandonment
            ),
            writer
        )
        let samples = ChunkSamples(
            plan,
            records,
            folder,
            frameRate: configuration.frameRate,
            logger: request.logger,
            cancellation: cancellation
        )
        var problems = try await merge(samples, tracks, reader)
        let verification = try await verify(samples, tracks)
        guard let summary = try await writer.finish(), let format = await samples.formatDescription else {
            throw MediaError(.invalidState, "the output is closed", given: request.output)
        }
        let ofTracks = await tracks.outcome
        problems.add(ofTracks.problems)
        summary.packetErrors.forEach { problems.noteLostPacket($0) }
        return Outcome(
            video: contents.video,
            format: format,
            summary: summary,
            verification: verification,
            audio: tracks.tracks.audio,
            problems: problems,
            adjustments: tracks.tracks.adjustments + ofTracks.adjustments,
            omissions: tracks.tracks.refusals + omissions + summary.omissions
        )
    }

    /// Writes the samples of the chunks and the packets of the other tracks in the order of their decode times.
    ///
    /// - Returns: The problems of the other tracks.
    private func merge(
        _ samples: ChunkSamples,
        _ tracks: TrackWriter,
        _ reader: MediaReader
    ) async throws(MediaError) -> SourceProblems {
        func writeSamples(until time: MediaTime?) async throws(MediaError) {
            while true {
                let next = try await samples.next(until: time)
                if next.isEmpty { return }
                for sample in next { try await writer.write(sample) }
                if Task.isCancelled { throw MediaError(.cancelled, "the call was cancelled") }
            }
        }
        if !tracks.indices.isEmpty {
            await reader.readOnly(tracks: tracks.indices)
            var events = try await reader.next()
            while !events.isEmpty {
                for case .packet(let packet) in events {
                    let time = packet.decodeTime.isValid ? packet.decodeTime : packet.presentationTime
                    if time.isValid { try await writeSamples(until: time) }
                    try await tracks.take(packet)
                }
                events = try await reader.next()
            }
        }
        try await writeSamples(until: nil)
        try await tracks.finish(silentUntil: nil)
        return tracks.indices.isEmpty ? SourceProblems() : await reader.problems
    }

    /// Decodes the output before it gets its name, if that was requested. Each chunk was compared with the input when it
    /// was encoded.
    private func verify(
        _ samples: ChunkSamples,
        _ tracks: TrackWriter
    ) async throws(MediaError) -> OutputVerification? {
        guard request.first.isVerified, let format = await samples.formatDescription else { return nil }
        guard let path = try await writer.complete() else {
            throw MediaError(
                .invalidArgument,
                "only files can be verified",
                given: request.output,
                allowed: "the path of a file"
            )
        }
        var expectation = OutputExpectation(
            codecName: format.codec.rawValue,
            width: format.width,
            height: format.height,
            times: plan.index.frames.map(\.presentationTime),
            hasTimes: request.sink.format?.requiredCodec == nil
        )
        expectation.audio = await tracks.expectations
        var result = try await OutputVerification.passed(
            path,
            as: request.output,
            expectation,
            logger: request.logger,
            cancellation: abandonment,
            progress: noteVerified
        )
        result.comparedPictureCount = records.reduce(0) { $0 + $1.comparedPictureCount }
        result.psnr = OutputVerification.PSNR(combining: records.compactMap(\.psnr))
        return result
    }
}

extension OutputVerification.PSNR {
    /// Combines the ratios of chunks; `nil` if there are none.
    init?(combining chunks: [ChunkRecord.PSNR]) {
        let count = chunks.reduce(0) { $0 + $1.pictureCount }
        guard count > 0, let lowest = chunks.map(\.lowest).min() else { return nil }
        self.lowest = lowest
        mean = chunks.reduce(0) { $0 + $1.mean * Double($1.pictureCount) } / Double(count)
        pictureCount = count
    }
}
