// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import CLinux
import Foundation
import Glibc
import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import HelperIPC

/// A helper with a decoder.
private typealias FakeDecoder = FakePeer<DecoderMessages>

extension FakePeer<DecoderMessages> {
    fileprivate static var shape: PictureShape { PictureShape(format: .nv12, width: 32, height: 16) }

    /// What an honest helper says until the first sample.
    fileprivate func behave(threadCount: Int = 1) throws {
        _ = try receive()
        send(.created(DecoderProperties(name: "fake", threadCount: threadCount)))
        while let message = try receive() { if case .sample = message { return } }
    }

    /// Asks for memory, and returns the first slot.
    fileprivate func askForSlots(_ shape: PictureShape = shape, count: Int = 3) throws -> UInt32 {
        send(.slotAwaited(shape))
        var slots: [UInt32] = []
        while slots.count < count, let message = try receive() {
            if case .offer(let offer) = message { slots.append(offer.slot) }
        }
        return slots.first ?? .max
    }

    fileprivate static func picture(
        _ number: Int64 = 0,
        slot: UInt32,
        format: PixelFormat = .nv12,
        width: Int = 32,
        height: Int = 16
    ) -> DecoderHelperMessage {
        let picture = PixelBuffer.Description(format: format, width: width, height: height)
        return .picture(PictureNotice(number: number, slot: slot, picture: picture, isDamaged: false))
    }

    fileprivate static func devicePicture(
        _ number: Int64,
        id: UInt64,
        device: String = "/dev/dri/renderD128"
    ) -> DecoderHelperMessage {
        let picture = PixelBuffer.Description(format: .nv12, width: 32, height: 16)
        return .devicePicture(
            DevicePictureNotice(number: number, id: id, device: device, picture: picture, isDamaged: false)
        )
    }

    fileprivate func listen() throws { while try receive() != nil {} }
}

extension Lie<DecoderMessages> {
    /// Messages instead of an answer to the first sample.
    fileprivate init(sample name: String, _ messages: DecoderHelperMessage...) {
        self.init(name) { helper in
            try helper.behave()
            for message in messages { helper.send(message) }
            try helper.listen()
        }
    }

    /// Messages about the first slot.
    fileprivate init(
        slot name: String,
        _ messages: @escaping @Sendable (UInt32) -> [DecoderHelperMessage]
    ) {
        self.init(name) { helper in
            try helper.behave()
            for message in messages(try helper.askForSlots()) { helper.send(message) }
            try helper.listen()
        }
    }
}

extension ProcessTests {
    /// A decoder's helper that says what cannot be is refused; nothing that it says harms this process.
    @Suite struct LyingDecoderTests {
        private func play(
            patience: Duration = .seconds(20),
            device: String? = nil,
            devicePictures: Int = 0,
            samples: Int64 = 1,
            beforeTheEnd prepare: (DecoderLink) -> Void = { _ in },
            _ script: @escaping FakePeer<DecoderMessages>.Script
        ) throws -> DecoderOutputs {
            let sockets = try DescriptorPair.sockets()
            let near = sockets.near.number
            let helper = FakeDecoder(try Descriptor.duplicate(sockets.far.number), script: script)
            defer { withExtendedLifetime(helper) {} }
            let control = try DescriptorPair.sockets()
            let host = try HelperHost.adopt(try Descriptor.duplicate(control.near.number))
            var options = RemoteDecoderFactory.Options()
            (options.deadlines.call, options.deadlines.creation) = (patience, patience)
            options.pictureLimit = 3
            let outputs = DecoderOutputs()
            let picture = EchoPicture(seed: 0)
            let request = DecoderRequest(
                formatDescription: picture.formatDescription,
                devicePictureLimit: devicePictures
            ) { outputs.add($0) }
            let identity = DecoderIdentity(name: "fake", codec: .h264, device: device)
            var link: DecoderLink?
            let decoder = try RemoteDecoder(identity, request, options) { (handlers) throws(MediaError) in
                #expect(host.reserve(limit: 1))
                let new = try DecoderLink.start(try Descriptor.duplicate(near), host: host, handlers: handlers)
                link = new
                return new
            }
            for number in 0..<samples { try decoder.decode(picture.sample(number)) }
            try decoder.drain()
            if let link { prepare(link) }
            return outputs
        }

