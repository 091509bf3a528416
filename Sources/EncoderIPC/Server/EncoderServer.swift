// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Synchronization

/// The helper's end of one connection: an encoder for a client in another process.
///
/// The thread that calls ``run()`` is the encoder's thread. It also receives, like any thread that waits for the
/// client.
final class EncoderServer: Sendable {
    private let channel: Channel
    private let outbox: Outbox
    private let factories: [any EncoderFactory]
    private let others: @Sendable (EncoderIdentity) -> (any EncoderFactory)?
    private let inspector: DriverInspector?
    private let releases: ReleaseNotes
    private let inbox: OrderInbox
    /// If frames take no longer than this, messages about a frame are held back while another frame is waiting.
    private static let quick = Duration.milliseconds(1)
    /// Keeps coded frames in the order of their data in the ring.
    private let outputs = Mutex(())

    /// - Parameters:
    ///   - factories: The available encoders, by ``EncoderIdentity/name`` and codec.
    ///   - others: Creates a factory for an identity that is not among them.
    ///   - inspector: Inspects drivers; `nil` if this helper does not.
    init(
        _ channel: Channel,
        factories: [any EncoderFactory],
        others: @escaping @Sendable (EncoderIdentity) -> (any EncoderFactory)? = { _ in nil },
        inspector: DriverInspector? = nil
    ) {
        self.channel = channel
        outbox = Outbox(channel)
        self.factories = factories
        self.others = others
        self.inspector = inspector
        releases = ReleaseNotes(outbox)
        inbox = OrderInbox(channel, outbox, releases)
    }

    /// Serves until the client closes the encoder.
    ///
    /// - Throws: `malformedData` for a message that violates the protocol, `inputOutput` if the client is gone.
    func run() throws(MediaError) {
        var work = Work()
        while let order = try inbox.next() { try carryOut(order, &work) }
    }

    /// The state of the encoder's thread.
    private struct Work {
        var encoder: (any EncoderBackend)?
        /// The error after which the encoder is not called any more. The client may have sent orders before it received
        /// the error.
        var failure: MediaError?

        /// Records the error of an order.
        mutating func note(_ error: MediaError, of order: OrderInbox.Order) {
            switch order {
            // The frame was not accepted and is submitted again.
            case .frame where error.code == .conversionFailed: break
            // A refused update changes nothing.
            case .update where error.isPermanent: break
            default: failure = failure ?? error
            }
        }
    }

    private func carryOut(_ order: OrderInbox.Order, _ work: inout Work) throws(MediaError) {
        if case .create(let order, let ring) = order {
            do {
                let new = try makeEncoder(order, ring)
                work.encoder = new
                return try channel.send(HelperMessage.created(new.properties))
            } catch {
                return try channel.send(HelperMessage.refused(error))
            }
        }
        if case .inspect(let path) = order { return try inspect(path) }
        if case .frame = order {} else { try outbox.hold(false) }
        guard let encoder = work.encoder else {
            throw MediaError(.malformedData, "the client sent a request before it created an encoder")
        }
        let answer: HelperMessage
        do throws(MediaError) {
            if let failure = work.failure {
                // The picture is released.
                if case .frame(let frame) = order { _ = frame.take() }
                throw failure
            }
            switch order {
            case .frame(let frame):
                let copies = encoder.copiedPictures
                let start = SuspendingClock.now
                let released = try encode(frame, encoder)
                if inbox.isOrderWaiting {
                    try outbox.hold(SuspendingClock.now - start < Self.quick)
                } else {
                    encoder.pause()
                    try outbox.hold(false)
                }
                let more = UInt8(clamping: encoder.copiedPictures - copies)
                answer = .accepted(number: frame.number, released: released, copies: more)
            case .update(let configuration):
                _ = try configuration.validated(for: encoder.properties.formatDescription.codec)
                answer = .updated(try encoder.update(configuration))
                encoder.pause()
            case .drain, .create, .inspect:
                try encoder.drain()
                answer = .drained
            }
        } catch {
            work.note(error, of: order)
            answer = .callFailed(error)
        }
        if case .callFailed = answer { try outbox.hold(false) }
        try outbox.send(answer)
    }

    /// - Returns: The frames whose pictures were released meanwhile.
    private func encode(_ frame: PendingFrame, _ encoder: any EncoderBackend) throws(MediaError) -> [Int64] {
        releases.gather()
        do throws(MediaError) {
            try Self.encode(frame, encoder)
            return releases.takeGathered()
        } catch {
            for number in releases.takeGathered() { try outbox.send(.released(number: number)) }
            throw error
        }
    }

    /// When it returns, either the encoder holds the picture or nothing does.
    private static func encode(_ pending: PendingFrame, _ encoder: any EncoderBackend) throws(MediaError) {
        if let frame = pending.take() { try encoder.encode(frame) }
    }

    private func inspect(_ path: String) throws(MediaError) {
        let answer: HelperMessage
        do throws(MediaError) {
            guard let inspector else { throw MediaError(.unsupported, "this helper cannot query drivers") }
            let channel = channel
            try inspector(path) { (news) throws(MediaError) in
                switch news {
                case .stage(let stage): try channel.send(HelperMessage.stage(stage))
                case .report(let report): try channel.send(HelperMessage.report(report))
                case .encoder(let encoder): try channel.send(HelperMessage.encoder(encoder))
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
        if let depth = order.maximumReorderDepth, depth < 0 {
            throw MediaError(.invalidArgument, "reorder depth is out of range", given: "\(depth)", allowed: "0 or more")
        }
        let request = EncoderRequest(
            configuration: order.configuration,
            maximumReorderDepth: order.maximumReorderDepth,
            output: { self.deliver($0, ring) }
        )
        return try factory.makeEncoder(request)
    }

    /// Sends the output of an encoder. An error here usually means that the client is gone, which ``run()`` also
    /// detects.
    private func deliver(_ output: EncoderOutput, _ ring: RingWriter) {
        outputs.withLock { _ in
            do throws(MediaError) {
                switch output {
                case .coded(let frame): try outbox.send(.coded(notice(frame, ring)))
                case .failed(let error): try fail(error)
                }
            } catch {
                try? fail(error)
            }
        }
    }

    private func fail(_ error: MediaError) throws(MediaError) {
        try outbox.send(.failed(error))
        try outbox.hold(false)
    }

    private func notice(_ frame: CodedFrame, _ ring: RingWriter) throws(MediaError) -> CodedNotice {
        CodedNotice(
            number: frame.number,
            isKeyFrame: frame.isKeyFrame,
            isReference: frame.isReference,
            isDropped: frame.isDropped,
            offset: try inbox.write(frame.data, to: ring),
            byteCount: frame.data.count,
            formatDescription: frame.formatDescription
        )
    }
}
