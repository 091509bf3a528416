// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Dispatch
import HelperIPC
import MediaTypes
import Synchronization
import TestSupport
import Testing
import VideoDecoding

@testable import VAToolbox

/// Pictures that are decoded again from the samples of a session.
@Suite(.timeLimit(.minutes(60))) struct RepeatableSamplesTests {
    /// A stream of x264 with groups of four pictures.
    private func stream(isOpen: Bool) async throws -> [SampleBuffer] {
        var configuration = EncoderConfiguration(width: 64, height: 48)
        configuration.codec = .h264
        configuration.keyFrameInterval = KeyFrameInterval(frames: 4)
        configuration.allowsOpenGOP = isOpen
        configuration.bFrames = .maximum(2)
        var options = SessionOptions()
        options.policy = .requireSoftware
        let session = try await CompressionSession(configuration: configuration, options: options)
        let samples = Task { [samples = session.samples] in
            var list: [SampleBuffer] = []
            for try await sample in samples { list.append(sample) }
            return list
        }
        for number in 0..<30 {
            let picture = try session.pixelBufferPool.make()
            try picture.withPlanes { planes in
                for row in 0..<48 {
                    let line = planes[0].baseAddress + row * planes[0].bytesPerRow
                    for column in 0..<64 {
                        let value = UInt8(truncatingIfNeeded: (column + 3 * number) * (row + number))
                        line.storeBytes(of: value, toByteOffset: column, as: UInt8.self)
                    }
                }
            }
            try await session.encode(picture, presentationTime: MediaTime(value: Int64(number), timescale: 25))
        }
        try await session.finish()
        return try await samples.value
    }

    private func samples(mostBytes: Int) -> RepeatableSamples {
        RepeatableSamples(mostBytes: mostBytes) { SoftwareDecoderFactory(codec: $0) }
    }

    private func luma(_ picture: PixelBuffer) throws -> [UInt8] {
        try picture.withPlanes { planes in
            (0..<picture.height).flatMap { row in
                let line = planes[0].baseAddress + row * planes[0].bytesPerRow
                return (0..<picture.width).map { line.load(fromByteOffset: $0, as: UInt8.self) }
            }
        }
    }

    private func decode(_ stream: [SampleBuffer]) async throws -> [Int: PixelBuffer] {
        var options = DecompressionOptions()
        options.policy = .requireSoftware
        let session = try await DecompressionSession(
            formatDescription: stream[0].formatDescription,
            options: options
        )
        let frames = Task { [frames = session.frames] in
            var found: [Int: PixelBuffer] = [:]
            for try await frame in frames { found[frame.token as? Int ?? -1] = frame.buffer }
            return found
        }
        for (number, sample) in stream.enumerated() { try await session.decode(sample, token: number) }
        try await session.finish()
        return try await frames.value
    }

    /// A decoder is several groups of pictures behind, and the helper of its pictures is lost.
    @Test(arguments: [false, true]) func picturesComeBackHoweverLateTheyWere(isOpen: Bool) async throws {
        let stream = try await stream(isOpen: isOpen)
        let expected = try await decode(stream)
        #expect(expected.count == 30)
        let points = stream.filter { $0.randomAccess == (isOpen ? .open : .closed) }
        try #require(points.count >= 4)
        var samples = samples(mostBytes: 1 << 20)
        for (number, sample) in stream.enumerated() { samples.add(Int64(number), sample, oldest: 0) }
        for (number, picture) in expected {
            let recovery = try samples.recovery(of: Int64(number))
            #expect(try luma(recovery(picture.pictureDescription)) == luma(picture), "picture \(number)")
        }
    }

    /// All pictures are wished for at once, and the last of each group is the first that is needed.
    @Test(arguments: [false, true]) func picturesOfAGroupComeBackTogether(isOpen: Bool) async throws {
        let stream = try await stream(isOpen: isOpen)
        let expected = try await decode(stream)
        var samples = samples(mostBytes: 1 << 20)
        for (number, sample) in stream.enumerated() { samples.add(Int64(number), sample, oldest: 0) }
        var recoveries: [(number: Int, recovery: RemoteSurface.Recovery)] = []
        for number in expected.keys.sorted() {
            recoveries.append((number, try samples.recovery(of: Int64(number))))
        }
        for (number, recovery) in recoveries.reversed() {
            let picture = try #require(expected[number])
            #expect(try luma(recovery(picture.pictureDescription)) == luma(picture), "picture \(number)")
        }
    }

    @Test(arguments: [false, true]) func groupsAreReleasedWhenTheirPicturesHaveCome(isOpen: Bool) async throws {
        let stream = try await stream(isOpen: isOpen)
        var samples = samples(mostBytes: 1 << 20)
        for (number, sample) in stream.enumerated() {
            samples.add(Int64(number), sample, oldest: max(Int64(number) - 2, 0))
        }
        #expect(throws: MediaError.self) { try samples.recovery(of: 2) }
        _ = try samples.recovery(of: 28)
    }

    /// What precedes the first random access point cannot be decoded again, and it is said why.
    @Test func picturesBeforeTheFirstPointDoNotComeBack() async throws {
        let stream = try await stream(isOpen: false)
        var samples = samples(mostBytes: 1 << 20)
        for (number, sample) in stream.enumerated().dropFirst() { samples.add(Int64(number), sample, oldest: 0) }
        let error = #expect(throws: MediaError.self) { try samples.recovery(of: 1) }
        #expect(error?.message.contains("follows no IDR picture and no open random access point") == true)
        let next = try #require(stream.indices.dropFirst().first { stream[$0].randomAccess == .closed })
        _ = try samples.recovery(of: Int64(next))
    }

    /// The pictures up to the one that is too much come back; those that are there keep their samples.
    @Test func aGroupThatIsTooLargeIsKeptInPart() async throws {
        let stream = try await stream(isOpen: false)
        let expected = try await decode(stream)
        let end = try #require(stream.indices.dropFirst().first { stream[$0].randomAccess == .closed })
        let size = stream[..<end].reduce(0) { $0 + $1.data.count }
        var samples = samples(mostBytes: size - 1)
        samples.add(0, stream[0], oldest: 0)
        var first: RemoteRecovery? = RemoteRecovery(try samples.recovery(of: 0))
        for number in 1..<end { samples.add(Int64(number), stream[number], oldest: 0) }
        let error = #expect(throws: MediaError.self) { try samples.recovery(of: Int64(end - 1)) }
        #expect(error?.message.contains("more than \(size - 1) bytes follow the last random access point") == true)
        let second = RemoteRecovery(try samples.recovery(of: 1))
        for (number, recovery) in [(0, first), (1, second)] {
            let picture = try #require(expected[number])
            #expect(try luma(try #require(recovery).call(picture.pictureDescription)) == luma(picture))
        }
        // As long as one of them is there, others can follow.
        first = nil
        _ = try samples.recovery(of: 0)
        withExtendedLifetime(second) {}
    }

    /// Samples of which nothing can be decoded again take no memory.
    @Test func aGroupThatIsTooLargeIsReleasedWithItsLastPicture() async throws {
        let stream = try await stream(isOpen: false)
        var samples = samples(mostBytes: stream[0].data.count)
        samples.add(0, stream[0], oldest: 0)
        var recovery: RemoteRecovery? = RemoteRecovery(try samples.recovery(of: 0))
        samples.add(1, stream[1], oldest: 0)
        withExtendedLifetime(recovery) {}
        recovery = nil
        #expect(throws: MediaError.self) { try samples.recovery(of: 0) }
    }

    /// Pictures that are presented before an open random access point need the group before.
    @Test func leadingPicturesNeedTheGroupBefore() async throws {
        let stream = try await stream(isOpen: true)
        let points = stream.indices.filter { stream[$0].randomAccess == .open }
        let point = try #require(points.dropFirst().first)
        let time = stream[point].presentationTime
        let leading = try #require(stream.indices.first { $0 > point && stream[$0].presentationTime < time })
        let trailing = try #require(stream.indices.first { $0 > point && stream[$0].presentationTime > time })
        var alone = samples(mostBytes: 1 << 20)
        for number in point..<stream.count { alone.add(Int64(number), stream[number], oldest: Int64(point)) }
        let error = #expect(throws: MediaError.self) { try alone.recovery(of: Int64(leading)) }
        #expect(error?.message.contains("before an open random access point") == true)
        _ = try alone.recovery(of: Int64(trailing))
        // The group before is a part only.
        let previous = try #require(points.last { $0 < point })
        let size = stream[previous..<point].reduce(0) { $0 + $1.data.count }
        var partial = samples(mostBytes: size - 1)
        for number in previous..<stream.count { partial.add(Int64(number), stream[number], oldest: Int64(previous)) }
        #expect(throws: MediaError.self) { try partial.recovery(of: Int64(leading)) }
    }

    /// While a group is decoded again, the session goes on, and others wait for the result.
    @Test func aGroupIsDecodedAgainOnceAndWithoutTheLock() async throws {
        let stream = try await stream(isOpen: false)
        let expected = try await decode(stream)
        let gate = GatedDecoders()
        var samples = RepeatableSamples(mostBytes: 1 << 20) { gate.factory($0) }
        for number in 0..<3 { samples.add(Int64(number), stream[number], oldest: 0) }
        let recoveries = try (0..<3).map { RemoteRecovery(try samples.recovery(of: Int64($0))) }
        let results = Mutex<[Int: [UInt8]]>([:])
        let group = DispatchGroup()
        for number in 0..<3 {
            let picture = try #require(expected[number])
            let recovery = recoveries[number]
            DispatchQueue(label: "wants \(number)").async(group: group) {
                let found = try? self.luma(recovery.call(picture.pictureDescription))
                results.withLock { $0[number] = found }
            }
        }
        #expect(Patience.block { gate.isEntered })
        // Neither waits for the decoder.
        samples.add(3, stream[3], oldest: 0)
        _ = try samples.recovery(of: 3)
        gate.open()
        group.wait()
        for number in 0..<3 {
            #expect(try results.withLock { $0[number] } == luma(try #require(expected[number])))
        }
        #expect(gate.made == 1)
    }

    /// What is told of a picture that cannot be decoded again is told to all who want it, without another attempt.
    @Test func aFailureIsRemembered() async throws {
        let stream = try await stream(isOpen: false)
        let gate = GatedDecoders(fails: true)
        gate.open()
        var samples = RepeatableSamples(mostBytes: 1 << 20) { gate.factory($0) }
        for number in 0..<3 { samples.add(Int64(number), stream[number], oldest: 0) }
        let recoveries = try (0..<3).map { RemoteRecovery(try samples.recovery(of: Int64($0))) }
        let description = PixelBuffer.Description(format: .i420, width: 64, height: 48)
        for recovery in recoveries {
            let error = #expect(throws: MediaError.self) { try recovery.call(description) }
            #expect(error?.message == "a test")
        }
        #expect(gate.made == 1)
    }
}