        @Test func anHonestOneIsBelieved() throws {
            let outputs = try play { helper in
                var (isReturned, isDrained) = (false, false)
                try helper.behave()
                helper.send(.slotAwaited(FakeDecoder.shape))
                while let message = try helper.receive() {
                    switch message {
                    case .offer(let offer) where offer.slot == 2:
                        helper.send(FakeDecoder.picture(slot: offer.slot))
                        helper.send(.damaged(number: 0, MediaError(.malformedData, "it")), .accepted(number: 0))
                        isReturned = true
                    case .drain: isDrained = true
                    default: continue
                    }
                    if isReturned, isDrained { helper.send(.drained) }
                }
            }
            #expect(outputs.takeAll().map(\.number) == [0] && outputs.damaged == [0] && outputs.errors.isEmpty)
            Traces.expectNone()
        }

        /// A helper that does not read when a decoder is released still learns of it by a message, and not by the end of the
        /// connection, which would cost the pictures that orders to encoders name.
        @Test func theLastMessageIsNotLost() throws {
            let isReleased = DispatchSemaphore(value: 0)
            let isEnded = DispatchSemaphore(value: 0)
            let isTold = Mutex(false)
            var outputs: DecoderOutputs? = try play(
                device: "/dev/dri/renderD128",
                devicePictures: 1,
                beforeTheEnd: { link in while link.sendIfPossible(.drain) {} }
            ) { helper in
                defer { isEnded.signal() }
                try helper.behave()
                helper.send(FakeDecoder.devicePicture(0, id: 0), .accepted(number: 0))
                _ = try helper.receive()
                helper.send(.drained)
                isReleased.wait()
                while let message = try helper.receive() {
                    if case .close = message {
                        isTold.withLock { $0 = true }
                        return
                    }
                }
            }
            isReleased.signal()
            isEnded.wait()
            #expect(isTold.withLock { $0 })
            #expect(outputs?.takeAll().count == 1)
            outputs = nil
            Traces.expectNone()
        }

        private static let lies: [Lie<DecoderMessages>] = [
            Lie(sample: "a picture in no memory", FakeDecoder.picture(slot: 0)),
            Lie(sample: "damage of no sample", .damaged(number: 1, MediaError(.malformedData, "it"))),
            Lie(sample: "the answer to another sample", .accepted(number: 1)),
            Lie(sample: "the answer to another order", .drained),
            Lie(sample: "two answers", .accepted(number: 0), .accepted(number: 0), .accepted(number: 0)),
            Lie(sample: "a second decoder", .created(DecoderProperties(name: "fake"))),
            Lie(sample: "a shape of no size", .slotAwaited(PictureShape(format: .nv12, width: 0, height: 16))),
            Lie(sample: "a negative shape", .slotAwaited(PictureShape(format: .nv12, width: 32, height: -16))),
            Lie(sample: "an endless shape", .slotAwaited(PictureShape(format: .nv12, width: .max, height: .max))),
            Lie(sample: "a huge shape", .slotAwaited(PictureShape(format: .nv12, width: 32768, height: 32768))),
            Lie(
                sample: "memory twice",
                .slotAwaited(FakeDecoder.shape),
                .slotAwaited(PictureShape(format: .i420, width: 32, height: 16))
            ),
            Lie(sample: "a picture on a device, which was not asked for", FakeDecoder.devicePicture(0, id: 0)),
            Lie(slot: "an unknown picture") { [FakeDecoder.picture(7, slot: $0)] },
            Lie(slot: "a picture twice") { [FakeDecoder.picture(slot: $0), FakeDecoder.picture(slot: $0 + 1)] },
            Lie(slot: "another size") { [FakeDecoder.picture(slot: $0, width: 34)] },
            Lie(slot: "another format") { [FakeDecoder.picture(slot: $0, format: .i420)] },
            Lie(slot: "another slot") { [FakeDecoder.picture(slot: $0 + 100)] },
            Lie("more threads than there can be") { helper in
                try helper.behave(threadCount: 1 << 20)
                try helper.listen()
            },
            Lie("memory that it sealed") { helper in
                try helper.behave()
                helper.send(.slotAwaited(FakeDecoder.shape))
                var descriptor: Descriptor?
                var isSealed = false
                while let message = try helper.channel.receive(DecoderClientMessage.self, descriptor: &descriptor) {
                    guard case .offer(let offer) = message, !isSealed, let memory = descriptor.take() else { continue }
                    isSealed = linux_seal_size(memory.number) == 0
                    helper.send(FakeDecoder.picture(slot: offer.slot))
                }
            },
            Lie("the messages of an encoder") { helper in
                try helper.behave()
                helper.send(raw: try EncoderHelperMessage.drained.bytes(sequence: 1))
                try helper.listen()
            },
            Lie("noise") { helper in
                try helper.behave()
                helper.send(raw: Array(repeating: 0x5A, count: 1000))
                try helper.listen()
            },
        ]

