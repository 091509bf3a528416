// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
internal import MediaTypes
internal import Synchronization
internal import VAAPI

/// Pictures on their way through the device: one thread submits them, and they are waited for in the same order.
///
/// While pictures follow each other the thread that submits waits for them, too, when there is no place for another one:
/// until half of the places are free, so that what comes of it comes together. That wakes nobody. When it pauses another
/// thread waits for what is left.
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
        /// Whether one of the threads waits for the first picture in flight.
        var isCollecting = false
        /// Whether the submitting thread has paused since the last picture.
        var isPaused = false
        /// Whether the collecting thread is awake, and looks again before it sleeps.
        var isCollectorAwake = false
        /// Whether the submitting thread sleeps until nobody collects.
        var isSubmitterWaiting = false
    }

    /// A picture that is waited for, by one thread at a time.
    private typealias Turn = (picture: Picture, output: Output)

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
    /// Wakes the submitting thread when the other one collects no more.
    private let turn = DispatchSemaphore(value: 0)
    /// Wakes the collecting thread.
    private let work = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    /// How often a picture is sent again before it counts as failed; its buffer is doubled each time.
    private static var attempts: Int { 3 }

    /// - Parameters:
    ///   - context: The encoder of the driver's, which the pipeline owns.
    ///   - depth: How many pictures may be in flight.
    ///   - capacity: The size of coded buffers in bytes; more than a picture can have.
    ///   - take: Takes what was coded. Called by one thread at a time, in order of submission.
    ///   - fail: Called once, on the same threads, when a picture has failed. Nothing comes after it.
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

    /// Submits a picture, when there is a place for it. What comes out is taken by the next call, or after ``pause()``.
    ///
    /// - Throws: why the picture, or one before it, has failed. Nothing more can be submitted then.
    func submit(_ picture: Picture) throws(MediaError) {
        let isFull = state.withLock { $0.inFlight.count >= depth }
        try collect(until: isFull ? depth / 2 : depth)
        do throws(MediaError) {
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
            throw error
        }
    }

    /// Has the other thread wait for what is in flight, until the next picture is submitted.
    func pause() {
        let isWoken = state.withLock { state in
            state.isPaused = true
            guard !state.isCollectorAwake, !state.inFlight.isEmpty, state.failure == nil else { return false }
            state.isCollectorAwake = true
            return true
        }
        if isWoken { work.signal() }
    }

    /// Waits until everything that was submitted has come out.
    ///
    /// - Throws: why a picture has failed.
    func drain() throws(MediaError) { try collect(until: 0) }

    /// Waits for pictures until so many are left in flight.
    ///
    /// - Throws: why a picture has failed.
    private func collect(until most: Int) throws(MediaError) {
        while true {
            let (isOver, next) = try state.withLock { (state) throws(MediaError) -> (Bool, Turn?) in
                state.isPaused = false
                if let failure = state.failure { throw failure }
                guard state.inFlight.count > most, let first = state.inFlight.first else { return (true, nil) }
                state.isSubmitterWaiting = state.isCollecting
                if state.isCollecting { return (false, nil) }
                state.isCollecting = true
                return (false, first)
            }
            if isOver { return }
            if let next { try collect(next) } else { turn.wait() }
        }
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

    private func send(_ picture: Picture, _ output: Output) throws(MediaError) {
        let parameters = try picture.parameters(output: output.buffer.id)
        try calling(.frameFailed) { () throws(VAError) in
            try context.submit(picture.input, into: output.buffer, parameters)
        }
    }

    // MARK: - The collecting side

    /// Waits for pictures whenever the submitting thread has paused.
    private func collect() {
        while true {
            work.wait()
            while let next = nextTurn() {
                guard (try? collect(next)) != nil else { return }
            }
            if state.withLock({ $0.isClosing }) { return }
        }
    }

    /// The picture that the collecting thread is to wait for; `nil` if it is to sleep.
    private func nextTurn() -> Turn? {
        state.withLock { state in
            guard state.isPaused, !state.isClosing, !state.isCollecting, state.failure == nil,
                let first = state.inFlight.first
            else {
                state.isCollectorAwake = false
                return nil
            }
            state.isCollecting = true
            return first
        }
    }

    /// Waits for the first picture in flight, and makes its place free.
    ///
    /// - Throws: why it has failed, which was told.
    private func collect(_ first: Turn) throws(MediaError) {
        do throws(MediaError) {
            let output = try output(of: first.picture, first.output)
            endTurn { state in
                state.inFlight.removeFirst()
                state.free.append(output)
            }
        } catch {
            endTurn { $0.failure = error }
            fail(error)
            throw error
        }
    }

    /// Lets another thread wait for the next picture.
    private func endTurn(_ change: (inout State) -> Void) {
        let isAwaited = state.withLock { state in
            change(&state)
            state.isCollecting = false
            defer { state.isSubmitterWaiting = false }
            return state.isSubmitterWaiting
        }
        if isAwaited { turn.signal() }
    }

    /// Waits for the picture that was submitted first, and has it taken.
    ///
    /// - Returns: the buffer that it came in.
    private func output(of picture: Picture, _ first: Output) throws(MediaError) -> Output {
        var output = first
        if try outcome(of: picture, output) == .taken { return output }
        for _ in 0..<Self.attempts {
            output = try sendAgain(capacity: output.buffer.capacity * 2)
            if try outcome(of: picture, output) == .taken { return output }
        }
        throw MediaError(
            .frameFailed,
            "the coded picture did not fit its buffer",
            given: "\(output.buffer.capacity) bytes in the last attempt"
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
