// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Synchronization
import TestSupport
import Testing
import VideoDecoding

@testable import RenderNodes
@testable import VAToolbox

/// What a session has to pass before it uses a decoder of a device, and what becomes of what it tells. libavcodec stands
/// in for a GPU.
@Suite struct DecoderGateTests {
    /// A decoder of a device that does what libavcodec does, or fails.
    private struct Device: DecoderFactory {
        enum Habit: Sendable {
            case works
            case refuses(MediaError)
            case failsInPicture(MediaError)
            /// The picture of that place, from 0, is another one.
            case showsWrongly(Int)
            case omits(Int)
            case complains
        }

        let identity: DecoderIdentity
        let habit: Habit
        let made = Counter()

        final class Counter: Sendable { let count = Mutex(0) }

        var count: Int { made.count.withLock { $0 } }

        init(_ habit: Habit = .works, codec: VideoCodec = .h264, node: Int = 128) {
            self.habit = habit
            identity = DecoderIdentity(name: "gpu", codec: codec, device: "/dev/dri/renderD\(node)")
        }

        func makeDecoder(_ request: DecoderRequest) throws(MediaError) -> any DecoderBackend {
            made.count.withLock { $0 += 1 }
            if case .refuses(let error) = habit { throw error }
            var inner = request
            let place = Mutex(0)
            inner.output = { [habit] output in
                guard case .picture(var picture) = output else { return request.output(output) }
                let number = place.withLock { place in
                    defer { place += 1 }
                    return place
                }
                switch habit {
                case .omits(number): return
                case .showsWrongly(number):
                    let grey = try? PixelBuffer(picture.buffer.pictureDescription)
                    picture.buffer = grey ?? picture.buffer
                case .complains:
                    request.output(.damaged(number: picture.number, MediaError(.malformedData, "a broken slice")))
                default: break
                }
                request.output(.picture(picture))
            }
            let decoder = try SoftwareDecoderFactory(codec: identity.codec).makeDecoder(inner)
            if case .failsInPicture(let error) = habit { return Failing(decoder, error) }
            return decoder
        }

        private final class Failing: DecoderBackend {
            let inner: any DecoderBackend
            let error: MediaError

            init(_ inner: any DecoderBackend, _ error: MediaError) { (self.inner, self.error) = (inner, error) }

            var properties: DecoderProperties { inner.properties }
            func decode(_ sample: DecoderSample) throws(MediaError) {
                if sample.number == 3 { throw error }
                try inner.decode(sample)
            }
            func drain() throws(MediaError) { try inner.drain() }
        }
    }

    private func node(_ number: UInt32) -> RenderNode {
        RenderNode(
            path: "/dev/dri/renderD\(number)",
            minor: number,
            file: nil,
            groupName: nil,
            kernelDriver: nil,
            pci: nil,
            huC: nil,
            access: .accessible
        )
    }

    private func options() -> DeviceOptions {
        var options = DeviceOptions()
        options.state = SelectionState(folder: nil)
        options.proof = .required
        options.breaker = BreakerTimes(
            failures: 2,
            // On a busy machine, minutes may pass between two lines of a test.
            window: .seconds(80_000),
            pause: .seconds(80_000),
            longestPause: .seconds(86_400)
        )
        return options
    }

    private func candidate(
        _ device: Device,
        _ options: DeviceOptions,
        _ stream: KnownStream = .h264High,
        proving prover: Device? = nil
    ) throws -> DecoderCandidate {
        var candidate = DecoderCandidate(factory: device, reason: "a GPU")
        candidate.node = node(128)
        let selection = DecoderSelection(candidates: [candidate], rejected: [])
        let format = try stream.samples()[0].formatDescription
        return try selection.guarded(options, nil, for: format) { _ in
            DecodingTests(options, factory: prover ?? device)
        }.candidates[0]
    }

