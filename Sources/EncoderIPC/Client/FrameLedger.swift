// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import Dispatch
internal import MediaTypes
internal import Synchronization

/// The client's end of the ring: takes coded data out of memory that the helper writes.
struct CodedRing: Sendable {
    private let mapping: SharedMapping

    init(_ mapping: SharedMapping) { self.mapping = mapping }

    /// The size of a ring: room for two frames that are as large as their pictures, and at least 1 MiB. Memory is used
    /// only as far as it was ever written.
    static func byteCount(for configuration: EncoderConfiguration) -> Int {
        let sides = 1...PixelBuffer.maximumDimension
        guard sides.contains(configuration.width), sides.contains(configuration.height) else { return 1 << 20 }
        let chroma = configuration.chromaFormat
        let luma = configuration.width * configuration.height
        let samples = luma + 2 * luma / (chroma.horizontalSubsampling * chroma.verticalSubsampling)
        return max(1 << 20, samples * (configuration.bitDepth > 8 ? 4 : 2))
    }

    /// Copies data out, so that the helper can change them no more and their place is free again.
    ///
    /// - Throws: `malformedData` if they do not lie in the ring.
    func data(offset: Int, byteCount: Int) throws(MediaError) -> CodedData {
        guard (0...mapping.byteCount).contains(offset), (0...mapping.byteCount - offset).contains(byteCount) else {
            throw MediaError(
                .malformedData,
                "\(HelperLink.peer) returned a frame outside of the memory for coded frames",
                given: "\(byteCount) bytes at \(offset)",
                allowed: "\(mapping.byteCount) bytes"
            )
        }
        return CodedData(UnsafeRawBufferPointer(start: mapping.base + offset, count: byteCount))
    }
}

/// What the helper has: frames that have not come out, and pictures that it still reads. Holds every message of the
/// helper against that.
///
/// A frame that was given is either outstanding or was given to the output, never both and never neither. Nothing comes
/// out any more after ``settle()``, ``close()`` or an error that was given to the output, so both sets are final then.
final class FrameLedger: Sendable {
    fileprivate struct State {
        weak var link: HelperLink?
        var properties: EncoderProperties?
        /// Whether nothing is given to the session any more.
        var isClosed = false
        /// Why: what the session was told, or would have been.
        var failure: MediaError?
        /// Frames that were given, and have not come out.
        var outstanding: Set<Int64> = []
        /// Pictures that the helper reads, by frame.
        var lent: [Int64: PixelBuffer] = [:]
        /// How many frames were taken out of the ring.
        var taken: UInt64 = 0
        /// Frames that were given without waiting for the answer, in their order, as they will be told of.
        var unanswered: [TakenFrame] = []
        /// Whether somebody waits until fewer are unanswered.
        var isRoomAwaited = false
    }

    /// How many frames may be unanswered. It is less than a helper allows.
    private static let mostUnanswered = 8

    private let ring: CodedRing
    /// Called under the lock; it never blocks, and asks nothing of the ledger.
    private let output: @Sendable (EncoderOutput) -> Void
    /// Called for frames that were given without waiting, under the same conditions.
    private let tellTaken: (@Sendable (TakenFrame) -> Void)?
    private let state = Mutex(State())
    /// Signalled when fewer frames are unanswered, or none will be answered any more.
    private let room = DispatchSemaphore(value: 0)

    init(
        ring: CodedRing,
        taken: (@Sendable (TakenFrame) -> Void)? = nil,
        output: @escaping @Sendable (EncoderOutput) -> Void
    ) {
        self.ring = ring
        tellTaken = taken
        self.output = output
    }

    /// Names the link, to which room in the ring is given back.
    func connect(_ link: HelperLink) { state.withLock { $0.link = link } }

    /// From here on frames may come out.
    func open(_ properties: EncoderProperties) { state.withLock { $0.properties = properties } }

    /// From here on nothing is given to the session: a call has failed, and what has not come out by now is lost.
    func settle() { state.withLock { $0.isClosed = true } }

    /// The same, and nobody cares for the pictures any more.
    func close() {
        let lent = state.withLock { state in
            state.isClosed = true
            defer { state.lent = [:] }
            return state.lent
        }
        withExtendedLifetime(lent) {}
    }

    /// Notes a frame that is about to be given.
    func lend(_ picture: PixelBuffer, _ number: Int64) {
        state.withLock { state in
            state.outstanding.insert(number)
            state.lent[number] = picture
        }
    }

    /// What the link is to know of frames that are given without waiting.
    ///
    /// - Parameter patience: How long their answers are waited for.
    func frames(within patience: Duration) -> HelperLink.Frames {
        HelperLink.Frames(
            patience: patience,
            areDue: { self.state.withLock { !$0.unanswered.isEmpty } },
            answer: { (message) throws(MediaError) in try self.answer(message) }
        )
    }

    /// Notes that a frame's answer is to come; waits before if there are as many as may be, until half of them have come
    /// or the link says that none will.
    func expectAnswer(to frame: TakenFrame) {
        while true {
            let isNoted = state.withLock { state in
                guard state.unanswered.count < Self.mostUnanswered || state.isClosed else {
                    state.isRoomAwaited = true
                    return false
                }
                state.unanswered.append(frame)
                return true
            }
            if isNoted { return }
            room.wait()
        }
    }

