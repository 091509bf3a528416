// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Synchronization

/// The memory for the pictures of a decoder in a helper, and the messages about it. Pictures may outlive it.
///
/// A release never waits: a message that cannot be sent at once is sent after the message that another thread is
/// sending, or by the link's thread.
final class DecodedSlots: Sendable {
    fileprivate struct Unsent {
        var message: DecoderClientMessage
        /// The memory that is offered.
        var memory: SlotMemory?
    }

    fileprivate struct State {
        weak var link: DecoderLink?
        var plan: SlotPlan
        var memory: [UInt32: SlotMemory] = [:]
        /// The pictures on the device that are no longer used and of which the helper does not know yet.
        var released: [UInt64] = []
        /// The messages that were not sent, in order.
        var unsent: [Unsent] = []
        /// When the client came to hold all pictures while the helper waits for one.
        var starvedSince: SuspendingClock.Instant?
        /// Whether this was reported.
        var isReported = false
        /// The reason why a slot could not be replaced.
        var failure: MediaError?
    }

    private let state: Mutex<State>
    private let sending = Mutex(())
    /// As many pictures on the device are released at once: few of those that may be there.
    private let releasesTogether: Int
    private let report: @Sendable (DecoderStarvation) -> Void

    /// - Parameters:
    ///   - limit: The maximum number of slots.
    ///   - devicePictures: The maximum number of pictures on the device.
    ///   - report: Receives the beginning and the end of a wait; never blocks.
    init(limit: Int, devicePictures: Int = 0, report: @escaping @Sendable (DecoderStarvation) -> Void) {
        releasesTogether = max(devicePictures / 8, 1)
        state = Mutex(State(plan: SlotPlan(limit: limit)))
        self.report = report
    }

    /// Sets the link to the helper.
    func connect(_ link: DecoderLink) { state.withLock { $0.link = link } }

    /// Whether the helper waits because the client holds all pictures.
    var isStarved: Bool { state.withLock { $0.plan.isStarved } }

    /// Handles the helper's request for a slot.
    ///
    /// - Throws: `malformedData` if it asks repeatedly or for a shape that no decoder returns, `outOfMemory`.
    func await(_ shape: PictureShape) throws(MediaError) {
        do throws(MediaError) {
            _ = try shape.layout()
        } catch {
            throw MediaError(.malformedData, "\(HelperHost.peer): \(error.message)", given: error.given)
        }
        let isNew = try state.withLock { (state) throws(MediaError) in
            guard let actions = state.plan.await(shape) else { return false }
            try state.perform(actions)
            if state.plan.isStarved { state.starvedSince = .now }
            return true
        }
        guard isNew else {
            throw MediaError(.malformedData, "\(HelperHost.peer) asked for memory without returning a picture")
        }
        flush()
    }

    /// Returns a picture, whose release frees its slot.
    ///
    /// - Throws: `malformedData` if the helper did not have the slot.
    func picture(_ description: PixelBuffer.Description, in slot: UInt32) throws(MediaError) -> PixelBuffer {
        let memory = state.withLock { state in
            state.plan.hold(slot, description.shape) ? state.memory[slot] : nil
        }
        guard let memory else {
            throw MediaError(
                .malformedData,
                "\(HelperHost.peer) returned a picture in memory that it did not have",
                given: "slot \(slot), \(description.width)x\(description.height) \(description.format.rawValue)"
            )
        }
        return try memory.picture(description) { [weak self] in self?.release(slot) }
    }

    private func release(_ slot: UInt32) {
        let (end, link) = state.withLock { state -> (DecoderStarvation?, DecoderLink?) in
            let wasStarved = state.plan.isStarved
            do throws(MediaError) {
                try state.perform(state.plan.release(slot))
            } catch {
                state.failure = state.failure ?? error
            }
            guard wasStarved, !state.plan.isStarved else { return (nil, nil) }
            let since = state.starvedSince.take()
            defer { state.isReported = false }
            return (state.isReported ? since.map { .ended(after: .now - $0) } : nil, state.link)
        }
        // From here on, it is the helper that is waited for.
        link?.noteWork()
        if let end { report(end) }
        flush()
    }

    /// Releases a picture on the device. The helper learns of it with the next sample, or when several are released.
    func releaseDevicePicture(_ id: UInt64) {
        let isEnough = state.withLock { state in
            state.released.append(id)
            return state.released.count >= releasesTogether
        }
        if isEnough { sendReleased() }
    }

    /// Returns the released pictures on the device, for a message to the helper.
    func takeReleased() -> [UInt64] {
        state.withLock { state in
            let count = min(state.released.count, WireLimits.devicePictures)
            defer { state.released.removeFirst(count) }
            return Array(state.released.prefix(count))
        }
    }

    /// Tells the helper which pictures on the device were released.
    func sendReleased() {
        let ids = takeReleased()
        if ids.isEmpty { return }
        state.withLock { $0.unsent.append(.init(message: .release(ids: ids))) }
        flush()
    }

    /// Gives the decoder up. The helper is told so as soon as it can be told: if the connection were closed instead, pictures
    /// would be lost that orders to encoders name.
    func cancel(_ link: DecoderLink, because error: MediaError) {
        guard link.cancel(because: error) else { return }
        state.withLock { $0.unsent.append(.init(message: .close)) }
        flush()
    }

    /// Sends the messages that were not sent yet, as far as possible without waiting.
    func flush() {
        while sending.withLockIfAvailable({ _ in sendAll() }) == true, state.withLock({ !$0.unsent.isEmpty }) {}
    }

    /// - Returns: Whether all messages were sent.
    private func sendAll() -> Bool {
        while true {
            let (first, link) = state.withLock { ($0.unsent.first, $0.link) }
            guard let first else { return true }
            guard let link, link.sendIfPossible(first.message, descriptor: first.memory?.descriptor.number) else {
                return false
            }
            state.withLock { _ = $0.unsent.removeFirst() }
        }
    }

    /// Reports a wait that has lasted a while.
    ///
    /// - Parameter patience: The time after which it is reported.
    /// - Returns: How long the helper has been waiting; `nil` if it does not wait.
    /// - Throws: `outOfMemory` if a slot could not be replaced.
    func checkStarvation(reportedAfter patience: Duration) throws(MediaError) -> Duration? {
        let (waited, begin) = try state.withLock { (state) throws(MediaError) -> (Duration?, DecoderStarvation?) in
            if let failure = state.failure { throw failure }
            guard state.plan.isStarved, let since = state.starvedSince else { return (nil, nil) }
            let waited = SuspendingClock.now - since
            guard !state.isReported, waited >= patience else { return (waited, nil) }
            state.isReported = true
            return (waited, .began(pictures: state.plan.heldCount))
        }
        if let begin { report(begin) }
        return waited
    }
}

extension DecodedSlots.State {
    /// Allocates memory for the actions, and queues their messages.
    fileprivate mutating func perform(_ actions: [SlotPlan.Action]) throws(MediaError) {
        for action in actions {
            switch action {
            case .offer(let slot):
                guard let shape = plan.shape else { continue }
                let memory = try SlotMemory(shape)
                self.memory[slot] = memory
                let layout = memory.layout
                let offer = SlotOffer(slot: slot, shape: shape, byteCount: layout.byteCount, planes: layout.planes)
                unsent.append(.init(message: .offer(offer), memory: memory))
            case .free(let slot): unsent.append(.init(message: .free(slot: slot)))
            case .forget(let slot):
                memory[slot] = nil
                unsent.append(.init(message: .forget(slot: slot)))
            }
        }
    }
}
