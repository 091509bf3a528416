// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Synchronization

/// The helper's end of one connection: an encoder for a client in another process.
///
/// The thread that calls ``run()`` is the encoder's thread. It also receives, like any thread that waits for the
/// client.
final class EncoderServer: Sendable {
    private let channel: Channel
    private let outbox: Outbox<EncoderHelperMessage>
    private let services: HelperServices
    private let releases: ReleaseNotes
    private let inbox: OrderInbox<EncoderClientState>
    /// Keeps coded frames in the order of their data in the ring.
    private let outputs = Mutex(())

    init(_ channel: Channel, _ services: HelperServices, _ pictures: DevicePictures = .init()) {
        self.channel = channel
        outbox = Outbox(channel)
        self.services = services
        releases = ReleaseNotes(outbox)
        inbox = OrderInbox(channel, EncoderClientState(releases, pictures))
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
        mutating func note(_ error: MediaError, of order: EncoderClientState.Order) {
            switch order {
            // The frame was not accepted and is submitted again.
            case .frame where error.code == .conversionFailed: break
            // A refused update changes nothing.
            case .update where error.isPermanent: break
            default: failure = failure ?? error
            }
        }
    }

    private func carryOut(_ order: EncoderClientState.Order, _ work: inout Work) throws(MediaError) {
        if case .create(let order, let ring) = order {
            do {
                let new = try makeEncoder(order, ring)
                work.encoder = new
                return try channel.send(EncoderHelperMessage.created(new.properties))
            } catch {
                return try channel.send(EncoderHelperMessage.refused(error))
            }
        }
        if case .inspect(let path) = order { return try inspect(path) }
        if case .frame = order {} else { try outbox.hold(false) }
        guard let encoder = work.encoder else {
            throw MediaError(.malformedData, "the client sent a request before it created an encoder")
        }
        let answer: EncoderHelperMessage
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
                let isOrderWaiting = inbox.isOrderWaiting
                if !isOrderWaiting { encoder.pause() }
                try outbox.hold(whileWaiting: isOrderWaiting, after: start)
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
        let answer: EncoderHelperMessage
        do throws(MediaError) {
            guard let inspector = services.inspector else {
                throw MediaError(.unsupported, "this helper cannot query drivers")
            }
            let channel = channel
            try inspector(path) { (news) throws(MediaError) in
                switch news {
                case .stage(let stage): try channel.send(EncoderHelperMessage.stage(stage))
                case .report(let report): try channel.send(EncoderHelperMessage.report(report))
                case .encoder(let encoder): try channel.send(EncoderHelperMessage.encoder(encoder))
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
            let factory = services.encoders.first(where: {
                $0.identity.name == wanted.name && $0.identity.codec == wanted.codec
            }) ?? services.otherEncoders(wanted)
        else {
            throw MediaError(
                .unavailable,
                "the helper has no such encoder",
                given: "\(wanted)",
                allowed: services.encoders.map { "\($0.identity)" }.joined(separator: ", ")
            )
        }
        _ = try order.configuration.validated(for: wanted.codec)
        if let depth = order.maximumReorderDepth, depth < 0 {
            throw MediaError(.invalidArgument, "reorder depth is out of range", given: "\(depth)", allowed: "0 or more")
        }
        let request = EncoderRequest(
            configuration: order.configuration,
            maximumReorderDepth: order.maximumReorderDepth,
            copiesOnDevice: order.copiesOnDevice,
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
        try outbox.sendNow(.failed(error))
    }

    private func notice(_ frame: CodedFrame, _ ring: RingWriter) throws(MediaError) -> CodedNotice {
        CodedNotice(
            number: frame.number,
            isKeyFrame: frame.isKeyFrame,
            isReference: frame.isReference,
            isDropped: frame.isDropped,
            offset: try write(frame.data, to: ring),
            byteCount: frame.data.count,
            formatDescription: frame.formatDescription
        )
    }

    /// Writes coded data to the ring when there is space, for one thread at a time.
    ///
    /// - Returns: The offset of the data.
    /// - Throws: `frameFailed` if the data is longer than the ring, `inputOutput` if no client will read it.
    private func write(_ data: CodedData, to ring: RingWriter) throws(MediaError) -> Int {
        let byteCount = try ring.fittingByteCount(of: data)
        while true {
            if ring.asks(for: byteCount) {
                // Together with all messages that were held back: the client does not take frames that it does not know
                // of.
                try outbox.sendNow(.roomWanted)
            }
            switch try inbox.wait(for: { _ in ring.attempt(data) }) {
            case .written(let offset): return offset
            case .answered: continue
            case nil: throw MediaError(.inputOutput, "the client no longer reads coded frames")
            }
        }
    }
}
