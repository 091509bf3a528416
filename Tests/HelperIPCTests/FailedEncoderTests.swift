// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import MediaTypes
import Synchronization
import Testing

@testable import HelperIPC

/// What encoders of a test were asked.
private final class Calls: Sendable {
    private let names = Mutex<[String]>([])

    func add(_ name: String) { names.withLock { $0.append(name) } }
    var all: [String] { names.withLock { $0 } }
}

/// An encoder that takes frames and gives none, and fails at one of them.
private final class FailingEncoder: EncoderBackend {
    struct Factory: EncoderFactory {
        let code: MediaError.Code
        let calls: Calls
        var identity: EncoderIdentity { EncoderIdentity(name: "failing", codec: .h264) }
        func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend { FailingEncoder(self) }
    }

    static let failingFrame: Int64 = 2

    let properties = FakeHelper.properties
    private let factory: Factory

    init(_ factory: Factory) { self.factory = factory }

    func encode(_ frame: EncoderFrame) throws(MediaError) {
        factory.calls.add("\(frame.number)")
        if frame.number == Self.failingFrame { throw MediaError(factory.code, "as it should") }
    }

    func update(_ configuration: EncoderConfiguration) throws(MediaError) -> EncoderUpdateOutcome {
        factory.calls.add("update")
        return .done()
    }

    func drain() throws(MediaError) { factory.calls.add("drain") }
}

extension ProcessTests {
    /// Orders that a client has given before it knows that the encoder has failed.
    @Suite struct FailedEncoderTests {
        /// - Returns: What a helper answers to four frames, a change and a drain, given at once, as `ANSWER NUMBER`; and what
        ///   its encoder, which fails at the third frame, was asked.
        private func serve(failure code: MediaError.Code) throws -> (answers: [String], calls: [String]) {
            let sockets = try DescriptorPair.sockets()
            let client = Channel(try Descriptor.duplicate(sockets.near.number), peer: "the helper")
            let far = Channel(try Descriptor.duplicate(sockets.far.number), peer: "the client")
            let calls = Calls()
            let serving = DispatchGroup()
            serving.enter()
            Thread.detachNewThread {
                do {
                    let factory = FailingEncoder.Factory(code: code, calls: calls)
                    try EncoderServer(far, HelperServices(encoders: [factory])).run()
                } catch {
                    Issue.record(error)
                }
                far.shutDown()
                serving.leave()
            }
            let memory = try SharedMapping.makeMemory(named: "vatoolbox-coded", byteCount: 4096)
            let order = EncoderOrder(
                encoder: EncoderIdentity(name: "failing", codec: .h264),
                configuration: .small(),
                maximumReorderDepth: nil,
                ringByteCount: 4096
            )
            try client.send(EncoderClientMessage.create(order), descriptor: memory.number)
            try client.send(
                EncoderClientMessage.offer(MemoryOffer(slot: 0, byteCount: 4096)),
                descriptor: memory.number
            )
            for number: Int64 in 0..<4 { try client.send(EncoderClientMessage.smallFrame(number)) }
            try client.send(EncoderClientMessage.update(.small()))
            try client.send(EncoderClientMessage.drain)
            var (answers, released): ([String], Set<Int64>) = ([], [])
            while answers.count < 7 {
                switch try #require(try client.receive(EncoderHelperMessage.self, until: .after(.seconds(60)))) {
                case .created: answers.append("created")
                case .accepted(let number, let pictures, _):
                    answers.append("accepted \(number)")
                    released.formUnion(pictures)
                case .released(let number): released.insert(number)
                case .callFailed(let error): answers.append("failed \(error.message)")
                case .updated: answers.append("updated")
                case .drained: answers.append("drained")
                case let other: Issue.record("\(other)")
                }
            }
            // Every picture is the client's again, of failed frames too.
            #expect(released == [0, 1, 2, 3])
            try client.send(EncoderClientMessage.close)
            serving.wait()
            return (answers, calls.all)
        }

        @Test func nothingMoreIsAskedOfIt() throws {
            let (answers, calls) = try serve(failure: .frameFailed)
            let failures = Array(repeating: "failed as it should", count: 4)
            #expect(answers == ["created", "accepted 0", "accepted 1"] + failures)
            #expect(calls == ["0", "1", "2"])
            Traces.expectNone()
        }

        @Test func aPictureThatItDidNotConvertIsNoFailure() throws {
            let (answers, calls) = try serve(failure: .conversionFailed)
            let rest = ["failed as it should", "accepted 3", "updated", "drained"]
            #expect(answers == ["created", "accepted 0", "accepted 1"] + rest)
            #expect(calls == ["0", "1", "2", "3", "update", "drain"])
            Traces.expectNone()
        }
    }
}