    /// Tells of a frame that the helper has taken; of one whose answer was waited for, too.
    func tell(_ frame: TakenFrame) {
        state.withLock { state in
            if !state.isClosed { tellTaken?(frame) }
        }
    }

    /// Takes the answer to a frame that was given without waiting.
    ///
    /// - Returns: Whether it is one: frames are answered in their order, before what was asked after them.
    /// - Throws: `malformedData` if it is the answer to another order.
    private func answer(_ message: HelperMessage) throws(MediaError) -> Bool {
        guard let first = state.withLock({ $0.unanswered.first }) else { return false }
        switch message {
        case .accepted(first.number, let released, let copies):
            for number in released { try release(number) }
            var taken = first
            taken.copies += Int(copies)
            tell(taken)
        case .callFailed(let error): fail(error, keepsPictures: true)
        default: throw lie("replied to another request", "\(message.kind)")
        }
        let isRoom = state.withLock { state in
            state.unanswered.removeFirst()
            return state.endWait(atMost: Self.mostUnanswered / 2)
        }
        if isRoom { room.signal() }
        return true
    }

    /// What has become of the encoder, if it has failed.
    var failure: MediaError? { state.withLock { $0.failure } }

    /// The frames that have not come out.
    var outstanding: Set<Int64> { state.withLock { $0.outstanding } }

    /// The encoder has failed, and the session is told.
    ///
    /// - Parameter keepsPictures: Whether the helper may still read pictures; they are free when it is gone.
    func fail(_ error: MediaError, keepsPictures: Bool = false) {
        let (lent, isRoom) = state.withLock { state in
            if !state.isClosed { output(.failed(error)) }
            state.isClosed = true
            state.failure = state.failure ?? error
            defer { if !keepsPictures { state.lent = [:] } }
            return (keepsPictures ? [:] : state.lent, state.endWait(atMost: .max))
        }
        if isRoom { room.signal() }
        withExtendedLifetime(lent) {}
    }

    /// Takes a message that answers no order.
    ///
    /// - Returns: Whether the helper has less to do now: a frame came out, or a picture came back.
    /// - Throws: `malformedData` if it does not fit to what the helper was given.
    func handle(_ message: HelperMessage) throws(MediaError) -> Bool {
        switch message {
        case .coded(let notice): return try take(notice)
        case .released(let number): return try release(number)
        case .roomWanted:
            let (link, taken) = state.withLock { ($0.link, $0.taken) }
            try link?.tell(.taken(count: taken), within: .seconds(10))
        case .failed(let error): fail(error, keepsPictures: true)
        default: throw lie("sent an unexpected message", "\(message.kind)")
        }
        return false
    }

    /// Takes a picture back.
    ///
    /// - Returns: Whether the helper had it; after the end that does not matter.
    /// - Throws: `malformedData` if the helper did not have it.
    @discardableResult
    func release(_ number: Int64) throws(MediaError) -> Bool {
        let picture = state.withLock { $0.lent.removeValue(forKey: number) }
        guard picture != nil || state.withLock({ $0.isClosed }) else {
            throw lie("released a picture that it did not have", "frame \(number)")
        }
        return picture != nil
    }

    /// - Returns: Whether the frame came out; after the end none does.
    private func take(_ notice: CodedNotice) throws(MediaError) -> Bool {
        let (isKnown, properties, isClosed) = state.withLock { state in
            (state.outstanding.contains(notice.number), state.properties, state.isClosed)
        }
        if isClosed {
            state.withLock { $0.taken += 1 }
            return false
        }
        guard isKnown, let properties else {
            throw lie("returned a frame that it did not have", "frame \(notice.number)")
        }
        let format = properties.formatDescription
        if let reason = notice.formatDescription?
            .reasonAgainst(codec: format.codec, width: format.width, height: format.height)
        {
            throw lie(reason, "frame \(notice.number)")
        }
        let frame = CodedFrame(
            number: notice.number,
            data: try ring.data(offset: notice.offset, byteCount: notice.byteCount),
            isKeyFrame: notice.isKeyFrame,
            isReference: notice.isReference,
            isDropped: notice.isDropped,
            formatDescription: notice.formatDescription
        )
        return state.withLock { state in
            state.taken += 1
            guard !state.isClosed else { return false }
            state.outstanding.remove(frame.number)
            output(.coded(frame))
            return true
        }
    }

    private func lie(_ what: String, _ given: String) -> MediaError {
        MediaError(.malformedData, "\(HelperLink.peer) \(what)", given: given)
    }
}

extension FrameLedger.State {
    /// Notes that a wait for fewer unanswered frames is over if there are so many.
    ///
    /// - Returns: Whether somebody waited for that.
    fileprivate mutating func endWait(atMost most: Int) -> Bool {
        guard isRoomAwaited, unanswered.count <= most else { return false }
        isRoomAwaited = false
        return true
    }
}

extension FormatDescription {
    /// What a stream of that codec and size cannot be, or `nil`.
    func reasonAgainst(codec: VideoCodec, width: Int, height: Int) -> String? {
        guard self.codec == codec else { return "encodes \(self.codec.rawValue) instead of \(codec.rawValue)" }
        guard (self.width, self.height) == (width, height) else {
            return "encodes \(self.width)x\(self.height) instead of \(width)x\(height)"
        }
        return parameterSets.isEmpty ? "returned no parameter sets" : nil
    }
}
