// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import Glibc
import MediaTypes
import Synchronization
import Testing

@testable import HelperIPC

/// The frames that an encoder has taken.
private final class TakenFrames: Sendable {
    private let frames = Mutex<[TakenFrame]>([])

    @Sendable func add(_ frame: TakenFrame) { frames.withLock { $0.append(frame) } }
    var all: [TakenFrame] { frames.withLock { $0 } }
}

extension ProcessTests {
    /// A helper that says what cannot be is refused; nothing that it says harms this process.
    @Suite struct LyingHelperTests {
        /// - Parameters:
        ///   - patience: How long the helper may show no sign of work.
        ///   - taken: Takes word of frames whose answers are not waited for; `nil` if they are.
        private func play(
            patience: Duration = .seconds(20),
            taken: (@Sendable (TakenFrame) -> Void)? = nil,
            _ script: @escaping FakeHelper.Script
        ) throws -> Take.Outputs {
            let sockets = try DescriptorPair.sockets()
            let far = try Descriptor.duplicate(sockets.far.number)
            let near = sockets.near.number
            let helper = FakeHelper(far, script: script)
            defer { withExtendedLifetime(helper) {} }
            let control = try DescriptorPair.sockets()
            let host = try HelperHost.adopt(try Descriptor.duplicate(control.near.number))
            var deadlines = RemoteEncoderFactory.Deadlines()
            (deadlines.call, deadlines.creation) = (patience, patience)
            let outputs = Take.Outputs()
            var configuration = EncoderConfiguration.small()
            configuration.bFrames = .off
            var request = EncoderRequest(configuration: configuration, maximumReorderDepth: 2) { outputs.add($0) }
            request.taken = taken
            let identity = EncoderIdentity(name: "fake", codec: .h264)
            let encoder = try RemoteEncoder(identity, request, deadlines) { (handlers) throws(MediaError) in
                #expect(host.reserve(limit: 1))
                return try EncoderLink.start(try Descriptor.duplicate(near), host: host, handlers: handlers)
            }
            var pictures = try Pictures(.shared)
            let frame = EncoderFrame(number: 0, buffer: try pictures.next(0), presentationTime: .zero)
            try encoder.encode(frame)
            try encoder.drain()
            return outputs
        }

        private static func behave(_ helper: FakeHelper) throws {
            try helper.behave()
            try helper.waitForFrame()
            helper.send(FakeHelper.coded(), .accepted(number: 0, copies: 2), .released(number: 0))
            while let message = try helper.receive() { if case .drain = message { helper.send(.drained) } }
        }

        @Test func anHonestOneIsBelieved() throws {
            let outputs = try play(Self.behave)
            #expect(outputs.frames.map(\.number) == [0] && outputs.errors.isEmpty)
            Traces.expectNone()
        }

        @Test func anHonestOneIsBelievedLater() throws {
            let taken = TakenFrames()
            let outputs = try play(taken: taken.add, Self.behave)
            #expect(outputs.frames.map(\.number) == [0] && outputs.errors.isEmpty)
            #expect(taken.all == [TakenFrame(number: 0, copies: 2, isConverted: false)])
            Traces.expectNone()
        }

        /// The frame's own error is what counts, whatever is said of the drain: a helper with other encoders in it stays.
        @Test func aFrameThatFailedIsNoLie() throws {
            let failure = MediaError(.frameFailed, "the frame's own")
            let error = #expect(throws: MediaError.self) {
                try play(taken: TakenFrames().add) { helper in
                    try helper.behave()
                    try helper.waitForFrame()
                    helper.send(.callFailed(failure))
                    while let message = try helper.receive() { if case .drain = message { helper.send(.drained) } }
                }
            }
            #expect(error == failure)
            Traces.expectNone()
        }

