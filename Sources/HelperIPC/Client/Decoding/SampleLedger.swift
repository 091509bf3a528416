// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Synchronization

/// The samples for which a decoder in a helper has returned no picture, and the pictures that it returns. Every message
/// of the helper is checked against this state.
///
/// After ``settle()`` or an error that was passed to the output, no picture is returned any more, except one that is being
/// passed on.
final class SampleLedger: Sendable {
    private struct State {
        /// Called on the link's thread. Released with the decoder: it may keep pictures on the device, which keep the
        /// connection and this object.
        var output: (@Sendable (DecoderOutput) -> Void)?
        /// Whether nothing is passed to the session any more.
        var isClosed = false
        /// The error that the session received, or would have received.
        var failure: MediaError?
        /// The samples without a picture.
        var pending: Set<Int64> = []
        /// The same samples and others, in the order in which they were submitted.
        var submitted: ArraySlice<Int64> = []
        /// When a call of the session began to wait.
        var callStart: SuspendingClock.Instant?
    }

    /// The number of samples to remember. No decoder delays a picture by so many: some samples never have one.
    private static let mostPending = 8192

    /// The samples whose answers are pending.
    let unanswered = UnansweredOrders<Int64>()
    private let ring: SampleRing
    let slots: DecodedSlots
    /// What pictures on the device belong to; it exists as long as the decoder or one of them.
    let connection = WeakReference<DecoderConnection>()
    private let state: Mutex<State>

    init(ring: SampleRing, slots: DecodedSlots, output: @escaping @Sendable (DecoderOutput) -> Void) {
        self.ring = ring
        self.slots = slots
        state = Mutex(State(output: output))
    }

    /// Records a sample that is about to be submitted.
    func expect(_ number: Int64) {
        unanswered.append(number)
        state.withLock { state in
            state.pending.insert(number)
            state.submitted.append(number)
            if state.submitted.count > Self.mostPending { state.pending.remove(state.submitted.removeFirst()) }
        }
    }

    /// Ends the output to the session: a call has failed, or the decoder is released.
    func settle() {
        let output = state.withLock { state in
            state.isClosed = true
            return state.output.take()
        }
        unanswered.end()
        withExtendedLifetime(output) {}
    }

    /// The error of the decoder, if it has failed.
    var failure: MediaError? { state.withLock { $0.failure } }

    /// Records that a call of the session waits for the helper, or no longer does.
    func noteCall(isWaiting: Bool) { state.withLock { $0.callStart = isWaiting ? .now : nil } }

    /// How long a call of the session has been waiting.
    var callDuration: Duration? { state.withLock { $0.callStart.map { .now - $0 } } }

    /// Fails the decoder and reports the error to the session.
    func fail(_ error: MediaError) {
        state.withLock { state in
            if !state.isClosed { state.output?(.failed(error)) }
            state.isClosed = true
            state.failure = state.failure ?? error
        }
        unanswered.end()
    }

    /// Records that the decoder has returned every picture.
    func noteDrained() {
        state.withLock { state in
            state.pending = []
            state.submitted = []
        }
    }

    // MARK: - Messages

    /// Handles the answer to samples.
    ///
    /// - Returns: Whether it is such an answer: samples are answered in order, before later orders.
    /// - Throws: `malformedData` if it answers another order.
    func answer(_ message: DecoderHelperMessage) throws(MediaError) -> Bool {
        guard unanswered.count > 0 else { return false }
        var count = 1
        switch message {
        case .accepted(let number):
            guard let answered = unanswered.count(through: { $0 == number }) else {
                throw lie("accepted a sample that it did not have", "sample \(number)")
            }
            count = answered
        case .callFailed(let error): fail(error)
        default: throw lie("replied to another request", "\(message.kind)")
        }
        for _ in 0..<count { ring.releaseFirst() }
        unanswered.removeFirst(count)
        return true
    }

    /// Handles a message that answers no order.
    ///
    /// - Returns: Whether the helper made progress: a picture was returned.
    /// - Throws: `malformedData` if it does not match what the helper was given.
    func handle(_ message: DecoderHelperMessage) throws(MediaError) -> Bool {
        switch message {
        case .picture(let notice): return try take(notice)
        case .devicePicture(let notice): return try take(notice)
        case .damaged(let number, let error):
            try state.withLock { (state) throws(MediaError) in
                if state.isClosed { return }
                guard state.submitted.contains(number) else {
                    throw lie("reported damage of a sample that it did not have", "sample \(number)")
                }
                state.output?(.damaged(number: number, error))
            }
        case .slotAwaited(let shape):
            if !state.withLock({ $0.isClosed }) { try slots.await(shape) }
        case .failed(let error): fail(error)
        default: throw lie("sent an unexpected message", "\(message.kind)")
        }
        return false
    }

    /// - Returns: Whether the picture was passed on; after the end, none is.
    private func take(_ notice: PictureNotice) throws(MediaError) -> Bool {
        guard try expects(notice.number) else { return false }
        let buffer = try slots.picture(notice.picture, in: notice.slot)
        return pass(DecodedPicture(number: notice.number, buffer: buffer, isDamaged: notice.isDamaged))
    }

    /// - Returns: Whether the picture was passed on; after the end, none is.
    private func take(_ notice: DevicePictureNotice) throws(MediaError) -> Bool {
        // The decoder was released.
        guard let connection = connection.object else { return false }
        if let (what, given) = connection.reasonAgainst(notice) { throw lie(what, given) }
        // Released in any case.
        let surface = RemoteSurface(notice.id, device: notice.device, connection)
        guard try expects(notice.number) else { return false }
        let buffer = try PixelBuffer(notice.picture, surface: surface)
        return pass(DecodedPicture(number: notice.number, buffer: buffer, isDamaged: notice.isDamaged))
    }

    /// - Returns: Whether the picture of a sample is wanted; after the end, none is.
    private func expects(_ number: Int64) throws(MediaError) -> Bool {
        let (isPending, isClosed) = state.withLock { state in
            (state.pending.remove(number) != nil, state.isClosed)
        }
        if isClosed { return false }
        if !isPending { throw lie("returned a picture of a sample that it did not have", "sample \(number)") }
        return true
    }

    /// Passes a picture on without the lock: a session may have to copy it from the device first. A session ignores what
    /// comes after the end.
    private func pass(_ picture: DecodedPicture) -> Bool {
        guard let output = state.withLock({ $0.isClosed ? nil : $0.output }) else { return false }
        output(.picture(picture))
        return true
    }

    private func lie(_ what: String, _ given: String) -> MediaError {
        MediaError(.malformedData, "\(HelperHost.peer) \(what)", given: given)
    }
}
