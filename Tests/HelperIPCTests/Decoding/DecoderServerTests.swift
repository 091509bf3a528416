// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import HelperIPC

/// What a helper's end of a decoder says about samples that follow each other quickly.
@Suite struct DecoderServerTests {
    /// A decoder without pictures that counts its calls.
    private final class CountingDecoder: DecoderBackend {
        struct Factory: DecoderFactory {
            let identity = DecoderIdentity(name: "counting", codec: .h264)
            let calls: Calls
            /// The sample that it refuses.
            var refused: Int64?

            func makeDecoder(_ request: DecoderRequest) -> any DecoderBackend { CountingDecoder(self) }
        }

        final class Calls: Sendable {
            let samples = Atomic(0)
            let pauses = Atomic(0)
        }

        let properties = DecoderProperties(name: "counting")
        private let factory: Factory

        init(_ factory: Factory) { self.factory = factory }

        func decode(_ sample: DecoderSample) throws(MediaError) {
            if sample.number == factory.refused { throw MediaError(.frameFailed, "refused") }
            factory.calls.samples.add(1, ordering: .relaxed)
        }

        func pause() { factory.calls.pauses.add(1, ordering: .relaxed) }

        func drain() {}
    }

    /// - Returns: What the server answers to messages that are all there when it starts.
    private func answers(
        _ calls: CountingDecoder.Calls = .init(),
        refusing refused: Int64? = nil,
        to messages: [DecoderClientMessage]
    ) throws -> [DecoderHelperMessage] {
        let sockets = try DescriptorPair.sockets()
        let client = Channel(try Descriptor.duplicate(sockets.near.number), peer: "the helper")
        let far = Channel(try Descriptor.duplicate(sockets.far.number), peer: "the client")
        let order = DecoderOrder(
            decoder: DecoderIdentity(name: "counting", codec: .h264),
            formatDescription: EchoPicture(seed: 0).formatDescription,
            isLowLatency: false,
            threadCount: 0,
            devicePictureLimit: 0,
            ringByteCount: 4096
        )
        let memory = try SharedMapping.makeMemory(named: "vatoolbox-samples", byteCount: 4096)
        try client.send(DecoderClientMessage.create(order), descriptor: memory.number)
        for message in messages { try client.send(message) }
        try client.send(DecoderClientMessage.close)
        var services = HelperServices()
        services.decoders = [CountingDecoder.Factory(calls: calls, refused: refused)]
        try DecoderServer(far, services).run()
        far.shutDown()
        var answers: [DecoderHelperMessage] = []
        while let answer = try client.receive(DecoderHelperMessage.self) { answers.append(answer) }
        return answers
    }

    private func samples(_ numbers: Range<Int64>) -> [DecoderClientMessage] {
        numbers.map { number in
            var order = SampleOrder.blank
            (order.number, order.byteCount) = (number, 1)
            return .sample(order)
        }
    }

    /// An answer may be for several samples, but none is missing when another order is answered, and it comes in time for
    /// a client that waits for half of its samples.
    @Test func samplesAreAnsweredInOrder() throws {
        let answers = try answers(to: samples(0..<10) + [.drain])
        var accepted: [Int64] = []
        for answer in answers { if case .accepted(let number) = answer { accepted.append(number) } }
        #expect(accepted == accepted.sorted() && accepted.last == 9)
        for (one, next) in zip([-1] + accepted, accepted) {
            #expect(next - one <= UnansweredOrders<Int64>.limit / 2, "\(accepted)")
        }
        guard case .drained? = answers.last else {
            Issue.record("the last answer is \(String(describing: answers.last))")
            return
        }
    }

    /// A failure is the answer to its own sample.
    @Test func samplesBeforeAFailureAreAnswered() throws {
        let answers = try answers(refusing: 2, to: samples(0..<3))
        guard case .accepted(1)? = answers.dropLast().last, case .callFailed? = answers.last else {
            Issue.record("\(answers)")
            return
        }
    }

    /// A decoder may keep its latest picture while another sample is there.
    @Test func onlyTheLastSampleIsFollowedByAPause() throws {
        let calls = CountingDecoder.Calls()
        _ = try answers(calls, to: samples(0..<6))
        #expect(calls.samples.load(ordering: .relaxed) == 6)
        #expect(calls.pauses.load(ordering: .relaxed) == 1)
    }
}