        /// Only this side knows whether a picture is lost: a frame would be given up, and the encoder kept.
        @Test(arguments: [false, true]) func aPictureThatAHelperSaysIsLostIsAFailure(isWaitedFor: Bool) throws {
            let taken: (@Sendable (TakenFrame) -> Void)? = isWaitedFor ? nil : TakenFrames().add
            let error = #expect(throws: MediaError.self) {
                try play(taken: taken) { helper in
                    try helper.behave()
                    try helper.waitForFrame()
                    helper.send(.callFailed(MediaError(.pictureLost, "it says")))
                    while let message = try helper.receive() { if case .drain = message { helper.send(.drained) } }
                }
            }
            #expect(error?.code == .frameFailed && error?.message == "it says")
            Traces.expectNone()
        }

        private static let lies: [Lie<EncoderMessages>] = [
            Lie(frame: "a frame behind the ring", FakeHelper.coded(offset: 1 << 20, byteCount: 1)),
            Lie(frame: "a frame that ends behind the ring", FakeHelper.coded(offset: (1 << 20) - 1, byteCount: 2)),
            Lie(frame: "a frame before the ring", FakeHelper.coded(offset: -1, byteCount: 1)),
            Lie(frame: "a frame of negative length", FakeHelper.coded(offset: 8, byteCount: -8)),
            Lie(frame: "a frame of endless length", FakeHelper.coded(offset: 1, byteCount: .max)),
            Lie(frame: "an unknown frame", FakeHelper.coded(7)),
            Lie(frame: "a frame twice", FakeHelper.coded(), FakeHelper.coded()),
            Lie(
                frame: "another size",
                FakeHelper.coded(
                    format: FormatDescription(codec: .h264, width: 98, height: 64, parameterSets: [[0x67]])
                )
            ),
            Lie(
                frame: "another codec",
                FakeHelper.coded(
                    format: FormatDescription(codec: .hevc, width: 96, height: 64, parameterSets: [[0x67]])
                )
            ),
            Lie(frame: "a picture that it has not", .released(number: 7)),
            Lie(frame: "a picture twice", .released(number: 0), .released(number: 0)),
            Lie(frame: "a picture that it has not, with an answer", .accepted(number: 0, released: [7])),
            Lie(frame: "a picture twice with an answer", .accepted(number: 0, released: [0, 0])),
            Lie(frame: "the answer to another frame", .accepted(number: 1)),
            Lie(frame: "the answer to another order", .drained),
            Lie(frame: "two answers", .accepted(number: 0), .accepted(number: 0), .accepted(number: 0)),
            Lie("drained without the frame") { helper in
                try helper.behave()
                try helper.waitForFrame()
                helper.send(.accepted(number: 0))
                while let message = try helper.receive() { if case .drain = message { helper.send(.drained) } }
            },
            Lie(properties: "a reorder depth beyond every codec's") { $0.reorderDepth = 17 },
            Lie(properties: "a negative reorder depth") { $0.reorderDepth = -1 },
            Lie(properties: "an endless delay") { $0.maximumDelay = .max },
            Lie(properties: "no pixel format") { $0.pixelFormats = [] },
            Lie(properties: "video of another size") {
                $0.formatDescription = FormatDescription(codec: .h264, width: 96, height: 32, parameterSets: [[1]])
            },
            Lie("another version") { helper in
                var bytes = try EncoderHelperMessage.drained.bytes(sequence: 0)
                bytes[4] += 1
                helper.send(raw: bytes)
                while try helper.receive() != nil {}
            },
            Lie("noise") { helper in
                helper.send(raw: Array(repeating: 0x5A, count: 1000))
                while try helper.receive() != nil {}
            },
            Lie("a message that was not asked for") { helper in
                helper.send(.accepted(number: 0), .drained, .drained)
                while try helper.receive() != nil {}
            },
        ]

        @Test(arguments: lies, [true, false]) func aLieIsRefused(lie: Lie<EncoderMessages>, isWaitedFor: Bool) throws {
            let taken: (@Sendable (TakenFrame) -> Void)? = isWaitedFor ? nil : TakenFrames().add
            let error = #expect(throws: MediaError.self) { try play(taken: taken, lie.script) }
            #expect(error?.code == .malformedData, "\(error.map { "\($0)" } ?? "")")
            Traces.expectNone()
        }

        private static let chatter: [Lie<EncoderMessages>] = [
            Lie("failures instead of an encoder") { helper in
                _ = try helper.receive()
                helper.repeatForever(.failed(MediaError(.frameFailed, "again")))
            },
            Lie("room instead of a frame") { helper in
                try helper.behave()
                try helper.waitForFrame()
                helper.repeatForever(.roomWanted)
            },
            Lie("room instead of the end") { helper in
                try helper.behave()
                try helper.waitForFrame()
                helper.send(.accepted(number: 0))
                helper.repeatForever(.roomWanted)
            },
            Lie("a picture of nobody's after a failure") { helper in
                try helper.behave()
                try helper.waitForFrame()
                helper.send(.accepted(number: 0), .failed(MediaError(.frameFailed, "once")))
                helper.repeatForever(.released(number: 0))
            },
            Lie("frames after a failure") { helper in
                try helper.behave()
                try helper.waitForFrame()
                helper.send(.accepted(number: 0), .failed(MediaError(.frameFailed, "once")))
                helper.repeatForever(FakeHelper.coded())
            },
        ]

        /// What can be said for ever is no sign of work.
        @Test(arguments: chatter, [true, false]) func whoOnlyTalksIsEnded(lie: Lie<EncoderMessages>, isWaitedFor: Bool)
            throws
        {
            let taken: (@Sendable (TakenFrame) -> Void)? = isWaitedFor ? nil : TakenFrames().add
            let error = #expect(throws: MediaError.self) {
                try play(patience: .milliseconds(500), taken: taken, lie.script)
            }
            #expect([.deadlineExceeded, .frameFailed].contains(error?.code), "\(error.map { "\($0)" } ?? "")")
            Traces.expectNone()
        }

        @Test func theVersionIsNamed() {
            let error = #expect(throws: MediaError.self) {
                try play { helper in
                    var bytes = try EncoderHelperMessage.drained.bytes(sequence: 0)
                    bytes[4] = UInt8(HelperProtocol.version + 1)
                    helper.send(raw: bytes)
                    while try helper.receive() != nil {}
                }
            }
            let expected =
                "version of the protocol at byte 4 is \(HelperProtocol.version + 1), expected \(HelperProtocol.version)"
            #expect(error?.message.contains(expected) == true)
        }

        /// Whether the answer or the end is seen first: somebody is told, without another order.
        @Test func aHelperThatAnswersAndLeavesIsTold() throws {
            for _ in 0..<200 {
                let outputs = Take.Outputs()
                var thrown: MediaError?
                do throws(MediaError) {
                    try giveOneFrame(outputs) { helper in
                        try helper.behave()
                        try helper.waitForFrame()
                        helper.send(.accepted(number: 0))
                    }
                } catch {
                    thrown = error
                }
                if thrown == nil { outputs.waitForError() }
                #expect(outputs.errors.count + (thrown == nil ? 0 : 1) == 1)
            }
            Traces.expectNone()
        }

        /// Encodes one frame, and keeps the encoder until the output has an error or time has passed.
        private func giveOneFrame(
            _ outputs: Take.Outputs,
            _ script: @escaping FakeHelper.Script
        ) throws(MediaError) {
            let sockets = try DescriptorPair.sockets()
            let control = try DescriptorPair.sockets()
            let helper = FakeHelper(try Descriptor.duplicate(sockets.far.number)) { helper in
                try script(helper)
                shutdown(control.far.number, Int32(SHUT_RDWR))
            }
            defer { withExtendedLifetime(helper) {} }
            let near = sockets.near.number
            let host = try HelperHost.adopt(try Descriptor.duplicate(control.near.number))
            let request = EncoderRequest(configuration: .small(), maximumReorderDepth: 2) { outputs.add($0) }
            let encoder = try RemoteEncoder(.init(name: "fake", codec: .h264), request, .init()) {
                (handlers) throws(MediaError) in
                #expect(host.reserve(limit: 1))
                return try EncoderLink.start(try Descriptor.duplicate(near), host: host, handlers: handlers)
            }
            let picture: PixelBuffer
            do {
                var pictures = try Pictures(.shared)
                picture = try pictures.next(0)
            } catch {
                throw MediaError(.invalidState, "no picture: \(error)")
            }
            try encoder.encode(EncoderFrame(number: 0, buffer: picture, presentationTime: .zero))
            outputs.waitForError()
        }

        @Test func aHelperThatLeavesIsTold() {
            let error = #expect(throws: MediaError.self) { try play { helper in try helper.behave() } }
            #expect(error?.message == "the helper process closed its connection")
            Traces.expectNone()
        }
    }
}

