// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
internal import Glibc
internal import MediaTypes
internal import Synchronization

/// The helper's side of one connection: an encoder for a client in another process.
///
/// A thread of its own receives, so that room for coded frames is made while the encoder waits for it; the thread that
/// calls ``run()`` is the encoder's.
final class EncoderServer: Sendable {
    private enum Work {
        case create(EncoderOrder, RingWriter)
        case frame(EncoderFrame)
        case update(EncoderConfiguration)
        case drain
        case inspect(path: String)
    }

    private struct Inbox {
        var work: [Work] = []
        var isClosed = false
        var failure: MediaError?
        var ring: RingWriter?
    }

    private let channel: Channel
    private let factories: [any EncoderFactory]
    private let others: @Sendable (EncoderIdentity) -> (any EncoderFactory)?
    private let inspector: DriverInspector?
    private let inbox = Mutex(Inbox())
    private let wake = DispatchSemaphore(value: 0)
    /// Keeps coded frames in the order in which they lie in the ring.
    private let outputs = Mutex(())

    /// - Parameters:
    ///   - factories: The encoders that can be asked for, by ``EncoderIdentity/name`` and codec.
    ///   - others: Makes a factory for what is not among them.
    ///   - inspector: Asks drivers; `nil` if this helper asks none.
    init(
        _ channel: Channel,
        factories: [any EncoderFactory],
        others: @escaping @Sendable (EncoderIdentity) -> (any EncoderFactory)? = { _ in nil },
        inspector: DriverInspector? = nil
    ) {
        self.channel = channel
        self.factories = factories
        self.others = others
        self.inspector = inspector
    }

    /// Serves until the client closes the encoder.
    ///
    /// - Throws: `malformedData` for a message that the protocol does not allow, `inputOutput` if the client is gone.
    func run() throws(MediaError) {
        try PlainThread.start(name: "vt-receive") { self.receive() }
        var encoder: (any EncoderBackend)?
        while let work = nextWork() { try carryOut(work, &encoder) }
        encoder = nil
        if let failure = inbox.withLock({ $0.failure }) { throw failure }
    }

    // MARK: - The encoder's thread

    private func nextWork() -> Work? {
        while true {
            wake.wait()
            let (work, isClosed) = inbox.withLock { inbox -> (Work?, Bool) in
                (inbox.work.isEmpty ? nil : inbox.work.removeFirst(), inbox.isClosed)
            }
            if isClosed { return nil }
            if let work { return work }
        }
    }

    private func carryOut(_ work: Work, _ encoder: inout (any EncoderBackend)?) throws(MediaError) {
        if case .create(let order, let ring) = work {
            do {
                let new = try makeEncoder(order, ring)
                encoder = new
                return try channel.send(HelperMessage.created(new.properties))
            } catch {
                return try channel.send(HelperMessage.refused(error))
            }
        }
        if case .inspect(let path) = work { return try inspect(path) }
        guard let encoder else {
            throw MediaError(.malformedData, "the client gave an order before there was an encoder")
        }
        let answer: HelperMessage
        do throws(MediaError) {
            switch work {
            case .frame(let frame):
                let number = frame.number
                try encoder.encode(frame)
                answer = .accepted(number: number)
            case .update(let configuration): answer = .updated(try encoder.update(configuration))
            case .drain, .create, .inspect:
                try encoder.drain()
                answer = .drained
            }
        } catch {
            answer = .callFailed(error)
        }
        try channel.send(answer)
    }

    private func inspect(_ path: String) throws(MediaError) {
        let answer: HelperMessage
        do throws(MediaError) {
            guard let inspector else { throw MediaError(.unsupported, "this helper asks no drivers") }
            let channel = channel
            try inspector(path) { (news) throws(MediaError) in
                switch news {
                case .stage(let stage): try channel.send(HelperMessage.stage(stage))
                case .report(let report): try channel.send(HelperMessage.report(report))
                }
            }
            answer = .inspected
        } catch {
            answer = .callFailed(error)
        }
        try channel.send(answer)
    }

