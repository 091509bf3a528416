// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
internal import MediaTypes
internal import Synchronization
internal import VAAPI

/// Pictures on their way through the device: one thread submits them, another waits for them in the same order.
///
/// A picture that does not fit its coded buffer is sent again with a larger one, and with it all that were submitted
/// after it, for they were predicted from what it was: the same pictures with the same parameters, once everything that
/// was under way has come out.
final class Pipeline<Picture: PictureInFlight>: Sendable {
    /// What became of a picture that the device has finished.
    enum Outcome {
        /// It is coded and was taken.
        case taken
        /// It did not fit the coded buffer.
        case overflown
    }

    private struct State {
        /// In the order of submission.
        var inFlight: [(picture: Picture, output: Output)] = []
        var free: [Output] = []
        var failure: MediaError?
        var isClosing = false
    }

    /// A coded buffer that pictures use one after the other.
    private final class Output: Sendable {
        let buffer: CodedBuffer
        init(_ buffer: consuming CodedBuffer) { self.buffer = buffer }
    }

    private let context: Context
    private let depth: Int
    private let take: @Sendable (Picture, CodedSegments) throws(MediaError) -> Outcome
    private let fail: @Sendable (MediaError) -> Void

    private let state = Mutex(State())
    /// Held while pictures are submitted, so that the order of submission is that of the state.
    private let submission = Mutex(())
    /// Places in flight. It begins with none, because semaphores must not end below where they began.
    private let slots = DispatchSemaphore(value: 0)
    /// Pictures to wait for, and once more for the end.
    private let work = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    /// How often a picture is sent again before it counts as failed; its buffer is doubled each time.
    private static var attempts: Int { 3 }

    /// - Parameters:
    ///   - context: The encoder of the driver's, which the pipeline owns.
    ///   - depth: How many pictures may be in flight.
    ///   - capacity: The size of coded buffers in bytes; more than a picture can have.
    ///   - take: Takes what was coded. Called on the collecting thread, in order of submission.
    ///   - fail: Called once, on the collecting thread, when a picture has failed. Nothing comes after it.
    /// - Throws: ``MediaError`` if a coded buffer or a thread cannot be had.
    init(
        context: consuming Context,
        depth: Int,
        capacity: Int,
        take: @escaping @Sendable (Picture, CodedSegments) throws(MediaError) -> Outcome,
        fail: @escaping @Sendable (MediaError) -> Void
    ) throws(MediaError) {
        self.context = context
        self.depth = depth
        self.take = take
        self.fail = fail
        for _ in 0..<depth {
            slots.signal()
            let output = try makeOutput(capacity: capacity)
            state.withLock { $0.free.append(output) }
        }
        // The thread lets go of the pipeline before it tells that it has ended: whoever closes the pipeline holds the
        // context as the last one, and is not through before the driver is.
        let (pipeline, ended) = (Handover(self), ended)
        try PlainThread.start(name: "vt-collect") {
            pipeline.take()?.collect()
            ended.signal()
        }
    }

    private func makeOutput(capacity: Int) throws(MediaError) -> Output {
        Output(try calling(.creationFailed) { () throws(VAError) in try context.makeCodedBuffer(capacity: capacity) })
    }

    // MARK: - The submitting side

    /// Submits a picture, when there is a place for it.
    ///
    /// - Throws: why the picture, or one before it, has failed. Nothing more can be submitted then.
    func submit(_ picture: Picture) throws(MediaError) {
        slots.wait()
        do throws(MediaError) {
            try checkFailure()
            try submission.withLock { (_) throws(MediaError) in
                guard let output = state.withLock({ $0.free.popLast() }) else {
                    throw MediaError(.frameFailed, "no coded buffer is free")
                }
                try send(picture, output)
                state.withLock { $0.inFlight.append((picture, output)) }
            }
        } catch {
            state.withLock { state in
                if state.failure == nil { state.failure = error }
            }
            slots.signal()
            throw error
        }
        work.signal()
    }