        @Test(arguments: lies) func aLieIsRefused(lie: Lie<DecoderMessages>) throws {
            let error = #expect(throws: MediaError.self) { try play(lie.script) }
            #expect(error?.code == .malformedData, "\(error.map { "\($0)" } ?? "")")
            Traces.expectNone()
        }

        /// What a helper says that may leave two pictures on `/dev/dri/renderD128`, and what is told of it.
        private static let deviceLies: [(lie: Lie<DecoderMessages>, complaint: String)] = [
            (
                Lie(
                    sample: "more pictures than it may leave there",
                    FakeDecoder.devicePicture(0, id: 0),
                    FakeDecoder.devicePicture(1, id: 1),
                    FakeDecoder.devicePicture(2, id: 2)
                ), "left more than 2 pictures on the device"
            ),
            (
                Lie(
                    sample: "two pictures with a number",
                    FakeDecoder.devicePicture(0, id: 7),
                    FakeDecoder.devicePicture(1, id: 7)
                ), "left two pictures with the same number on the device"
            ),
            (
                Lie(sample: "the last of all numbers", FakeDecoder.devicePicture(0, id: .max)),
                "left two pictures with the same number on the device"
            ),
            (
                Lie(sample: "another device", FakeDecoder.devicePicture(0, id: 0, device: "/dev/dri/renderD129")),
                "left a picture on another device than /dev/dri/renderD128"
            ),
            (
                Lie(sample: "a picture of no sample", FakeDecoder.devicePicture(9, id: 0)),
                "returned a picture of a sample that it did not have"
            ),
        ]

        @Test(arguments: deviceLies.indices) func aLieAboutADeviceIsRefused(index: Int) throws {
            let (lie, complaint) = Self.deviceLies[index]
            let error = #expect(throws: MediaError.self) {
                try play(device: "/dev/dri/renderD128", devicePictures: 2, samples: 2, lie.script)
            }
            #expect(
                error?.code == .malformedData && error?.message.contains(complaint) == true,
                "\(lie): \(error as Any)"
            )
            Traces.expectNone()
        }

        private static let chatter: [Lie<DecoderMessages>] = [
            Lie("damage instead of an answer") { helper in
                try helper.behave()
                helper.repeatForever(.damaged(number: 0, MediaError(.malformedData, "again")))
            },
            Lie("a wait for memory that is there") { helper in
                try helper.behave()
                helper.send(.slotAwaited(FakeDecoder.shape))
                try helper.listen()
            },
            Lie("damage instead of the end") { helper in
                try helper.behave()
                helper.send(.accepted(number: 0))
                helper.repeatForever(.damaged(number: 0, MediaError(.malformedData, "again")))
            },
            Lie("pictures after a failure") { helper in
                try helper.behave()
                helper.send(.accepted(number: 0), .failed(MediaError(.frameFailed, "once")))
                helper.repeatForever(FakeDecoder.picture(slot: 0))
            },
        ]

        /// What can be said for ever is no sign of work.
        @Test(arguments: chatter) func whoOnlyTalksIsEnded(lie: Lie<DecoderMessages>) throws {
            let error = #expect(throws: MediaError.self) { try play(patience: .milliseconds(500), lie.script) }
            #expect([.deadlineExceeded, .frameFailed].contains(error?.code), "\(error.map { "\($0)" } ?? "")")
            Traces.expectNone()
        }

        /// Whatever a helper says, in whatever order, a call ends, and nothing is left.
        @Test(arguments: 0..<20) func nonsenseIsSurvived(seed: UInt64) throws {
            let script: FakePeer<DecoderMessages>.Script = { helper in
                var random = SeededGenerator(seed: 900 + seed)
                try helper.behave()
                var slot: UInt32 = 0
                for _ in 0..<60 {
                    switch Int.random(in: 0..<8, using: &random) {
                    case 0: slot = try helper.askForSlots(count: 1)
                    case 1: helper.send(FakeDecoder.picture(.random(in: -1...2, using: &random), slot: slot))
                    case 2: helper.send(.accepted(number: .random(in: 0...1, using: &random)))
                    case 3: helper.send(.damaged(number: 0, random.error()))
                    case 4: helper.send(.drained)
                    case 5: slot = .random(in: 0...8, using: &random)
                    case 6: helper.send(.slotAwaited(random.shape()))
                    default: helper.send(random.one(of: random.decoderHelperMessages()))
                    }
                }
            }
            _ = try? play(patience: .milliseconds(300), script)
            Traces.expectNone()
        }
    }
}