extension ProcessTests {
    /// What a client says that cannot be ends the helper with an error, and nothing else.
    @Suite struct LyingClientTests {
        private struct NoFactory: EncoderFactory {
            var identity: EncoderIdentity { EncoderIdentity(name: "none", codec: .h264) }
            func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
                throw MediaError(.unsupported, "refused")
            }
        }

        /// - Parameter speak: What the client says.
        private func serve(_ speak: (Channel) throws -> Void) throws {
            let sockets = try DescriptorPair.sockets()
            let client = Channel(try Descriptor.duplicate(sockets.near.number), peer: "the helper")
            let far = Channel(try Descriptor.duplicate(sockets.far.number), peer: "the client")
            try speak(client)
            try EncoderServer(far, HelperServices(encoders: [NoFactory()])).run()
        }

        private func refuses(_ what: String, _ speak: (Channel) throws -> Void) {
            let error = #expect(throws: MediaError.self, "\(what)") { try serve(speak) }
            #expect(error?.code == .malformedData, "\(what): \(error.map { "\($0)" } ?? "")")
        }

        private let order = EncoderOrder(
            encoder: EncoderIdentity(name: "none", codec: .h264),
            configuration: .small(),
            maximumReorderDepth: nil,
            ringByteCount: 4096
        )

        private func frame(slot: UInt32, _ planes: [PlaneLayout], width: Int = 16) -> EncoderClientMessage {
            .frame(
                FrameOrder(
                    number: 0,
                    picture: PixelBuffer.Description(format: .nv12, width: width, height: 16),
                    place: .memory(slot: slot, planes: planes),
                    presentationTime: .zero,
                    duration: .invalid,
                    options: .init()
                )
            )
        }

