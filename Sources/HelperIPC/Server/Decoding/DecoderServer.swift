// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes
internal import Synchronization

/// The helper's end of one connection: a decoder for a client in another process.
///
/// The thread that calls ``run()`` is the decoder's thread. It also receives, like any thread that waits for the
/// client.
final class DecoderServer: Sendable {
    private let channel: Channel
    private let outbox: Outbox<DecoderHelperMessage>
    private let services: HelperServices
    private let inbox: OrderInbox<DecoderClientState>
    /// Keeps pictures in order while one of them waits for memory.
    private let outputs = Mutex(())

    init(_ channel: Channel, _ services: HelperServices, _ pictures: DevicePictures = .init()) {
        self.channel = channel
        outbox = Outbox(channel)
        self.services = services
        inbox = OrderInbox(channel, DecoderClientState(pictures))
    }

    /// Serves until the client closes the decoder.
    ///
    /// - Throws: `malformedData` for a message that violates the protocol, `inputOutput` if the client is gone.
    func run() throws(MediaError) {
        var work = Work()
        while let order = try inbox.next() {
            let start = SuspendingClock.now
            if case .sample = order {} else { try answerSamples(&work) }
            let answer = try carryOut(order, &work)
            guard case .accepted(let number) = answer else {
                // Answers come in the order of the samples.
                try answerSamples(&work)
                try outbox.sendNow(answer)
                continue
            }
            work.unanswered = (number, (work.unanswered?.count ?? 0) + 1)
            let holds = try outbox.hold(whileWaiting: inbox.isOrderWaiting, after: start)
            if !holds || work.unanswered?.count == Self.mostUnanswered { try answerSamples(&work) }
        }
    }

    /// Answers several samples at once, because each message may wake a thread of the client.
    private func answerSamples(_ work: inout Work) throws(MediaError) {
        guard let last = work.unanswered.take()?.last else { return }
        try outbox.sendNow(.accepted(number: last))
    }

    /// The maximum number of samples that are answered at once. A client waits for an answer when it has sent twice as many.
    private static let mostUnanswered = UnansweredOrders<Int64>.limit / 2

    /// Keeps what the client has on the device after it has closed the decoder, until it has released all of that or closes
    /// the connection: orders that name these pictures may be on the way to encoders.
    ///
    /// - Throws: `malformedData` for a message that violates the protocol.
    func keepPictures() throws(MediaError) {
        var descriptor: Descriptor?
        while inbox.look(for: { $0.keepsPictures }) == true,
            let message = try channel.receive(DecoderClientMessage.self, descriptor: &descriptor, until: .never)
        {
            // Memory for pictures is of no use any more.
            guard case .release(let ids) = message else { continue }
            let released = inbox.look { state -> Result<Void, MediaError>? in
                Result { () throws(MediaError) in try state.release(ids) }
            }
            try released?.get()
        }
    }

    /// The state of the decoder's thread.
    private struct Work {
        var decoder: (any DecoderBackend)?
        /// The error after which the decoder is not called any more. The client may have sent orders before it received
        /// the error.
        var failure: MediaError?
        /// The last sample whose answer was not sent, and how many there are.
        var unanswered: (last: Int64, count: Int)?
    }

    /// - Returns: The answer.
    private func carryOut(
        _ order: DecoderClientState.Order,
        _ work: inout Work
    ) throws(MediaError) -> DecoderHelperMessage {
        if case .create(let order) = order {
            do {
                let new = try makeDecoder(order)
                work.decoder = new
                return .created(new.properties)
            } catch {
                return .refused(error)
            }
        }
        guard let decoder = work.decoder else {
            throw MediaError(.malformedData, "the client sent a request before it created a decoder")
        }
        if let failure = work.failure { return .callFailed(failure) }
        // Data outside the ring is a violation, not an error of the decoder.
        let sample: DecoderSample? = if case .sample(let pending) = order { try pending.sample() } else { nil }
        do throws(MediaError) {
            guard let sample else {
                try decoder.drain()
                return .drained
            }
            try decoder.decode(sample)
            if !inbox.isOrderWaiting { try decoder.pause() }
            return .accepted(number: sample.number)
        } catch {
            work.failure = error
            return .callFailed(error)
        }
    }

    private func makeDecoder(_ order: DecoderOrder) throws(MediaError) -> any DecoderBackend {
        let wanted = order.decoder
        let factory =
            services.decoders.first { $0.identity.name == wanted.name && $0.identity.codec == wanted.codec }
            ?? services.otherDecoders(wanted)
        guard let factory else {
            if services.decoders.isEmpty {
                throw MediaError(
                    .unavailable,
                    "the helper program has no decoders",
                    given: "\(wanted)",
                    cause: .helperMismatch
                )
            }
            throw MediaError(
                .unavailable,
                "the helper has no such decoder",
                given: "\(wanted)",
                allowed: services.decoders.map { "\($0.identity)" }.joined(separator: ", ")
            )
        }
        guard order.formatDescription.codec == wanted.codec, (0...Self.mostThreads).contains(order.threadCount) else {
            throw MediaError(
                .invalidArgument,
                "the decoder's codec or number of threads is out of range",
                given: "\(order.formatDescription.codec.rawValue), \(order.threadCount) threads",
                allowed: "\(wanted.codec.rawValue), 0...\(Self.mostThreads) threads"
            )
        }
        let request = DecoderRequest(
            formatDescription: order.formatDescription,
            isLowLatency: order.isLowLatency,
            threadCount: order.threadCount,
            devicePictureLimit: order.devicePictureLimit,
            output: { self.deliver($0) }
        )
        return try factory.makeDecoder(request)
    }

    private static let mostThreads = 1024

    // MARK: - Output

    /// Sends the output of a decoder. An error here usually means that the client is gone, which ``run()`` also
    /// detects.
    private func deliver(_ output: DecoderOutput) {
        outputs.withLock { _ in
            do throws(MediaError) {
                switch output {
                case .picture(let picture): try deliver(picture)
                case .damaged(let number, let error):
                    try outbox.send(.damaged(number: number, error))
                case .failed(let error): try outbox.sendNow(.failed(error))
                }
            } catch {
                try? outbox.sendNow(.failed(error))
            }
        }
    }

    /// Leaves a picture on the device if it is there and the client may keep one more. Otherwise, copies it into memory of
    /// the client, after waiting for some. A client that closes the decoder gets no more pictures.
    private func deliver(_ picture: DecodedPicture) throws(MediaError) {
        let description = picture.buffer.pictureDescription
        _ = try description.shape.layout()
        if case .deviceSurface(let surface) = picture.buffer.storage,
            let id = inbox.look(for: { $0.keep(picture.buffer) })
        {
            let notice = DevicePictureNotice(
                number: picture.number,
                id: id,
                device: surface.device,
                picture: description,
                isDamaged: picture.isDamaged
            )
            return try outbox.send(.devicePicture(notice))
        }
        guard let slot = try slot(description.shape) else { return }
        defer { withExtendedLifetime(slot.memory) {} }
        try picture.buffer.copyOnce(to: slot.planes)
        let notice = PictureNotice(
            number: picture.number,
            slot: slot.number,
            picture: description.fittingWire,
            isDamaged: picture.isDamaged
        )
        try outbox.send(.picture(notice))
    }

    private func slot(_ shape: PictureShape) throws(MediaError) -> SlotTable.Slot? {
        if let slot = inbox.look(for: { $0.takeSlot(shape) }) { return slot }
        try outbox.sendNow(.slotAwaited(shape))
        return try inbox.wait { $0.takeSlot(shape) }
    }
}
