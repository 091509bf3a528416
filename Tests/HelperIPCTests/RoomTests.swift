// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Dispatch
import Foundation
import MediaTypes
import Synchronization
import Testing

@testable import HelperIPC

/// An encoder that gives each frame back as a row of its number, on another thread if that is wanted, and waits for it.
private final class EchoEncoder: EncoderBackend {
    enum Thread: CaseIterable {
        /// The encoder's thread.
        case same
        /// Another one, for which `encode` waits.
        case awaited
        /// Another one, for which `drain` waits.
        case other
    }

    struct Factory: EncoderFactory {
        let thread: Thread
        let byteCount: Int
        var identity: EncoderIdentity { EncoderIdentity(name: "echo", codec: .h264) }
        func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
            EchoEncoder(self, request)
        }
    }

    let properties = FakeHelper.properties
    private let factory: Factory
    private let request: EncoderRequest
    private let collector = DispatchQueue(label: "collector")

    init(_ factory: Factory, _ request: EncoderRequest) {
        self.factory = factory
        self.request = request
    }

    func encode(_ frame: EncoderFrame) throws(MediaError) {
        let byte = UInt8(truncatingIfNeeded: frame.number)
        let data = CodedData(Array(repeating: byte, count: factory.byteCount))
        let coded = CodedFrame(number: frame.number, data: data, isKeyFrame: frame.number == 0, isReference: true)
        let output = request.output
        switch factory.thread {
        case .same: output(.coded(coded))
        case .awaited: collector.sync { output(.coded(coded)) }
        case .other: collector.async { output(.coded(coded)) }
        }
    }

    func update(_ configuration: EncoderConfiguration) throws(MediaError) -> EncoderUpdateOutcome { .done() }
    func drain() throws(MediaError) { collector.sync {} }
}

extension ProcessTests {
    /// Coded frames find room in the ring, whichever thread of the helper waits for it.
    @Suite struct RoomTests {
        private static let frameCount: Int64 = 40

        @Test(arguments: EchoEncoder.Thread.allCases, [100, 700, 1500, 3000, 4096])
        fileprivate func everyFrameFindsRoom(thread: EchoEncoder.Thread, byteCount: Int) throws {
            let sockets = try DescriptorPair.sockets()
            let client = Channel(try Descriptor.duplicate(sockets.near.number), peer: "the helper")
            let far = Channel(try Descriptor.duplicate(sockets.far.number), peer: "the client")
            let factory = EchoEncoder.Factory(thread: thread, byteCount: byteCount)
            let server = EncoderServer(far, HelperServices(encoders: [factory]))
            let serving = DispatchGroup()
            serving.enter()
            Thread.detachNewThread {
                do { try server.run() } catch { Issue.record(error) }
                serving.leave()
            }

            let memory = try SharedMapping.makeMemory(named: "vatoolbox-coded", byteCount: 4096)
            let ring = CodedRing(try SharedMapping(memory, byteCount: 4096, access: .read))
            try client.send(EncoderClientMessage.create(Self.order), descriptor: memory.number)
            try client.send(
                EncoderClientMessage.offer(MemoryOffer(slot: 0, byteCount: 4096)),
                descriptor: memory.number
            )
            var peer = Peer(channel: client, ring: ring, byteCount: byteCount)
            try peer.receive { if case .created = $0 { true } else { false } }
            for number in 0..<Self.frameCount {
                try client.send(EncoderClientMessage.smallFrame(number))
                try peer.receive { message in
                    if case .accepted(number, let released, _) = message { released == [number] } else { false }
                }
            }
            try client.send(EncoderClientMessage.drain)
            try peer.receive { if case .drained = $0 { true } else { false } }
            #expect(peer.frames == Array(0..<Self.frameCount))
            // The ring was used again only because the client was asked.
            #expect(peer.questions > 0)
            try client.send(EncoderClientMessage.close)
            serving.wait()
        }

