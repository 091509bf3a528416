// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import HelperIPC
import MediaTypes
import TestSupport
import Testing

@testable import VAToolbox

/// A decoded frame, as it has to come out whichever decoder was at work.
struct PlainFrame: Hashable, Sendable {
    var time: MediaTime
    var bytes: [UInt8]
    var isDamaged: Bool
    var captions: [UInt8]

    init(_ frame: DecodedFrame) throws {
        time = frame.presentationTime
        bytes = try frame.buffer.packed()
        isDamaged = frame.isDamaged
        captions = frame.buffer.attachments.captions
    }
}

/// What came of a session.
struct PlayedSession: Sendable {
    var frames: [PlainFrame] = []
    var error: MediaError?
    var events: [DecompressionEvent] = []
    var statistics = DecompressionStatistics()
    var decoder: DecoderDescription?

    var failures: [MediaError] {
        events.compactMap { if case .decoderFailed(_, let error, _) = $0 { error } else { nil } }
    }
    var starvations: [DecoderStarvation] {
        events.compactMap { if case .starvation(let starvation) = $0 { starvation } else { nil } }
    }
}

/// A stream with B-frames and its times, and sessions that decode it.
struct HelperDecoding: Sendable {
    var samples: [SampleBuffer]

    var codec: VideoCodec { samples[0].formatDescription.codec }

    /// - Parameter options: Options of FFmpeg.
    init(_ codec: VideoCodec, _ options: String) throws {
        let stream = try CodedStream(codec, frames: 60, options)
        samples = stream.samples
        for (position, index) in try stream.presentationOrder().enumerated() {
            samples[index].presentationTime = MediaTime(value: Int64(position), timescale: 25)
        }
    }

    /// A group of pictures for each 20 frames, and one for all.
    static let short = Result {
        try HelperDecoding(.h264, "-x264-params bframes=3:b-adapt=0:b-pyramid=normal:keyint=20:scenecut=0")
    }
    static let long = Result { try HelperDecoding(.h264, "-x264-params bframes=3:b-adapt=0:keyint=200:scenecut=0") }

    /// The frames that a decoder in this process returns.
    func expected() async throws -> [PlainFrame] {
        let played = try await play(on: [.software(codec)])
        #expect(played.error == nil && played.statistics.failedDecoders == 0)
        return played.frames
    }

    func session(
        on candidates: [DecoderCandidate],
        _ change: (inout DecompressionOptions) -> Void = { _ in }
    ) async throws -> DecompressionSession {
        var options = DecompressionOptions()
        options.threadCount = 2
        change(&options)
        return try await DecompressionSession(
            formatDescription: samples[0].formatDescription,
            options: options,
            candidates: candidates
        )
    }

    /// Decodes everything.
    ///
    /// - Parameter hold: Called with each frame, which is kept if it returns true.
    func play(
        on candidates: [DecoderCandidate],
        _ change: (inout DecompressionOptions) -> Void = { _ in },
        hold: @escaping @Sendable (DecodedFrame) -> Bool = { _ in false }
    ) async throws -> PlayedSession {
        let session = try await session(on: candidates, change)
        let consumer = Task { [frames = session.frames] in
            var played = PlayedSession()
            var held: [DecodedFrame] = []
            do {
                for try await frame in frames {
                    played.frames.append(try PlainFrame(frame))
                    if hold(frame) { held.append(frame) }
                }
            } catch {
                played.error = error as? MediaError ?? MediaError(.invalidState, "\(error)")
            }
            return played
        }
        do throws(MediaError) {
            for sample in samples { try await session.decode(sample) }
            try await session.finish()
        } catch {
            session.cancel()
        }
        var played = await withTaskCancellationHandler {
            await consumer.value
        } onCancel: {
            session.cancel()
        }
        played.statistics = await session.statistics
        played.decoder = await session.decoder
        for await event in session.events { played.events.append(event) }
        return played
    }
}

extension DecoderCandidate {
    /// A decoder of `FaultyHelper` to which something happens.
    static func planned(
        _ plan: DecoderPlan,
        codec: VideoCodec = .h264,
        pictures: Int = 12,
        _ change: (inout RemoteDecoderFactory.Deadlines) -> Void = { _ in }
    ) throws -> DecoderCandidate {
        var pool = HelperPool.Options(.decoding)
        pool.path = try BuiltProgram.path("FaultyHelper")
        return .remote(plan.identity(codec), in: try HelperPool(pool), pictures: pictures, change)
    }

    /// A decoder in a helper whose deadlines no slow machine misses, unless they are changed.
    static func remote(
        _ identity: DecoderIdentity,
        in pool: HelperPool,
        pictures: Int = 12,
        _ change: (inout RemoteDecoderFactory.Deadlines) -> Void = { _ in }
    ) -> DecoderCandidate {
        var options = RemoteDecoderFactory.Options()
        options.pictureLimit = pictures
        options.starvationNotice = .milliseconds(200)
        options.deadlines.start = .seconds(60)
        options.deadlines.creation = .seconds(600)
        options.deadlines.call = .seconds(600)
        options.deadlines.release = .seconds(600)
        change(&options.deadlines)
        return DecoderCandidate(factory: RemoteDecoderFactory(identity, pool: pool, options: options), reason: "a test")
    }
}

/// A file that a fault removes when it strikes.
final class FaultFile: Sendable {
    let path = NSTemporaryDirectory() + "vatoolbox-fault-" + UUID().uuidString

    init() throws { try Data().write(to: URL(fileURLWithPath: path)) }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var hasStruck: Bool { !FileManager.default.fileExists(atPath: path) }
}
