// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import VAToolbox

/// One session, every sample and event of which is told.
struct RecordedSession {
    private let options: ScenarioOptions
    private let output: String
    /// How many frames may not have come out at a pause; more than any encoder has in it.
    private static let mostUnseen = 100

    init(_ options: ScenarioOptions, output: String) {
        self.options = options
        self.output = output
    }

    func run() async throws {
        let session = try await CompressionSession(configuration: options.configuration, options: options.session)
        for adjustment in session.adjustments + session.encoder.properties.adjustments {
            say("adjustment", ["property": adjustment.property, "used": adjustment.used])
        }
        let events = Task { [events = session.events] in for await event in events { Self.tell(event) } }
        let (samplesSeen, seen) = AsyncStream<Void>.makeStream()
        let consumer = Task { [samples = session.samples, output] in try await Self.record(samples, output, seen) }
        let source = try PictureSource(options, session.pixelBufferPool, copy: output + ".nv12")
        var unseen = 0
        var arrivals = samplesSeen.makeAsyncIterator()
        for number in 0..<options.frames {
            try await encode(number, source.picture(number), session)
            unseen += 1
            guard options.pause > 0, (number + 1) % options.pause == 0 else { continue }
            // Samples that wait for a slow consumer take memory.
            while unseen > Self.mostUnseen, await arrivals.next() != nil { unseen -= 1 }
            pause(number + 1)
        }
        if options.isCancelled { return try await cancel(session, source, after: samplesSeen) }
        try await session.finish()
        let count = try await consumer.value
        await events.value
        await source.finish()
        let statistics = await session.statistics
        say(
            "end",
            [
                "samples": count, "encoder": session.encoder.identity.name,
                "device": session.encoder.identity.device ?? "", "repeated": statistics.repeatedFrames,
                "created": statistics.createdEncoders, "failed": statistics.failedEncoders,
                "reorderDepth": session.encoder.properties.reorderDepth, "copied": statistics.copiedPictures,
                "converted": statistics.convertedByEncoder,
            ]
        )
    }

    /// Cancels the session once a sample is there, so that the encoder is at work.
    private func cancel(
        _ session: CompressionSession,
        _ source: PictureSource,
        after samplesSeen: AsyncStream<Void>
    ) async throws {
        for await _ in samplesSeen { break }
        session.cancel()
        await source.finish()
        say("end", ["encoder": session.encoder.identity.name])
    }

    private func encode(_ number: Int, _ picture: PixelBuffer, _ session: CompressionSession) async throws {
        var frame = FrameOptions()
        for action in options.actions[number] ?? [] {
            switch action {
            case .bitRate(let rate): try await session.update(.init(bitRate: rate))
            case .keyFrame: frame.forceKeyFrame = true
            case .captions: picture.attachments.captions = [0xFC, 0x94, 0x2C, 0xFD, 0x80, 0x80]
            case .region(let offset):
                let (width, height) = (picture.width / 2, picture.height / 2)
                picture.attachments.regionsOfInterest = [
                    RegionOfInterest(x: 0, y: 0, width: width, height: height, quantizerOffset: offset)
                ]
            case .longTermReference(let index): frame.longTermReference = index
            case .lost(let frames): frame.lostFrames = Self.time(frames.lowerBound)...Self.time(frames.upperBound)
            case .decoded(let decoded): frame.decodedFrame = Self.time(decoded)
            }
        }
        try await session.encode(picture, presentationTime: Self.time(Int64(number)), options: frame, token: number)
    }

    private static func time(_ number: Int64) -> MediaTime { MediaTime(value: number, timescale: 25) }

    /// Takes the samples into a file, and tells of each where it is there.
    /// - Parameter seen: Is told of each sample, and of the end.
    private static func record(
        _ samples: SampleSequence,
        _ output: String,
        _ seen: AsyncStream<Void>.Continuation
    ) async throws -> Int {
        defer { seen.finish() }
        guard FileManager.default.createFile(atPath: output, contents: nil),
            let file = FileHandle(forWritingAtPath: output)
        else { throw Wrong("cannot write \(output)") }
        var count = 0
        var offset = 0
        for try await sample in samples {
            let data = try sample.annexB(withParameterSets: sample.isKeyFrame || sample.formatDescriptionChanged)
            let bytes = data.withUnsafeBytes { Data($0) }
            try file.write(contentsOf: bytes)
            say(
                "sample",
                [
                    "frame": sample.token as? Int ?? -1, "key": sample.isKeyFrame, "reference": sample.isReference,
                    "pts": sample.presentationTime.seconds, "dts": sample.decodeTime.seconds,
                    "offset": offset, "size": bytes.count, "newFormat": sample.formatDescriptionChanged,
                ]
            )
            offset += bytes.count
            count += 1
            seen.yield()
        }
        try file.close()
        return count
    }

    static func tell(_ event: SessionEvent) {
        switch event {
        case .encoderCreated(let description):
            say("event", ["name": "created", "encoder": description.identity.name])
        case .encoderFailed(let identity, let error, let frames):
            say("event", ["name": "failed", "encoder": identity.name, "error": "\(error)", "frames": frames])
        case .encoderSwitched(let change):
            say(
                "event",
                [
                    "name": "switched", "from": change.from.name, "to": change.to.name, "frame": change.frame,
                    "frames": change.repeatedFrames, "refresh": change.refresh?.rawValue ?? "",
                    "errors": change.failures.map { "\($0.error)" },
                ]
            )
        case .frameDropped:
            say("event", ["name": "dropped"])
        case .frameLost(let time, _, let error):
            say("event", ["name": "frame lost", "pts": time.seconds, "error": "\(error)"])
        case .adjusted(let adjustment):
            say("event", ["name": "adjusted", "property": adjustment.property, "used": adjustment.used])
        }
    }
}