    private func make(_ candidate: DecoderCandidate, _ stream: KnownStream = .h264High) throws -> MediaError? {
        let format = try stream.samples()[0].formatDescription
        do throws(MediaError) {
            _ = try candidate.factory.makeDecoder(DecoderRequest(formatDescription: format) { _ in })
            return nil
        } catch {
            return error
        }
    }

    // MARK: - The known streams

    /// The checksums are those of the pictures that ffmpeg decodes.
    @Test(arguments: KnownStream.all.map(\.description)) func ffmpegDecodesTheKnownPictures(name: String) throws {
        let stream = try #require(KnownStream.all.first { $0.description == name })
        let isDeep = stream.name == "main10"
        let pictures = try CodedStream(stream.codec, bytes: stream.bytes)
            .pictures(isDeep ? "yuv420p10le" : "yuv420p", byteCount: 320 * 192 * 3 / 2 * (isDeep ? 2 : 1))
        let sums = pictures.map { picture in
            picture.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        }
        #expect(sums == stream.checksums)
        #expect(try KnownStream.standing(for: stream.samples()[0].formatDescription)?.description == name)
        // A picture is shown before one that was coded earlier.
        let order = try CodedStream(stream.codec, bytes: stream.bytes).presentationOrder()
        #expect(order.count == 8 && order != order.sorted(), "\(order)")
    }

    @Test(arguments: KnownStream.all.map(\.description)) func libavcodecPasses(name: String) throws {
        let stream = try #require(KnownStream.all.first { $0.description == name })
        let device = Device(codec: stream.codec)
        let test = TestDecode(factory: device, patience: .seconds(30), stream: stream)
        let result = test.result()
        #expect(result.failure == nil, "\(String(describing: result.failure))")
        #expect(result.decoderName?.hasPrefix("libavcodec") == true)
    }