    private func makeEncoder(_ order: EncoderOrder, _ ring: RingWriter) throws(MediaError) -> any EncoderBackend {
        let wanted = order.encoder
        guard
            let factory = factories.first(where: {
                $0.identity.name == wanted.name && $0.identity.codec == wanted.codec
            }) ?? others(wanted)
        else {
            throw MediaError(
                .unavailable,
                "the helper has no such encoder",
                given: "\(wanted)",
                allowed: factories.map { "\($0.identity)" }.joined(separator: ", ")
            )
        }
        _ = try order.configuration.validated(for: wanted.codec)
        let request = EncoderRequest(
            configuration: order.configuration,
            maximumReorderDepth: order.maximumReorderDepth,
            output: { self.deliver($0, ring) }
        )
        return try factory.makeEncoder(request)
    }

    /// Sends what an encoder produces. An error here means that the client is gone, which ``receive()`` sees as well.
    private func deliver(_ output: EncoderOutput, _ ring: RingWriter) {
        outputs.withLock { _ in
            do throws(MediaError) {
                switch output {
                case .coded(let frame): try channel.send(HelperMessage.coded(notice(frame, ring)))
                case .failed(let error): try channel.send(HelperMessage.failed(error))
                }
            } catch {
                try? channel.send(HelperMessage.failed(error))
            }
        }
    }

    private func notice(_ frame: CodedFrame, _ ring: RingWriter) throws(MediaError) -> CodedNotice {
        CodedNotice(
            number: frame.number,
            isKeyFrame: frame.isKeyFrame,
            isReference: frame.isReference,
            isDropped: frame.isDropped,
            offset: try ring.write(frame.data),
            byteCount: frame.data.count,
            formatDescription: frame.formatDescription
        )
    }

    // MARK: - The receiving thread

    private func receive() {
        do {
            try receiveMessages()
            close(nil)
        } catch {
            close(error)
        }
    }

    private func close(_ failure: MediaError?) {
        let ring = inbox.withLock { inbox in
            inbox.isClosed = true
            inbox.failure = failure
            return inbox.ring
        }
        ring?.close()
        wake.signal()
    }

    private func receiveMessages() throws(MediaError) {
        var memory = PictureMemory()
        var ring: RingWriter?
        var descriptor: Descriptor?
        while let message = try channel.receive(ClientMessage.self, descriptor: &descriptor) {
            switch message {
            case .create(let order):
                guard ring == nil else { throw MediaError(.malformedData, "the client asked for a second encoder") }
                let writer = RingWriter(try map(descriptor, order.ringByteCount, .readWrite))
                ring = writer
                inbox.withLock { $0.ring = writer }
                enqueue(.create(order, writer))
            case .offer(let offer): try memory.add(try picture(descriptor, offer), slot: offer.slot)
            case .forget(let slot): try memory.remove(slot)
            case .frame(let order): enqueue(.frame(try frame(order, memory)))
            case .update(let configuration): enqueue(.update(configuration))
            case .drain: enqueue(.drain)
            case .taken(let count): try ring?.release(total: count)
            case .inspect(let path): enqueue(.inspect(path: path))
            case .close: return
            }
            descriptor = nil
        }
        throw MediaError(.inputOutput, "the client is gone")
    }

    private func picture(
        _ descriptor: consuming Descriptor?,
        _ offer: MemoryOffer
    ) throws(MediaError) -> PictureMemory.Slot {
        if let byteCount = offer.byteCount { return .memory(try map(descriptor, byteCount, .read)) }
        switch consume descriptor {
        case .some(let descriptor): return .dmaBuf(PictureMemory.DMAObject(descriptor))
        case .none: throw MediaError(.malformedData, "a message came without its descriptor")
        }
    }

    private func map(
        _ descriptor: borrowing Descriptor?,
        _ byteCount: Int,
        _ access: SharedMapping.Access
    ) throws(MediaError) -> SharedMapping {
        switch descriptor {
        case .some(let descriptor): try SharedMapping(descriptor, byteCount: byteCount, access: access)
        case .none: throw MediaError(.malformedData, "a message came without its descriptor")
        }
    }

    private func enqueue(_ work: Work) {
        inbox.withLock { $0.work.append(work) }
        wake.signal()
    }

    private func frame(_ order: FrameOrder, _ memory: PictureMemory) throws(MediaError) -> EncoderFrame {
        let (channel, number) = (channel, order.number)
        let buffer = try memory.picture(order) { try? channel.send(HelperMessage.released(number: number)) }
        return EncoderFrame(
            number: number,
            buffer: buffer,
            presentationTime: order.presentationTime,
            duration: order.duration,
            options: order.options
        )
    }
}