        /// What a helper says to a client that sends all of these after it has asked for an encoder and waits for nothing.
        private func answers(byteCount: Int, _ messages: [EncoderClientMessage]) throws -> (
            [EncoderHelperMessage], end: MediaError?
        ) {
            let sockets = try DescriptorPair.sockets()
            let client = Channel(try Descriptor.duplicate(sockets.near.number), peer: "the helper")
            let far = Channel(try Descriptor.duplicate(sockets.far.number), peer: "the client")
            let factory = EchoEncoder.Factory(thread: .same, byteCount: byteCount)
            let server = EncoderServer(far, HelperServices(encoders: [factory]))
            let end = Mutex<MediaError?>(nil)
            let serving = DispatchGroup()
            serving.enter()
            Thread.detachNewThread {
                do throws(MediaError) { try server.run() } catch { end.withLock { $0 = error } }
                far.shutDown()
                serving.leave()
            }
            let memory = try SharedMapping.makeMemory(named: "vatoolbox-coded", byteCount: 4096)
            try client.send(EncoderClientMessage.create(Self.order), descriptor: memory.number)
            try client.send(
                EncoderClientMessage.offer(MemoryOffer(slot: 0, byteCount: 4096)),
                descriptor: memory.number
            )
            for message in messages { try client.send(message) }
            var answers: [EncoderHelperMessage] = []
            while let answer = try client.receive(EncoderHelperMessage.self, until: .after(.seconds(60))) {
                answers.append(answer)
            }
            serving.wait()
            return (answers, end.withLock { $0 })
        }

        @Test func aFrameThatIsLargerThanAllRoomIsAnError() throws {
            let (answers, end) = try answers(byteCount: 5000, [.smallFrame(0), .close])
            let errors = answers.compactMap { if case .failed(let error) = $0 { error } else { nil } }
            #expect(errors.count == 1 && errors.first?.code == .frameFailed && errors.first?.given == "5000 bytes")
            #expect(end == nil)
        }

        /// While the helper waits for room nobody takes orders from the heap, which must not grow.
        @Test func ordersWithoutEndAreRefused() throws {
            let drains = Array(repeating: EncoderClientMessage.drain, count: 17)
            let (_, end) = try answers(byteCount: 3000, [.smallFrame(0), .smallFrame(1)] + drains)
            #expect(end?.code == .malformedData && end?.message.contains("without waiting") == true)
            // As many as are allowed are kept, and what ends the wait is the client.
            let (_, other) = try answers(
                byteCount: 3000,
                [.smallFrame(0), .smallFrame(1)] + drains.dropLast() + [.close]
            )
            #expect(other?.code != .malformedData)
        }

        /// A connection is a socket that comes with the message.
        @Test func aConnectionWithoutASocketIsRefused() throws {
            let sockets = try DescriptorPair.sockets()
            let control = Channel(try Descriptor.duplicate(sockets.near.number), peer: "the helper")
            try control.send(ControlOrder.hello(Hello(build: "test")))
            try control.send(ControlOrder.attach(.encoder))
            let far = Channel(try Descriptor.duplicate(sockets.far.number), peer: "the client")
            let server = HelperServer(far, services: HelperServices())
            let error = #expect(throws: MediaError.self) { try server.run() }
            #expect(error?.code == .malformedData)
        }

        private static let order = EncoderOrder(
            encoder: EncoderIdentity(name: "echo", codec: .h264),
            configuration: .small(),
            maximumReorderDepth: nil,
            ringByteCount: 4096
        )

        /// The client's side, as far as the test needs it.
        private struct Peer {
            let channel: Channel
            let ring: CodedRing
            let byteCount: Int
            var frames: [Int64] = []
            var questions = 0

            init(channel: Channel, ring: CodedRing, byteCount: Int) {
                self.channel = channel
                self.ring = ring
                self.byteCount = byteCount
            }

            /// Receives until an answer comes that is as expected.
            mutating func receive(until isExpected: (EncoderHelperMessage) -> Bool) throws {
                while true {
                    let message = try #require(
                        try channel.receive(EncoderHelperMessage.self, until: .after(.seconds(60)))
                    )
                    switch message {
                    case .coded(let notice):
                        let data = try ring.data(offset: notice.offset, byteCount: notice.byteCount, from: "it")
                        let byte = UInt8(truncatingIfNeeded: notice.number)
                        let isWhole = data.withUnsafeBytes { $0.count == byteCount && $0.allSatisfy { $0 == byte } }
                        #expect(isWhole, "frame \(notice.number)")
                        frames.append(notice.number)
                    case .roomWanted:
                        questions += 1
                        try channel.send(EncoderClientMessage.taken(count: UInt64(frames.count)))
                    default:
                        #expect(isExpected(message), "\(message)")
                        return
                    }
                }
            }
        }
    }
}