    /// What stands for a format, and formats that GPU decoders do not support.
    @Test func eachFormatHasItsStream() throws {
        let cases: [(options: String, stream: String?)] = [
            ("-pix_fmt yuv420p -profile:v baseline -bf 0", "h264 main"),
            ("-pix_fmt yuv420p -profile:v main", "h264 main"),
            ("-pix_fmt yuv420p -profile:v high", "h264 high"), ("-pix_fmt yuv422p", nil), ("-pix_fmt yuv420p10le", nil),
            ("-pix_fmt yuv420p -x264-params interlaced=1", "h264 high interlaced"),
        ]
        for (options, name) in cases {
            let format = try CodedStream(.h264, frames: 2, options).samples[0].formatDescription
            #expect(try KnownStream.standing(for: format)?.description == name, "\(options)")
        }
        let hevc: [(pixels: String, stream: String?)] = [
            ("yuv420p", "hevc main"), ("yuv420p10le", "hevc main10"), ("yuv422p", nil), ("yuv420p12le", nil),
        ]
        for (pixels, name) in hevc {
            let stream = try CodedStream(.hevc, frames: 2, "-pix_fmt \(pixels) -x265-params log-level=none")
            #expect(
                try KnownStream.standing(for: stream.samples[0].formatDescription)?.description == name,
                "\(pixels)"
            )
        }
    }

    // MARK: - The test

    @Test func aWrongMissingOrDamagedPictureIsFound() throws {
        let cases: [(habit: Device.Habit, stage: TestDecode.Stage?, text: String)] = [
            (.showsWrongly(5), .matches, "1 of 8 pictures are wrong"), (.omits(7), .pictures, "7 of 8 pictures"),
            (.complains, .pictures, "a broken slice"),
            (.failsInPicture(MediaError(.frameFailed, "no", call: "vaEndPicture", status: 1)), .submit, "vaEndPicture"),
            (.failsInPicture(MediaError(.frameFailed, "no", call: "vaSyncSurface", status: 1)), .sync, "vaSyncSurface"),
            (
                .refuses(MediaError(.creationFailed, "no", call: "vaCreateConfig", status: 12)), .config,
                "vaCreateConfig"
            ),
            (.refuses(MediaError(.unsupported, "4:4:4 is not supported")), nil, "4:4:4"),
        ]
        for (habit, stage, text) in cases {
            let test = TestDecode(factory: Device(habit), patience: .seconds(30), stream: .h264High)
            let failure = try #require(test.result().failure, "\(habit)")
            #expect(failure.stage == stage && failure.error.readable.contains(text), "\(habit): \(failure)")
        }
    }

    @Test func aDecoderIsProvedOncePerClassOfStreams() throws {
        let (options, prover) = (options(), Device())
        for _ in 0..<2 {
            let candidate = try candidate(Device(), options, proving: prover)
            #expect(try make(candidate) == nil && make(candidate) == nil)
            #expect(candidate.proof() == .decoded)
        }
        #expect(prover.count == 1)
        // The stream changes its profile while the session uses the device.
        let candidate = try candidate(Device(), options, proving: prover)
        #expect(
            try make(candidate) == nil && make(candidate, .h264Interlaced) == nil
                && make(candidate, .h264Interlaced) == nil
        )
        #expect(prover.count == 2)
        let proofs = ProofCache(state: options.state).all(at: WallClock.now)
        #expect(Set(proofs.map(\.configuration)) == ["h264 decode high", "h264 decode high interlaced"])
        #expect(proofs.allSatisfy { $0.isPassed && $0.isDecoded && $0.driver.hasPrefix("libavcodec") })
    }

    @Test func aDecoderOfWrongPicturesIsNotUsed() throws {
        let (options, device) = (options(), Device())
        let prover = Device(.showsWrongly(2))
        for known in [false, true] {
            let error = try make(candidate(device, options, proving: prover))
            #expect(error?.code == .proofFailed && error?.cause == .proofFailed && error?.isPermanent == true)
            let text = error?.message ?? ""
            #expect(text.contains("a test decode failed at matches: 1 of 8 pictures are wrong"), "\(text)")
            #expect(text.contains("the next attempt is in") == known, "\(text)")
        }
        #expect(prover.count == 1 && device.count == 0)
        var trusting = options
        trusting.proof = .skipped
        #expect(try make(candidate(device, trusting, proving: prover)) == nil && device.count == 1)
    }

    // MARK: - Failures and places

    /// A device that decodes badly may encode well, and the reverse. A device that hangs is trusted with neither.
    @Test func failuresOfEncodersAndDecodersAreSeparate() async throws {
        var options = options()
        options.proof = .skipped
        let board = DeviceBoard(state: options.state)
        func fail(_ error: MediaError) async throws {
            let candidate = try candidate(Device(), options)
            _ = try make(candidate)
            candidate.outcome(.failed(error, whileCreating: false))
            candidate.outcome(.left)
            await candidate.settle()
        }
        for _ in 0..<2 { try await fail(MediaError(.frameFailed, "no", call: "vaEndPicture", status: 1)) }
        #expect(try make(candidate(Device(), options))?.code == .suspended)
        for task in [DeviceTask.encoding(.h264), .encoding(.hevc), .decoding(.hevc)] {
            #expect(board.breaker("renderD128", task).isBlank, "\(task)")
        }
        options.state = SelectionState(folder: nil)
        let other = DeviceBoard(state: options.state)
        for _ in 0..<2 { try await fail(MediaError(.deadlineExceeded, "no answer")) }
        for task in [DeviceTask.encoding(.h264), .encoding(.hevc), .decoding(.h264)] {
            let state = other.breaker("renderD128", task).state(at: WallClock.now, options.breaker ?? .init())
            guard case .open = state else {
                Issue.record("\(task): \(state)")
                continue
            }
        }
        #expect(other.breaker("renderD128", .encoding(.hevc)).reason.contains("while it decoded H.264"))
        #expect(other.breaker("renderD128", .decoding(.hevc)).isBlank)
        // Damaged data is no failure of the device, nor is a picture that was left there.
        for code in [MediaError.Code.malformedData, .pictureLost] {
            options.state = SelectionState(folder: nil)
            try await fail(MediaError(code, "a test"))
            #expect(DeviceBoard(state: options.state).breaker("renderD128", .decoding(.h264)).isBlank)
        }
    }

    /// A transcode needs a place of each kind.
    @Test func decodersHavePlacesOfTheirOwn() async throws {
        var options = options()
        options.sessionsPerDevice = 1
        let board = DeviceBoard(state: options.state)
        let encoder = try #require(board.use("renderD128", limit: 1, .init(process: 1, sampleRate: 1, codec: "h264")))
        let first = try candidate(Device(), options)
        let second = try candidate(Device(), options)
        #expect(try make(first) == nil)
        let busy = try make(second)
        #expect(busy?.code == .busy && busy?.cause == .deviceBusy && busy?.given == "1" && busy?.allowed == "1")
        #expect(board.load(of: "renderD128").sessions == 2)
        first.outcome(.left)
        await first.settle()
        #expect(try make(second) == nil)
        encoder.release()
    }

    // MARK: - Sessions

    private func session(
        _ candidates: [DecoderCandidate],
        _ stream: KnownStream = .h264High
    ) async throws -> (frames: Int, description: DecoderDescription?, failures: [MediaError]) {
        let samples = try stream.samples()
        let session = try await DecompressionSession(
            formatDescription: samples[0].formatDescription,
            candidates: candidates
        )
        let consumer = Task { [frames = session.frames] in
            var count = 0
            for try await _ in frames { count += 1 }
            return count
        }
        for sample in samples { try await session.decode(sample) }
        try await session.finish()
        var failures: [MediaError] = []
        for await event in session.events { if case .decoderFailed(_, let error, _) = event { failures.append(error) } }
        return (try await consumer.value, await session.decoder, failures)
    }

    @Test func aSessionTellsWhyThisDecoder() async throws {
        let options = options()
        let software = DecoderCandidate.software(.h264)
        let proved = try await session([candidate(Device(), options), software])
        #expect(proved.frames == 8 && proved.description?.proof == .decoded && proved.description?.rejected == [])
        #expect(proved.description?.reason == "a GPU" && proved.failures.isEmpty)
        #expect(DeviceBoard(state: options.state).load(of: "renderD128").sessions == 0)
        options.state.reset()
        let refuted = try await session([candidate(Device(), options, proving: Device(.showsWrongly(0))), software])
        let description = try #require(refuted.description)
        #expect(refuted.frames == 8 && description.identity.name == "libavcodec" && description.proof == .notWanted)
        #expect(description.rejected.map(\.name) == ["gpu on /dev/dri/renderD128"])
        #expect(description.rejected[0].cause == .proofFailed)
        #expect(description.rejected[0].reason.contains("pictures are wrong"), "\(description.rejected)")
        #expect(description.reason.contains("previous candidate: ") && refuted.failures.count == 1)
    }

    /// A session that comes to a good end clears the failures of its device; one whose decoder fails adds some.
    @Test func outcomesOfSessionsAreRecorded() async throws {
        var options = options()
        options.proof = .skipped
        let board = DeviceBoard(state: options.state)
        let error = MediaError(.frameFailed, "no", call: "vaEndPicture", status: 1, isPermanent: true)
        let failed = try await session([candidate(Device(.failsInPicture(error)), options), .software(.h264)])
        #expect(failed.frames == 8 && failed.description?.identity.name == "libavcodec")
        #expect(board.breaker("renderD128", .decoding(.h264)).failures.count == 1)
        let good = try await session([candidate(Device(), options), .software(.h264)])
        #expect(good.frames == 8 && good.description?.identity.isHardware == true)
        #expect(board.breaker("renderD128", .decoding(.h264)).isBlank)
    }
}