extension ProcessTests {
    /// What a decoder's client says that cannot be ends the connection with an error, and nothing else.
    @Suite struct LyingDecoderClientTests {
        private let order = DecoderOrder(
            decoder: DecoderIdentity(name: "echo", codec: .h264),
            formatDescription: EchoPicture(seed: 0).formatDescription,
            isLowLatency: false,
            threadCount: 0,
            devicePictureLimit: 4,
            ringByteCount: 4096
        )

        /// - Parameter speak: What the client says.
        private func serve(_ speak: (Channel) throws -> Void) throws {
            let sockets = try DescriptorPair.sockets()
            let client = Channel(try Descriptor.duplicate(sockets.near.number), peer: "the helper")
            let far = Channel(try Descriptor.duplicate(sockets.far.number), peer: "the client")
            try speak(client)
            var services = HelperServices()
            services.decoders = [EchoDecoder.Factory("echo")]
            try DecoderServer(far, services).run()
        }

        private func refuses(_ what: String, _ speak: (Channel) throws -> Void) {
            let error = #expect(throws: MediaError.self, "\(what)") { try serve(speak) }
            #expect(error?.code == .malformedData, "\(what): \(error.map { "\($0)" } ?? "")")
        }

        private func create(_ client: Channel) throws {
            let memory = try SharedMapping.makeMemory(named: "vatoolbox-samples", byteCount: 4096)
            try client.send(DecoderClientMessage.create(order), descriptor: memory.number)
        }

        private func sample(offset: Int, byteCount: Int, _ format: FormatDescription? = nil) -> DecoderClientMessage {
            var order = SampleOrder.blank
            (order.offset, order.byteCount, order.formatDescription) = (offset, byteCount, format)
            return .sample(order)
        }

        private func offer(
            _ slot: UInt32 = 0,
            byteCount: Int = 768,
            _ planes: [PlaneLayout] = [
                PlaneLayout(offset: 0, bytesPerRow: 32), PlaneLayout(offset: 512, bytesPerRow: 32),
            ]
        ) -> DecoderClientMessage {
            let shape = PictureShape(format: .nv12, width: 32, height: 16)
            return .offer(SlotOffer(slot: slot, shape: shape, byteCount: byteCount, planes: planes))
        }

        @Test func anHonestClientIsServed() throws {
            try serve { client in
                try create(client)
                let memory = try SharedMapping.makeMemory(named: "vatoolbox-decoded", byteCount: 768, allowsSeals: true)
                try client.send(offer(), descriptor: memory.number)
                try client.send(DecoderClientMessage.forget(slot: 0))
                try client.send(DecoderClientMessage.drain)
                try client.send(DecoderClientMessage.close)
            }
            Traces.expectNone()
        }

        @Test func samplesLieInTheirMemory() {
            for (offset, byteCount) in [(-1, 1), (0, 4097), (4096, 1), (4095, 2), (1, .max), (.max, 1), (8, -8)] {
                refuses("\(byteCount) bytes at \(offset)") { client in
                    try create(client)
                    try client.send(sample(offset: offset, byteCount: byteCount))
                }
            }
            refuses("another codec") { client in
                try create(client)
                let other = FormatDescription(codec: .hevc, width: 32, height: 16, parameterSets: [])
                try client.send(sample(offset: 0, byteCount: 1, other))
            }
            Traces.expectNone()
        }