    /// Waits until everything that was submitted has come out.
    ///
    /// - Throws: why a picture has failed.
    func drain() throws(MediaError) {
        for _ in 0..<depth { slots.wait() }
        for _ in 0..<depth { slots.signal() }
        try checkFailure()
    }

    /// Ends the collecting thread, after the picture that it waits for, and waits for the others, so that the driver uses
    /// nothing of them any more. To be called once, before the pipeline is let go of; with a device that hangs it does not
    /// return.
    func close() {
        state.withLock { $0.isClosing = true }
        work.signal()
        ended.wait()
        for left in state.withLock({ $0.inFlight }) {
            // Whatever went wrong with it: it is over.
            _ = try? left.output.buffer.wait()
        }
    }

    private func checkFailure() throws(MediaError) {
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    private func send(_ picture: Picture, _ output: Output) throws(MediaError) {
        let parameters = try picture.parameters(output: output.buffer.id)
        try calling(.frameFailed) { () throws(VAError) in
            try context.submit(picture.input, into: output.buffer, parameters)
        }
    }

    // MARK: - The collecting side

    private func collect() {
        while true {
            work.wait()
            let next = state.withLock { $0.isClosing || $0.failure != nil ? nil : $0.inFlight.first }
            guard let next else { break }
            do throws(MediaError) {
                let output = try collect(next.picture, next.output)
                state.withLock { state in
                    state.inFlight.removeFirst()
                    state.free.append(output)
                }
                slots.signal()
            } catch {
                state.withLock { $0.failure = error }
                fail(error)
                // Whoever waits for a place finds the failure.
                for _ in 0..<depth { slots.signal() }
                break
            }
        }
    }

    /// Waits for the picture that was submitted first, and has it taken.
    ///
    /// - Returns: the buffer that it came in.
    private func collect(_ picture: Picture, _ first: Output) throws(MediaError) -> Output {
        var output = first
        if try outcome(of: picture, output) == .taken { return output }
        for _ in 0..<Self.attempts {
            output = try sendAgain(capacity: output.buffer.capacity * 2)
            if try outcome(of: picture, output) == .taken { return output }
        }
        throw MediaError(
            .frameFailed,
            "the picture did not fit its coded buffer",
            given: "\(output.buffer.capacity) bytes at last"
        )
    }

    private func outcome(of picture: Picture, _ output: Output) throws(MediaError) -> Outcome {
        let outcome: Result<Outcome, MediaError>
        do throws(VAError) {
            outcome = try output.buffer.withSegments { segments in
                Result { () throws(MediaError) in try take(picture, segments) }
            }
        } catch {
            // So Intel's driver tells that a coded buffer was too small.
            if error.status == .notEnoughBuffer { return .overflown }
            throw MediaError(error, .frameFailed)
        }
        return try outcome.get()
    }

    /// Sends the picture that was submitted first again, into a new buffer, and what was submitted after it.
    private func sendAgain(capacity: Int) throws(MediaError) -> Output {
        try submission.withLock { (_) throws(MediaError) in
            let larger = try makeOutput(capacity: capacity)
            var all = state.withLock { $0.inFlight }
            try calling(.frameFailed) { () throws(VAError) in
                for later in all.dropFirst() { _ = try later.output.buffer.wait() }
            }
            all[0].output = larger
            for (picture, output) in all { try send(picture, output) }
            state.withLock { [all] in $0.inFlight = all }
            return larger
        }
    }
}

/// Something that one thread leaves for another, which takes it once.
private final class Handover<Value: Sendable>: Sendable {
    private let value: Mutex<Value?>

    init(_ value: Value) { self.value = Mutex(value) }

    func take() -> Value? { value.withLock { $0.take() } }
}

/// A picture with all that it takes to submit it, once or again. It keeps the surfaces that it needs.
protocol PictureInFlight: Sendable {
    /// What it is coded from.
    var input: Surface { get }

    /// What the driver is told of it.
    ///
    /// - Parameter output: the buffer that it is coded into.
    func parameters(output: UInt32) throws(MediaError) -> ParameterList
}
