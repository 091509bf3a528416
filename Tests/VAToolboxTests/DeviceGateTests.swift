// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Synchronization
import Testing

@testable import RenderNodes
@testable import VAToolbox

/// What a session has to pass before it uses a device, and what becomes of what it tells. x264 stands in for a GPU.
@Suite struct DeviceGateTests {
    /// An encoder of a device that does what x264 does, or fails.
    private struct Device: EncoderFactory {
        let identity: EncoderIdentity
        let software: any EncoderFactory
        let made = Counter()
        var error: MediaError?

        final class Counter: Sendable { let count = Mutex(0) }

        var count: Int { made.count.withLock { $0 } }

        init(_ number: Int, _ error: MediaError? = nil, codec: VideoCodec = .h264) throws {
            identity = EncoderIdentity(name: "gpu", codec: codec, device: "/dev/dri/renderD\(number)")
            let selection = try EncoderSelector().select(for: DeviceGateTests.configuration, policy: .requireSoftware)
            software = selection.candidates[0].factory
            self.error = error
        }

        func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
            made.count.withLock { $0 += 1 }
            if let error { throw error }
            return try software.makeEncoder(request)
        }
    }

    private static let configuration = EncoderConfiguration(width: 64, height: 64)

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

    /// Sessions of the same state, each with a gate before each device.
    private func selection(
        _ devices: [Device],
        _ options: DeviceOptions,
        proving provers: [Device]? = nil
    ) throws -> EncoderSelection {
        let candidates = devices.enumerated().map { index, device in
            var candidate = EncoderSelection.Candidate(factory: device, reason: "device \(index)")
            candidate.node = node(device.identity.device.flatMap { UInt32($0.suffix(3)) } ?? 0)
            return candidate
        }
        return try EncoderSelection(candidates: candidates).guarded(options, nil, for: Self.configuration) {
            candidate in
            let index = devices.firstIndex { $0.identity == candidate.identity } ?? 0
            return EncodingTests(options, factory: (provers ?? devices)[index])
        }
    }

    private func options() -> DeviceOptions {
        var options = DeviceOptions()
        options.state = SelectionState(folder: nil)
        options.proof = .required
        options.breaker = BreakerTimes(
            failures: 2,
            window: .seconds(600),
            pause: .seconds(3000),
            longestPause: .seconds(3600)
        )
        return options
    }

    private func make(_ candidate: EncoderSelection.Candidate) -> MediaError? {
        do {
            let request = EncoderRequest(configuration: Self.configuration, output: { _ in })
            _ = try candidate.factory.makeEncoder(request)
            return nil
        } catch {
            return error
        }
    }

    @Test func aDeviceIsProvedOnce() throws {
        let (options, prover) = (options(), try Device(128))
        for _ in 0..<3 {
            let selection = try selection([try Device(128)], options, proving: [prover])
            #expect(make(selection.candidates[0]) == nil && make(selection.candidates[0]) == nil)
        }
        #expect(prover.count == 1)
        let proofs = ProofCache(state: options.state).all(at: WallClock.now)
        #expect(proofs.count == 1 && proofs[0].isPassed && !proofs[0].isDecoded && proofs[0].device == "renderD128")
        // A proof that was only read is not enough for who can decode.
        var other = options
        other.verifier = Liar()
        let selection = try selection([try Device(128)], other, proving: [prover])
        #expect(make(selection.candidates[0])?.code == .proofFailed && prover.count == 2)
    }

    /// A decoder that shows nothing.
    private struct Liar: SampleVerifier {
        func decode(
            _ samples: [SampleBuffer],
            codec: VideoCodec,
            show: (PixelBuffer, MediaTime) throws(MediaError) -> Void
        ) throws(MediaError) {}
    }

    /// Who relies on a GPU is told how far it is known to work.
    @Test func whatIsProvedIsSaid() async throws {
        func description(_ options: DeviceOptions, proving prover: Device) async throws -> EncoderDescription {
            let selection = try selection([try Device(128)], options, proving: [prover])
            let session = try await CompressionSession(configuration: Self.configuration, selection: selection)
            try await session.finish()
            return session.encoder
        }
        let read = try await description(options(), proving: try Device(128))
        #expect(read.proof == .read && read.reason.contains("was not decoded"), "\(read.reason)")
        let missing = MediaError(.unavailable, "there is no helper program", cause: .helperMissing)
        let untried = try await description(options(), proving: try Device(128, missing))
        #expect(untried.proof == .impossible(missing) && untried.reason.contains("there is no helper program"))
        var other = options()
        other.proof = .skipped
        let skipped = try await description(other, proving: try Device(128))
        #expect(skipped.proof == .notWanted && skipped.reason == "device 0", "\(skipped.reason)")
    }

    @Test func aDeviceThatWasRefutedIsNotTriedAgain() throws {
        let options = options()
        let prover = try Device(128, MediaError(.creationFailed, "no", call: "vaCreateContext", status: 1))
        let device = try Device(128)
        for _ in 0..<3 {
            let error = make(try selection([device], options, proving: [prover]).candidates[0])
            #expect(
                error?.code == .proofFailed && error?.isPermanent == true && error?.message.contains("context") == true
            )
        }
        #expect(prover.count == 1 && device.count == 0)
        #expect(DeviceBoard(state: options.state).breaker("renderD128", .encoding(.h264)).failures.count == 1)
    }

    /// A hang costs a deadline: it is paid once in a selection, and what the device does with the other codec is found by
    /// the next one.
    @Test func aDeviceThatHungIsNotTriedForTheOtherCodec() throws {
        let options = options()
        let hang = MediaError(.deadlineExceeded, "no answer", cause: .driverHung)
        let provers = [try Device(128, hang, codec: .hevc), try Device(128), try Device(129)]
        func errors() throws -> [MediaError?] {
            let devices = [try Device(128, codec: .hevc), try Device(128), try Device(129)]
            return try selection(devices, options, proving: provers).candidates.map { make($0) }
        }
        let first = try errors()
        #expect(first.map { $0?.code } == [.proofFailed, .proofFailed, nil])
        #expect(first[1]?.cause == .driverHung && first[1]?.isPermanent == true)
        #expect(first[1]?.message.contains("not tried for H.264, because it has just hung") == true, "\(first)")
        #expect(provers.map(\.count) == [1, 0, 1])
        // It is known now that HEVC hangs, which costs nothing.
        #expect(try errors().map { $0?.code } == [.proofFailed, nil, nil])
        #expect(provers.map(\.count) == [1, 1, 1])
    }

    /// What is proved is used, whatever else hangs.
    @Test func aHangDoesNotSpeakAgainstWhatIsProved() throws {
        let options = options()
        #expect(make(try selection([try Device(128)], options).candidates[0]) == nil)
        let hang = MediaError(.deadlineExceeded, "no answer", cause: .driverHung)
        let devices = [try Device(128, codec: .hevc), try Device(128)]
        let selection = try selection(
            devices,
            options,
            proving: [try Device(128, hang, codec: .hevc), try Device(128)]
        )
        #expect(selection.candidates.map { make($0)?.code } == [.proofFailed, nil])
    }

    /// What is not the device's fault is neither remembered nor counted.
    @Test(arguments: [
        MediaError(.unsupported, "no such profile"), MediaError(.invalidArgument, "level"),
        MediaError(.unsupported, "no", call: "vaCreateConfig", status: 12),
        MediaError(.busy, "busy", call: "vaCreateContext", status: 34),
    ]) func whatIsNoFailure(error: MediaError) throws {
        let options = options()
        let prover = try Device(128, error)
        for _ in 0..<3 {
            let found = make(try selection([try Device(128)], options, proving: [prover]).candidates[0])
            #expect(found?.code == error.code && found?.isPermanent == true)
        }
        #expect(prover.count == 3 && options.state.names("proofs").isEmpty)
        #expect(DeviceBoard(state: options.state).breaker("renderD128", .encoding(.h264)).isBlank)
    }

    @Test func failuresOfSessionsOpenTheBreaker() async throws {
        var options = options()
        options.proof = .skipped
        let board = DeviceBoard(state: options.state)
        func failures(_ outcomes: [CandidateOutcome]) async throws -> Int {
            let selection = try selection([try Device(128)], options)
            #expect(make(selection.candidates[0]) == nil)
            outcomes.forEach { selection.candidates[0].outcome($0) }
            await selection.candidates[0].settle()
            return board.breaker("renderD128", .encoding(.h264)).failures.count
        }
        let failure = CandidateOutcome.failed(MediaError(.frameFailed, "no"), whileCreating: false)
        let refusal = CandidateOutcome.failed(MediaError(.unsupported, "no"), whileCreating: true)
        let busy = CandidateOutcome.failed(MediaError(.busy, "no"), whileCreating: true)
        #expect(try await failures([refusal, busy, .left]) == 0)
        #expect(try await failures([failure, .left]) == 1)
        // That it goes on is no proof of health; that it came to a good end is.
        #expect(try await failures([.produced, .left]) == 1)
        #expect(try await failures([.produced, .completed, .left]) == 0)
        #expect(try await failures([failure, .left]) == 1)
        // Nor is it one that it came to a good end after it had failed.
        var patient = options
        patient.breaker?.failures = 3
        let failing = try selection([try Device(128)], patient).candidates[0]
        #expect(make(failing) == nil)
        for outcome in [failure, .produced, .completed, .left] { failing.outcome(outcome) }
        await failing.settle()
        #expect(board.breaker("renderD128", .encoding(.h264)).failures.count == 2)
        #expect(try await failures([.produced, .completed, .left]) == 0)
        #expect(try await failures([failure, .left]) == 1)
        #expect(try await failures([failure, .left]) == 0)
        let state = board.breaker("renderD128", .encoding(.h264)).state(at: WallClock.now, options.breaker ?? .init())
        guard case .open = state else { return #expect(Bool(false), "\(state)") }
        let error = make(try selection([try Device(128)], options).candidates[0])
        #expect(error?.code == .suspended && error?.cause == .suspended)
    }

    @Test func placesAreGivenBack() async throws {
        var options = options()
        options.proof = .skipped
        options.sessionsPerDevice = 1
        let board = DeviceBoard(state: options.state)
        let first = try selection([try Device(128)], options).candidates[0]
        let second = try selection([try Device(128)], options).candidates[0]
        #expect(board.load(of: "renderD128").sessions == 0)
        #expect(make(first) == nil && board.load(of: "renderD128").sessions == 1)
        #expect(board.uses(of: "renderD128", decoding: false)[0].sampleRate == 64 * 64 * 30)
        #expect(make(second)?.code == .busy)
        // Trying again is the same session.
        first.outcome(.failed(MediaError(.frameFailed, "no"), whileCreating: false))
        #expect(make(first) == nil && make(second)?.code == .busy)
        first.outcome(.left)
        await first.settle()
        #expect(board.load(of: "renderD128").sessions == 0 && make(second) == nil)
    }

    /// A session may be over while its encoder's thread is still on the way in.
    @Test func whoComesInAfterLeavingTakesNoPlace() async throws {
        var options = options()
        options.proof = .skipped
        options.sessionsPerDevice = 1
        let candidate = try selection([try Device(128)], options).candidates[0]
        candidate.outcome(.left)
        await candidate.settle()
        #expect(make(candidate)?.code == .cancelled)
        #expect(DeviceBoard(state: options.state).load(of: "renderD128").sessions == 0)
        #expect(make(try selection([try Device(128)], options).candidates[0]) == nil)
    }

    /// A device that hangs at real work would else be forgiven by each session that begins, or that gives it nothing.
    @Test func aSessionThatCodedNothingSaysNothingOfItsDevice() async throws {
        var options = options()
        options.proof = .skipped
        let board = DeviceBoard(state: options.state)
        board.change("renderD128", .encoding(.h264)) { breaker in
            breaker.fail(at: WallClock.now, isTrial: false, reason: "hung", options.breaker ?? .init())
        }
        func session() async throws -> CompressionSession {
            let selection = try selection([try Device(128)], options)
            return try await CompressionSession(configuration: Self.configuration, selection: selection)
        }
        try await session().finish()
        #expect(board.breaker("renderD128", .encoding(.h264)).failures.count == 1)
        let working = try await session()
        let picture = try working.pixelBufferPool.make()
        try TestPattern.draw(0, into: picture)
        try await working.encode(picture, presentationTime: .zero)
        try await working.finish()
        #expect(board.breaker("renderD128", .encoding(.h264)).isBlank)
    }

    @Test func theLeastLoadedComesFirst() throws {
        var options = options()
        options.proof = .skipped
        options.placement = .spread
        let devices = [try Device(128), try Device(129), try Device(130)]
        var kept: [EncoderSelection] = []
        var order: [String] = []
        for _ in 0..<5 {
            let selection = try selection(devices, options)
            order.append(selection.candidates.compactMap { $0.identity.device?.suffix(3) }.joined(separator: " "))
            kept.append(selection)
        }
        #expect(order == ["128 129 130", "129 130 128", "130 128 129", "128 129 130", "129 130 128"])
        // The place is there before an encoder is, or two sessions that begin at once would take the same device.
        let board = DeviceBoard(state: options.state)
        #expect([128, 129, 130].map { board.load(of: "renderD\($0)").sessions } == [2, 2, 1])
        kept = []
        #expect([128, 129, 130].map { board.load(of: "renderD\($0)").sessions } == [0, 0, 0])
        // Where all are full the order is told, and no place is taken.
        let use = DeviceBoard.Use(process: 1, sampleRate: 1, codec: "h264")
        let place = try #require(board.use("renderD128", limit: 1, use))
        let full = board.spread(over: ["renderD128"], limit: 1, use)
        #expect(full.order == [0] && full.taken == nil)
        place.release()
        #expect(board.spread(over: ["renderD128"], limit: 1, use).taken?.index == 0)
    }

    // MARK: - What is asked

    @Test func classesOfConfigurations() {
        func name(_ change: (inout EncoderConfiguration) -> Void) -> String {
            var configuration = EncoderConfiguration(width: 1920, height: 1080)
            change(&configuration)
            return ConfigurationClass(configuration, .h264).description
        }
        let usual = name { _ in }
        #expect(usual == "h264 1920x1080 8bit vbr b=auto slices=1")
        // How much is no other question.
        #expect(name { $0.rateControl = .averageBitRate(1_000_000) } == usual)
        #expect(name { $0.frameRate = Rational(60) } == usual && name { $0.aud() } == usual)
        let others = [
            name { $0.width = 1280 }, name { $0.rateControl = .constantBitRate(1_000_000) }, name { $0.bFrames = .off },
            name { $0.slices = 4 }, name { $0.profile = .h264Main }, name { $0.hardware.lowPower = .required },
            name { $0.hardware.framesInFlight = 1 }, name { $0.isLowLatency = true },
            name { $0.usesIntraRefresh = true },
            name { $0.rateControl = .constantQuantizer(20) }, name { $0.rateControl = .constantQuality(20) },
            name { $0.rateControl = .constantQuality(20, peak: .limit(1_000_000)) }, name { $0.bitDepth = 10 },
            name { $0.bitDepth = 12 }, name { $0.chromaFormat = .yuv422 }, name { $0.chromaFormat = .yuv444 },
            name { $0.rateControl = .averageBitRate(1, peak: .unlimited) }, name { $0.temporalLayers = 2 },
            name { $0.bFrames = .maximum(2) }, name { $0.hardware.qualityLevel = 3 },
        ]
        #expect(Set(others + [usual]).count == others.count + 1)
    }

    /// A test encode has bits enough for flat colours, whatever the session has; a level's limit stays.
    @Test func testEncodesHaveBitsEnough() {
        func proof(_ control: RateControl, _ change: (inout EncoderConfiguration) -> Void = { _ in }) -> RateControl {
            var configuration = EncoderConfiguration(width: 640, height: 360)
            configuration.rateControl = control
            change(&configuration)
            return configuration.forProof.rateControl
        }
        // 0.15 bits for each of 30 times 640x360 samples.
        let least = 1_036_800
        let low = RateControl.averageBitRate(100_000, peak: .limit(150_000, window: 2))
        #expect(proof(low) == .averageBitRate(least, peak: .limit(least * 3 / 2, window: 2)))
        #expect(proof(low) { $0.h264Level = H264Level(name: "3") } == low)
        #expect(proof(.averageBitRate(100_000)) == .averageBitRate(least))
        #expect(proof(.constantBitRate(100_000, window: 2)) == .constantBitRate(least, window: 2))
        #expect(proof(.constantBitRate(least + 1)) == .constantBitRate(least + 1))
        #expect(
            proof(.constantQuality(45, peak: .limit(100_000))) == .constantQuality(30, peak: .limit(least))
        )
        #expect(proof(.constantQuantizer(51)) == .constantQuantizer(30))
        #expect(proof(.constantQuantizer(20)) == .constantQuantizer(20))
        var coarse = EncoderConfiguration(width: 640, height: 360)
        coarse.quantizerRange = 40...51
        #expect(coarse.forProof.quantizerRange == 30...51)
    }

    /// The right picture is told from every other one of the sequence, and from itself moved.
    @Test(arguments: [(64, 64), (160, 90), (642, 358), (32, 16)]) func thePatternIsKnown(width: Int, height: Int) throws
    {
        func picture(_ number: Int) throws -> PixelBuffer {
            let buffer = try PixelBuffer(.init(format: .nv12, width: width, height: height))
            try TestPattern.draw(number, into: buffer)
            return buffer
        }
        for number in 0..<16 {
            let buffer = try picture(number)
            for other in 0..<16 {
                let deviation = try TestPattern.deviation(of: buffer, from: other)
                #expect((deviation <= TestPattern.tolerance) == (number == other), "\(number) \(other): \(deviation)")
            }
        }
        // One column of squares further to the right.
        let sheared = try picture(3)
        guard width > 128 else { return }
        try sheared.withPlanes { planes in
            for row in 0..<height {
                let start = planes[0].baseAddress + row * planes[0].bytesPerRow
                start.copyMemory(from: start + 64, byteCount: width - 64)
            }
        }
        #expect(try TestPattern.deviation(of: sheared, from: 3) > TestPattern.tolerance)
    }
}

extension EncoderConfiguration {
    fileprivate mutating func aud() { accessUnitDelimiters = true }
}
