// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
internal import HardwareDisplay
internal import MediaTypes
internal import Synchronization
internal import VAAPI

/// The pictures that the device is processing: one thread submits them, and they are awaited in the same order.
///
/// While pictures are submitted continuously, the submitting thread also waits for them when all slots are in use,
/// until half of the slots are free, so that output is delivered in batches. This wakes no other thread. When
/// submission pauses, another thread waits for the remaining pictures.
///
/// A picture that does not fit its coded buffer is submitted again with a larger one, together with all pictures
/// submitted after it, which were predicted from it. They are the same pictures with the same parameters, submitted
/// once all work in progress is complete.
final class Pipeline<Picture: PictureInFlight>: Sendable {
    /// The outcome of a picture that the device has finished.
    enum Outcome {
        /// It is coded and was accepted.
        case taken
        /// It did not fit the coded buffer.
        case overflown
    }

    private struct State {
        /// The pictures in flight, in the order of submission.
        var inFlight: [(picture: Picture, output: Output)] = []
        var free: [Output] = []
        var failure: MediaError?
        var isClosing = false
        /// Whether a thread waits for the first picture in flight.
        var isCollecting = false
        /// Whether the submitting thread has paused since the last picture.
        var isPaused = false
        /// Whether the collecting thread is awake and checks again before it sleeps.
        var isCollectorAwake = false
        /// Whether the submitting thread sleeps until no thread is collecting.
        var isSubmitterWaiting = false
    }

    /// A picture that a thread waits for, one thread at a time.
    private typealias Turn = (picture: Picture, output: Output)

    /// A coded buffer, which is reused for pictures.
    private final class Output: Sendable {
        let buffer: CodedBuffer
        init(_ buffer: consuming CodedBuffer) { self.buffer = buffer }
    }

    private let context: Context
    private let depth: Int
    private let take: @Sendable (Picture, CodedSegments) throws(MediaError) -> Outcome
    private let fail: @Sendable (MediaError) -> Void

    private let state = Mutex(State())
    /// Locked while pictures are submitted, so that the order of submission matches the state.
    private let submission = Mutex(())
    /// Wakes the submitting thread when the other thread stops collecting.
    private let turn = DispatchSemaphore(value: 0)
    /// Wakes the collecting thread.
    private let work = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    /// The number of times that a picture is submitted again before it counts as failed; its buffer is doubled each
    /// time.
    private static var attempts: Int { 3 }

    /// - Parameters:
    ///   - context: The driver's encoder context, which the pipeline owns.
    ///   - depth: The maximum number of pictures in flight.
    ///   - capacity: The size of coded buffers in bytes, larger than any picture.
    ///   - take: Receives the coded segments. Called by one thread at a time, in the order of submission.
    ///   - fail: Called once, on the same threads, when a picture has failed. Nothing follows.
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
        // The thread releases the pipeline before it signals its end, so that the code that closes the pipeline holds
        // the last reference to the context and returns only after the driver has finished.
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

    /// Submits a picture when a slot is free. Its output is delivered by a later call, or after ``pause()``.
    ///
    /// - Throws: The error of this picture or an earlier one. No more pictures can be submitted after it.
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

    /// Lets the other thread wait for the pictures in flight until the next picture is submitted.
    func pause() {
        let isWoken = state.withLock { state in
            state.isPaused = true
            guard !state.isCollectorAwake, !state.inFlight.isEmpty, state.failure == nil else { return false }
            state.isCollectorAwake = true
            return true
        }
        if isWoken { work.signal() }
    }

    /// Waits until all submitted pictures are coded.
    ///
    /// - Throws: The error of a picture.
    func drain() throws(MediaError) { try collect(until: 0) }

    /// Waits until at most that many pictures are in flight.
    ///
    /// - Throws: The error of a picture.
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

    /// Ends the collecting thread after its current picture and waits for the other pictures, so that the driver no
    /// longer uses them. Call this once, before the pipeline is released. It does not return if the device hangs.
    func close() {
        state.withLock { $0.isClosing = true }
        work.signal()
        ended.wait()
        for left in state.withLock({ $0.inFlight }) {
            // The result is irrelevant: the picture is no longer in progress.
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

    /// Waits for pictures while submission is paused.
    private func collect() {
        while true {
            work.wait()
            while let next = nextTurn() {
                guard (try? collect(next)) != nil else { return }
            }
            if state.withLock({ $0.isClosing }) { return }
        }
    }

    /// Returns the picture that the collecting thread waits for; `nil` if it sleeps.
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

    /// Waits for the first picture in flight and frees its slot.
    ///
    /// - Throws: Its error, which was already reported.
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

    /// Waits for the oldest submitted picture and delivers it.
    ///
    /// - Returns: The buffer that contained it.
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
            // Intel's driver reports a small coded buffer this way.
            if error.status == .notEnoughBuffer { return .overflown }
            throw MediaError(error, .frameFailed)
        }
        return try outcome.get()
    }

    /// Submits the oldest picture again with a new buffer, followed by all later pictures.
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

/// A value that one thread passes to another, which takes it once.
private final class Handover<Value: Sendable>: Sendable {
    private let value: Mutex<Value?>

    init(_ value: Value) { self.value = Mutex(value) }

    func take() -> Value? { value.withLock { $0.take() } }
}

/// A picture with everything that is needed to submit it, possibly more than once. It retains its surfaces.
protocol PictureInFlight: Sendable {
    /// The input surface.
    var input: Surface { get }

    /// Returns the parameters of the picture for the driver.
    ///
    /// - Parameter output: The coded buffer.
    func parameters(output: UInt32) throws(MediaError) -> ParameterList
}