        @Test func anHonestClientIsServed() throws {
            try serve { client in
                let memory = try SharedMapping.makeMemory(named: "vatoolbox-coded", byteCount: 4096)
                try client.send(EncoderClientMessage.create(order), descriptor: memory.number)
                try client.send(
                    EncoderClientMessage.offer(MemoryOffer(slot: 0, byteCount: 4096)),
                    descriptor: memory.number
                )
                try client.send(EncoderClientMessage.forget(slot: 0))
                try client.send(EncoderClientMessage.taken(count: 0))
                try client.send(EncoderClientMessage.close)
            }
            Traces.expectNone()
        }

        @Test func memoryIsChecked() throws {
            let pipe = try DescriptorPair.pipe()
            refuses("a pipe") { client in
                try client.send(EncoderClientMessage.create(order), descriptor: pipe.near.number)
            }
            let small = try SharedMapping.makeMemory(named: "vatoolbox-coded", byteCount: 100)
            refuses("too small") { client in
                try client.send(EncoderClientMessage.create(order), descriptor: small.number)
            }
            // A file can be cut off whenever its owner likes, and touching what was cut off would kill a process.
            let file = try #require(tmpfile())
            defer { fclose(file) }
            #expect(ftruncate(fileno(file), 8192) == 0)
            refuses("a plain file") { client in
                try client.send(EncoderClientMessage.create(order), descriptor: fileno(file))
            }
            for byteCount in [0, -1, 101, .max] {
                refuses("\(byteCount) bytes") { client in
                    let offer = MemoryOffer(slot: 0, byteCount: byteCount)
                    try client.send(EncoderClientMessage.offer(offer), descriptor: small.number)
                }
            }
            refuses("a slot twice") { client in
                let offer = EncoderClientMessage.offer(MemoryOffer(slot: 0, byteCount: 100))
                try client.send(offer, descriptor: small.number)
                try client.send(offer, descriptor: small.number)
            }
            refuses("an empty slot") { client in try client.send(EncoderClientMessage.forget(slot: 0)) }
        }