        @Test func memoryIsChecked() throws {
            let pipe = try DescriptorPair.pipe()
            refuses("a pipe") { client in
                try client.send(DecoderClientMessage.create(order), descriptor: pipe.near.number)
            }
            refuses("a pipe for larger samples") { client in
                try create(client)
                try client.send(DecoderClientMessage.ring(byteCount: 4096), descriptor: pipe.near.number)
            }
            let memory = try SharedMapping.makeMemory(named: "test", byteCount: 768, allowsSeals: true)
            refuses("a second decoder") { client in
                try create(client)
                try create(client)
            }
            refuses("more memory than there is") { client in
                try client.send(offer(byteCount: 769), descriptor: memory.number)
            }
            refuses("a slot twice") { client in
                try client.send(offer(), descriptor: memory.number)
                try client.send(offer(), descriptor: memory.number)
            }
            refuses("too many slots") { client in
                for slot in 0...UInt32(SlotTable.maximumSlots) {
                    try client.send(offer(slot), descriptor: memory.number, until: .after(.seconds(1)))
                }
            }
            refuses("a slot that is free") { client in
                try client.send(offer(), descriptor: memory.number)
                try client.send(DecoderClientMessage.free(slot: 0))
            }
            refuses("no slot") { client in try client.send(DecoderClientMessage.free(slot: 0)) }
            refuses("no picture to release") { client in
                try create(client)
                try client.send(DecoderClientMessage.release(ids: [0]))
            }
            refuses("no picture to release with a sample") { client in
                try create(client)
                var order = SampleOrder.blank
                (order.byteCount, order.released) = (1, [0])
                try client.send(DecoderClientMessage.sample(order))
            }
            refuses("no slot to forget") { client in try client.send(DecoderClientMessage.forget(slot: 0)) }
            let layouts: [[PlaneLayout]] = [
                [], [PlaneLayout(offset: 0, bytesPerRow: 32)],
                [PlaneLayout(offset: 0, bytesPerRow: 32), PlaneLayout(offset: 513, bytesPerRow: 32)],
                [PlaneLayout(offset: -1, bytesPerRow: 32), PlaneLayout(offset: 512, bytesPerRow: 32)],
                [PlaneLayout(offset: 0, bytesPerRow: 31), PlaneLayout(offset: 512, bytesPerRow: 32)],
                [PlaneLayout(offset: 0, bytesPerRow: .max), PlaneLayout(offset: 512, bytesPerRow: 32)],
            ]
            for planes in layouts {
                refuses("\(planes)") { client in try client.send(offer(0, planes), descriptor: memory.number) }
            }
            Traces.expectNone()
        }

        @Test func ordersNeedADecoder() {
            refuses("drain") { client in try client.send(DecoderClientMessage.drain) }
            refuses("sample") { client in try client.send(sample(offset: 0, byteCount: 1)) }
            refuses("the messages of an encoder") { client in try client.send(EncoderClientMessage.drain) }
        }

        /// - Returns: The helper's answer to a request for a decoder.
        private func refusal(_ change: (inout DecoderOrder) -> Void) throws -> MediaError? {
            var order = order
            change(&order)
            let sockets = try DescriptorPair.sockets()
            let client = Channel(try Descriptor.duplicate(sockets.near.number), peer: "the helper")
            let far = Channel(try Descriptor.duplicate(sockets.far.number), peer: "the client")
            let memory = try SharedMapping.makeMemory(named: "vatoolbox-samples", byteCount: 4096)
            try client.send(DecoderClientMessage.create(order), descriptor: memory.number)
            try client.send(DecoderClientMessage.close)
            var services = HelperServices()
            services.decoders = [EchoDecoder.Factory("echo")]
            try DecoderServer(far, services).run()
            guard case .refused(let error) = try client.receive(DecoderHelperMessage.self) else { return nil }
            return error
        }

        @Test func decodersAreGivenOnlyWhatIsValid() throws {
            #expect(try refusal { $0.decoder.name = "other" }?.code == .unavailable)
            #expect(try refusal { $0.threadCount = -1 }?.code == .invalidArgument)
            #expect(try refusal { $0.threadCount = 1 << 20 }?.code == .invalidArgument)
            let other = FormatDescription(codec: .hevc, width: 32, height: 16, parameterSets: [])
            #expect(try refusal { $0.formatDescription = other }?.code == .invalidArgument)
            #expect(try refusal { _ in } == nil)
        }

        /// Whatever a client says, in whatever order, its connection ends.
        @Test(arguments: 0..<20) func nonsenseIsSurvived(seed: UInt64) throws {
            var random = SeededGenerator(seed: 700 + seed)
            let memory = try SharedMapping.makeMemory(named: "test", byteCount: 4096, allowsSeals: true)
            try? serve { client in
                try create(client)
                for _ in 0..<20 {
                    let message: DecoderClientMessage =
                        switch Int.random(in: 0..<6, using: &random) {
                        case 0: offer(.random(in: 0...3, using: &random))
                        case 1: .free(slot: .random(in: 0...3, using: &random))
                        case 2: .forget(slot: .random(in: 0...3, using: &random))
                        case 3: sample(offset: .random(in: 0...64, using: &random), byteCount: 30)
                        case 4: .ring(byteCount: .random(in: 4000...4100, using: &random))
                        default: random.one(of: random.decoderClientMessages())
                        }
                    let descriptor = message.descriptorCount == 1 ? memory.number : nil
                    try client.send(message, descriptor: descriptor)
                }
                client.shutDown()
            }
            Traces.expectNone()
        }
    }
}
