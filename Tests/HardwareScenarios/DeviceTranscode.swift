// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import HelperIPC
import MediaTypes
import Synchronization
import VAToolbox

/// A stream that a GPU decodes and encodes again, with the frames on the GPU or in memory.
///
/// The stream is in `OUTPUT.source`, output K in `OUTPUT.K`. With `hold=N`, each frame is kept until N later ones have come,
/// and then its samples are written to `OUTPUT.frames`, row after row.
struct DeviceTranscode {
    private let options: ScenarioOptions
    private let output: String

    init(_ options: ScenarioOptions, output: String) {
        self.options = options
        self.output = output
    }

    func run() async throws {
        let stream = try await stream()
        guard let first = stream.first else { throw Wrong("x264 has returned nothing") }
        var pool = HelperPool.Options(.decoding)
        // All in one process, also while an encoder is replaced.
        pool.connectionsPerHelper = 64
        let helpers = try HelperPool(pool)
        var decoding = DecompressionOptions()
        decoding.policy = options.deviceFrames == nil ? .requireSoftware : .preferHardware
        decoding.devicePictureLimit = options.deviceFrames ?? 0
        decoding.helpers = helpers
        let decoder = try await DecompressionSession(formatDescription: first.formatDescription, options: decoding)
        let told = Task { [events = decoder.events] in for await event in events { Self.tell(event) } }
        let outputs = try await outputs(helpers)
        let feeder = Task {
            for sample in stream { try await decoder.decode(sample) }
            try await decoder.finish()
        }
        let held = options.heldFrames > 0 ? try HeldFrames(options.heldFrames, path: output + ".frames") : nil
        var onDevice = 0
        var count = 0
        for try await frame in decoder.frames {
            var isOnDevice = false
            if case .deviceSurface = frame.buffer.storage { isOnDevice = true }
            if isOnDevice { onDevice += 1 }
            let number = Int((frame.presentationTime.seconds * 25).rounded())
            say("frame", ["frame": number, "onDevice": isOnDevice, "damaged": frame.isDamaged])
            for output in outputs {
                try await output.session.encode(frame.buffer, presentationTime: frame.presentationTime, token: number)
            }
            try held?.add(frame.buffer)
            count += 1
        }
        try held?.finish()
        try await feeder.value
        await told.value
        for (index, output) in outputs.enumerated() {
            try await output.session.finish()
            let samples = try await output.samples.value
            await output.told.value
            let statistics = await output.session.statistics
            say(
                "output",
                [
                    "index": index, "samples": samples, "copied": statistics.copiedPictures,
                    "converted": statistics.convertedByEncoder, "repeated": statistics.repeatedFrames,
                    "created": statistics.createdEncoders, "failed": statistics.failedEncoders,
                    "device": output.session.encoder.identity.device ?? "",
                ]
            )
        }
        let statistics = await decoder.statistics
        say(
            "end",
            [
                "frames": count, "onDevice": onDevice, "returned": statistics.returnedFrames,
                "created": statistics.createdDecoders, "failed": statistics.failedDecoders,
                "decoder": await decoder.decoder?.identity.name ?? "",
            ]
        )
    }

    /// One encoded output.
    private struct Output: Sendable {
        let session: CompressionSession
        let samples: Task<Int, any Error>
        let told: Task<Void, Never>
    }

    /// Creates the sessions, each of half the size of the one before.
    private func outputs(_ helpers: HelperPool) async throws -> [Output] {
        var outputs: [Output] = []
        for index in 0..<options.sessions {
            var configuration = options.configuration
            configuration.width = configuration.width >> index & ~1
            configuration.height = configuration.height >> index & ~1
            var session = options.session
            session.helpers = helpers
            let created = try await CompressionSession(configuration: configuration, options: session)
            let path = index == 0 ? output : "\(output).\(index)"
            let samples = Task { [samples = created.samples] in
                var data = Data()
                var count = 0
                for try await sample in samples {
                    let bytes = try sample.annexB(
                        withParameterSets: sample.isKeyFrame || sample.formatDescriptionChanged
                    )
                    bytes.withUnsafeBytes { data.append(contentsOf: $0) }
                    count += 1
                    say(
                        "sample",
                        [
                            "index": index, "frame": sample.token as? Int ?? -1,
                            "pts": sample.presentationTime.seconds, "dts": sample.decodeTime.seconds,
                        ]
                    )
                }
                try data.write(to: URL(fileURLWithPath: path))
                return count
            }
            let told = Task { [events = created.events] in for await event in events { RecordedSession.tell(event) } }
            outputs.append(Output(session: created, samples: samples, told: told))
        }
        return outputs
    }

    /// The stream to transcode, which x264 or x265 makes of pictures that all differ.
    private func stream() async throws -> [SampleBuffer] {
        var configuration = EncoderConfiguration(
            width: options.configuration.width,
            height: options.configuration.height
        )
        configuration.codec = options.sourceCodec
        configuration.frameRate = options.configuration.frameRate
        configuration.bitDepth = options.configuration.bitDepth
        configuration.keyFrameInterval = options.configuration.keyFrameInterval
        configuration.allowsOpenGOP = options.isOpenGOP
        var software = SessionOptions()
        software.policy = .requireSoftware
        let session = try await CompressionSession(configuration: configuration, options: software)
        let samples = Task { [samples = session.samples] in
            var list: [SampleBuffer] = []
            for try await sample in samples { list.append(sample) }
            return list
        }
        let source = try PictureSource(options, session.pixelBufferPool, copy: output + ".source")
        for number in 0..<options.frames {
            let time = MediaTime(value: Int64(number), timescale: 25)
            try await session.encode(source.picture(number), presentationTime: time)
        }
        try await session.finish()
        let list = try await samples.value
        var data = Data()
        for sample in list {
            try sample.annexB(withParameterSets: sample.isKeyFrame).withUnsafeBytes { data.append(contentsOf: $0) }
        }
        try data.write(to: URL(fileURLWithPath: output + ".source"))
        return list
    }

    private static func tell(_ event: DecompressionEvent) {
        switch event {
        case .decoderCreated(let description):
            say("event", ["name": "decoder", "decoder": description.identity.name])
        case .decoderFailed(let identity, let error, let samples):
            say("event", ["name": "decoder failed", "decoder": identity.name, "error": "\(error)", "samples": samples])
        case .damaged(let time, let error):
            say("event", ["name": "damaged", "pts": time.seconds, "error": "\(error)"])
        case .withoutFrame(let time): say("event", ["name": "without frame", "pts": time.seconds])
        case .lost(let time): say("event", ["name": "lost", "pts": time.seconds])
        case .starvation(let starvation): say("event", ["name": "starvation", "what": "\(starvation)"])
        case .copiedFromDevice(let time, let error):
            say("event", ["name": "copied", "pts": time.seconds, "error": "\(error)"])
        }
    }
}

/// Frames that a consumer keeps for a while. Their samples are read when they are released.
private final class HeldFrames {
    private let limit: Int
    private let file: FileHandle
    private var frames: [PixelBuffer] = []

    init(_ limit: Int, path: String) throws {
        self.limit = limit
        file = try PictureSource.file(path)
    }

    func add(_ frame: PixelBuffer) throws {
        frames.append(frame)
        if frames.count > limit { try PictureSource.keep(frames.removeFirst(), in: file) }
    }

    func finish() throws {
        while !frames.isEmpty { try PictureSource.keep(frames.removeFirst(), in: file) }
        try file.close()
    }
}