        @Test func picturesLieInTheirMemory() throws {
            let memory = try SharedMapping.makeMemory(named: "vatoolbox-coded", byteCount: 384)
            let layouts: [[PlaneLayout]] = [
                [], [PlaneLayout(offset: 0, bytesPerRow: 16)],
                [PlaneLayout(offset: 0, bytesPerRow: 16), PlaneLayout(offset: 257, bytesPerRow: 16)],
                [PlaneLayout(offset: -1, bytesPerRow: 16), PlaneLayout(offset: 256, bytesPerRow: 16)],
                [PlaneLayout(offset: .max, bytesPerRow: 16), PlaneLayout(offset: 256, bytesPerRow: 16)],
                [PlaneLayout(offset: 0, bytesPerRow: 15), PlaneLayout(offset: 256, bytesPerRow: 16)],
                [PlaneLayout(offset: 0, bytesPerRow: .max), PlaneLayout(offset: 256, bytesPerRow: 16)],
                [PlaneLayout(offset: 0, bytesPerRow: -16), PlaneLayout(offset: 256, bytesPerRow: 16)],
            ]
            for planes in layouts {
                refuses("\(planes)") { client in
                    let offer = MemoryOffer(slot: 3, byteCount: 384)
                    try client.send(EncoderClientMessage.offer(offer), descriptor: memory.number)
                    try client.send(frame(slot: 3, planes))
                }
            }
            refuses("no memory") { client in try client.send(frame(slot: 3, layouts[2])) }
        }

        /// Makes encoders that take what they are given.
        private struct TrustingFactory: EncoderFactory {
            var identity: EncoderIdentity { EncoderIdentity(name: "none", codec: .h264) }
            func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
                #expect(request.maximumReorderDepth ?? 0 >= 0)
                return TrustingEncoder()
            }
        }

        private final class TrustingEncoder: EncoderBackend {
            let properties = FakeHelper.properties
            func encode(_ frame: EncoderFrame) {}
            func update(_ configuration: EncoderConfiguration) -> EncoderUpdateOutcome {
                #expect((try? configuration.validated(for: .h264)) != nil)
                return .done()
            }
            func drain() {}
        }

        /// - Returns: What a helper answers to two orders.
        private func answers(_ first: EncoderOrder, _ second: EncoderClientMessage) throws -> [EncoderHelperMessage] {
            let sockets = try DescriptorPair.sockets()
            let client = Channel(try Descriptor.duplicate(sockets.near.number), peer: "the helper")
            let far = Channel(try Descriptor.duplicate(sockets.far.number), peer: "the client")
            let thread = Thread {
                try? EncoderServer(far, HelperServices(encoders: [TrustingFactory()])).run()
                far.shutDown()
            }
            thread.start()
            let memory = try SharedMapping.makeMemory(named: "vatoolbox-coded", byteCount: 4096)
            try client.send(EncoderClientMessage.create(first), descriptor: memory.number)
            try client.send(second)
            var answers: [EncoderHelperMessage] = []
            while answers.count < 2,
                let answer = try client.receive(EncoderHelperMessage.self, until: .after(.seconds(20)))
            {
                answers.append(answer)
            }
            client.shutDown()
            return answers
        }

        @Test func encodersAreGivenOnlyWhatIsValid() throws {
            var changed = EncoderConfiguration.small()
            changed.frameRate = Rational(30, 0)
            let updated = try answers(order, .update(changed))
            guard updated.count == 2, case .created = updated[0], case .callFailed(let error) = updated[1] else {
                Issue.record("\(updated)")
                return
            }
            #expect(error.code == .invalidArgument)
            var deep = order
            deep.maximumReorderDepth = -1
            guard case .refused(let refusal) = try answers(deep, .drain).first else {
                Issue.record("an encoder with a negative reorder depth")
                return
            }
            #expect(refusal.code == .invalidArgument)
            Traces.expectNone()
        }

        @Test func ordersNeedAnEncoder() throws {
            refuses("drain") { client in
                try client.send(EncoderClientMessage.drain)
            }
        }

        @Test func whatIsTakenWasThere() throws {
            let memory = try SharedMapping.makeMemory(named: "vatoolbox-coded", byteCount: 4096)
            refuses("taken") { client in
                try client.send(EncoderClientMessage.create(order), descriptor: memory.number)
                try client.send(EncoderClientMessage.taken(count: 1))
            }
        }
    }
}