/// What decodes a picture again, as an object whose end is known.
private final class RemoteRecovery: Sendable {
    private let recovery: RemoteSurface.Recovery

    init(_ recovery: @escaping RemoteSurface.Recovery) { self.recovery = recovery }

    func call(_ description: PixelBuffer.Description) throws(MediaError) -> PixelBuffer { try recovery(description) }
}

/// Decoders whose first call waits for a test.
private final class GatedDecoders: Sendable {
    private struct Factory: DecoderFactory {
        let inner: SoftwareDecoderFactory
        let gate: GatedDecoders
        var identity: DecoderIdentity { inner.identity }

        func makeDecoder(_ request: DecoderRequest) throws(MediaError) -> any DecoderBackend {
            gate.state.withLock { $0 += 1 }
            gate.semaphore.wait()
            gate.semaphore.signal()
            if gate.fails { throw MediaError(.frameFailed, "a test") }
            return try inner.makeDecoder(request)
        }
    }

    private let fails: Bool
    private let semaphore = DispatchSemaphore(value: 0)
    private let state = Mutex(0)

    init(fails: Bool = false) { self.fails = fails }

    var made: Int { state.withLock { $0 } }
    var isEntered: Bool { made > 0 }
    func open() { semaphore.signal() }
    func factory(_ codec: VideoCodec) -> any DecoderFactory {
        Factory(inner: SoftwareDecoderFactory(codec: codec), gate: self)
    }
}
