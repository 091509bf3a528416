// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes
internal import Synchronization

extension CodedRing {
    /// The size of a ring: room for two frames that are as large as their pictures, and at least 1 MiB. Memory is only
    /// allocated as far as it was written.
    static func byteCount(width: Int, height: Int, chromaFormat: ChromaFormat, bitDepth: Int) -> Int {
        let sides = 1...PixelBuffer.maximumDimension
        guard sides.contains(width), sides.contains(height) else { return 1 << 20 }
        return max(1 << 20, chromaFormat.sampleCount(luma: width * height) * (bitDepth > 8 ? 4 : 2))
    }

    /// The size of a ring for the frames of an encoder.
    static func byteCount(for configuration: EncoderConfiguration) -> Int {
        byteCount(
            width: configuration.width,
            height: configuration.height,
            chromaFormat: configuration.chromaFormat,
            bitDepth: configuration.bitDepth
        )
    }
}

/// The frames that the helper has not returned, and the pictures that it still reads. Every message of the helper is
/// checked against this state.
///
/// A submitted frame is either outstanding or was passed to the output, never both and never neither. After
/// ``settle()``, ``close()`` or an error that was passed to the output, no frame is returned any more, so both sets are
/// final.
final class FrameLedger: Sendable {
    fileprivate struct State {
        weak var link: EncoderLink?
        var properties: EncoderProperties?
        /// Whether nothing is passed to the session any more.
        var isClosed = false
        /// The error that the session received, or would have received.
        var failure: MediaError?
        /// The frames that were submitted and not returned.
        var outstanding: Set<Int64> = []
        /// The pictures that the helper reads, by frame.
        var lent: [Int64: PixelBuffer] = [:]
        /// The number of frames that were taken from the ring.
        var taken: UInt64 = 0
    }

    /// The frames that were submitted without waiting for the answer, with the values to report.
    private let unanswered = UnansweredOrders<TakenFrame>()

    private let ring: CodedRing
    /// Called under the lock; it never blocks and does not call the ledger.
    private let output: @Sendable (EncoderOutput) -> Void
    /// Called for frames that were submitted without waiting, under the same conditions.
    private let tellTaken: (@Sendable (TakenFrame) -> Void)?
    private let state = Mutex(State())

    init(
        ring: CodedRing,
        taken: (@Sendable (TakenFrame) -> Void)? = nil,
        output: @escaping @Sendable (EncoderOutput) -> Void
    ) {
        self.ring = ring
        tellTaken = taken
        self.output = output
    }

    /// Sets the link to which space in the ring is returned.
    func connect(_ link: EncoderLink) { state.withLock { $0.link = link } }

    /// Allows frames to be returned from here on.
    func open(_ properties: EncoderProperties) { state.withLock { $0.properties = properties } }

    /// Ends the output to the session: a call has failed, and frames that were not returned are lost.
    func settle() {
        state.withLock { $0.isClosed = true }
        unanswered.end()
    }

    /// Ends the output to the session and releases the pictures.
    func close() {
        let lent = state.withLock { state in
            state.isClosed = true
            defer { state.lent = [:] }
            return state.lent
        }
        withExtendedLifetime(lent) {}
    }

    /// Records a frame that is about to be submitted.
    func lend(_ picture: PixelBuffer, _ number: Int64) {
        state.withLock { state in
            state.outstanding.insert(number)
            state.lent[number] = picture
        }
    }

    /// Returns the link's handlers for frames that are submitted without waiting.
    ///
    /// - Parameter patience: The deadline for their answers.
    func frames(within patience: Duration) -> EncoderLink.Submissions {
        EncoderLink.Submissions(
            patience: patience,
            purpose: "encode a frame",
            areDue: { self.unanswered.count > 0 },
            answer: { (message) throws(MediaError) in try self.answer(message) }
        )
    }

    /// Records that the answer to a frame is pending, after waiting while too many are.
    func expectAnswer(to frame: TakenFrame) {
        unanswered.waitForRoom()
        unanswered.append(frame)
    }

    /// Reports a frame that the helper has accepted, including one whose answer was awaited.
    func tell(_ frame: TakenFrame) {
        state.withLock { state in
            if !state.isClosed { tellTaken?(frame) }
        }
    }

    /// Handles the answer to a frame that was submitted without waiting.
    ///
    /// - Returns: Whether it is such an answer: frames are answered in order, before later orders.
    /// - Throws: `malformedData` if it answers another order.
    private func answer(_ message: EncoderHelperMessage) throws(MediaError) -> Bool {
        guard let first = unanswered.first else { return false }
        switch message {
        case .accepted(first.number, let released, let copies):
            for number in released { try release(number) }
            var taken = first
            taken.copies += Int(copies)
            tell(taken)
        case .callFailed(let error): fail(error, keepsPictures: true)
        default: throw lie("replied to another request", "\(message.kind)")
        }
        unanswered.removeFirst()
        return true
    }

    /// The error of the encoder, if it has failed.
    var failure: MediaError? { state.withLock { $0.failure } }

    /// The frames that were not returned.
    var outstanding: Set<Int64> { state.withLock { $0.outstanding } }

    /// Fails the encoder and reports the error to the session.
    ///
    /// - Parameter keepsPictures: Whether the helper may still read pictures; they are released when it has ended.
    func fail(_ error: MediaError, keepsPictures: Bool = false) {
        let error = error.ofRemoteEncoder
        let lent = state.withLock { state in
            if !state.isClosed { output(.failed(error)) }
            state.isClosed = true
            state.failure = state.failure ?? error
            defer { if !keepsPictures { state.lent = [:] } }
            return keepsPictures ? [:] : state.lent
        }
        unanswered.end()
        withExtendedLifetime(lent) {}
    }

    /// Handles a message that answers no order.
    ///
    /// - Returns: Whether the helper made progress: a frame or a picture was returned.
    /// - Throws: `malformedData` if it does not match what the helper was given.
    func handle(_ message: EncoderHelperMessage) throws(MediaError) -> Bool {
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
    /// - Returns: Whether the helper had it; after the end, this does not matter.
    /// - Throws: `malformedData` if the helper did not have it.
    @discardableResult
    func release(_ number: Int64) throws(MediaError) -> Bool {
        let picture = state.withLock { $0.lent.removeValue(forKey: number) }
        guard picture != nil || state.withLock({ $0.isClosed }) else {
            throw lie("released a picture that it did not have", "frame \(number)")
        }
        return picture != nil
    }

    /// - Returns: Whether the frame was returned; after the end, none is.
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
            data: try ring.data(offset: notice.offset, byteCount: notice.byteCount, from: HelperHost.peer),
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
        MediaError(.malformedData, "\(HelperHost.peer) \(what)", given: given)
    }
}

extension FormatDescription {
    /// Returns the reason why the description cannot belong to a stream of that codec and size; `nil` if it can.
    func reasonAgainst(codec: VideoCodec, width: Int, height: Int) -> String? {
        guard self.codec == codec else { return "encodes \(self.codec.rawValue) instead of \(codec.rawValue)" }
        guard (self.width, self.height) == (width, height) else {
            return "encodes \(self.width)x\(self.height) instead of \(width)x\(height)"
        }
        return parameterSets.isEmpty ? "returned no parameter sets" : nil
    }
}

extension MediaError {
    /// The error of an encoder in a helper, in which a lost picture is like any other failure: only this end knows which
    /// pictures are lost, before an encoder gets them.
    var ofRemoteEncoder: MediaError {
        guard code == .pictureLost else { return self }
        var failure = self
        failure.code = .frameFailed
        return failure
    }
}
