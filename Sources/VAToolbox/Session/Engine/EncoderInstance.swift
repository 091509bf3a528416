// SPDX-License-Identifier: GPL-2.0-or-later

import Dispatch
import MediaTypes
import Synchronization

/// One encoder on its own thread, which executes commands in order and posts events.
///
/// The thread holds the only reference to the encoder. If a call into the encoder does not return, the instance is
/// closed as hung: the thread stays blocked, and its objects are never used or freed again.
final class EncoderInstance: Sendable {
    enum Command {
        case encode(EncoderFrame)
        case update(EncoderConfiguration)
        case drain
    }

    private struct State {
        var commands: [Command] = []
        /// Whether the thread waits for a command.
        var isAsleep = false
        var isClosed = false
        var isHung = false
        /// Whether the thread has finished and the encoder is released, or was never created.
        var isReleased = false
        var waiters: [CheckedContinuation<Void, Never>] = []

        /// - Returns: Whether the thread waited and must be woken.
        mutating func wake() -> Bool {
            defer { isAsleep = false }
            return isAsleep
        }
    }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    private let conversions: ConversionTrial
    private let isPrompt: Bool
    private let post: @Sendable (SessionMachine.InstanceEvent) -> Void
    /// Whether the encoder was given a picture to convert.
    private let hasConverted = Atomic(false)
    /// Whether the encoder was given a picture on a device.
    private let hadDevicePictures = Atomic(false)

    /// - Parameters:
    ///   - conversions: The shared knowledge of a session's instances about encoders that convert pictures.
    ///   - isPrompt: Whether the encoder returns every frame as soon as possible, although others follow.
    ///   - post: Receives events on the instance's thread and on threads of the encoder; must not block.
    init(
        conversions: ConversionTrial,
        isPrompt: Bool,
        post: @escaping @Sendable (SessionMachine.InstanceEvent) -> Void
    ) {
        self.conversions = conversions
        self.isPrompt = isPrompt
        self.post = post
    }

    /// Starts the thread, which creates the encoder after a pause and then waits for commands.
    func start(
        factory: any EncoderFactory,
        configuration: EncoderConfiguration,
        maximumReorderDepth: Int?,
        after pause: Duration
    ) {
        let request = EncoderRequest(
            configuration: configuration,
            maximumReorderDepth: maximumReorderDepth,
            copiesOnDevice: !conversions.haveCopiesFailed,
            taken: { [post] frame in
                post(.frameDone(frame.number, copies: frame.copies, isConverted: frame.isConverted))
            },
            output: { [weak self, post] output in
                if case .failed = output { self?.noteFailure() }
                post(.output(output))
            }
        )
        do {
            try PlainThread.start(name: "vt-\(factory.identity.name)") {
                if self.isOpen(after: pause) { self.work(factory, request) }
                self.noteRelease()
            }
        } catch {
            post(.failed(error))
            noteRelease()
        }
    }

    /// Whether the encoder is released.
    var isReleased: Bool { state.withLock { $0.isReleased } }

    /// Waits until the encoder is released and no longer uses its device or any picture. Only for a closed instance;
    /// the wait ends after `limit` if the encoder is stuck in a call.
    func waitForRelease(atMost limit: Duration) async {
        let alarm = Alarm(after: limit, repeats: true) { self.wakeWaiters() }
        await withCheckedContinuation { continuation in
            let isReleased = state.withLock { state in
                if !state.isReleased { state.waiters.append(continuation) }
                return state.isReleased
            }
            if isReleased { continuation.resume() }
        }
        alarm.cancel()
    }

    /// Notes that the encoder has failed, and which pictures it was given.
    private func noteFailure() {
        conversions.noteFailure(
            converted: hasConverted.load(ordering: .relaxed),
            copied: hadDevicePictures.load(ordering: .relaxed)
        )
    }

    private func noteRelease() {
        state.withLock { $0.isReleased = true }
        wakeWaiters()
    }

    private func wakeWaiters() {
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Queues a command. It is ignored after ``close(isHung:)``.
    func send(_ command: Command) {
        let wasAsleep = state.withLock { state in
            guard !state.isClosed else { return false }
            state.commands.append(command)
            return state.wake()
        }
        if wasAsleep { wake.signal() }
    }

    /// Ends the thread after its current call and discards commands that have not started.
    ///
    /// - Parameter isHung: Whether the current call is considered hung. An encoder in this process is then leaked, even
    ///   if the call returns later.
    func close(isHung: Bool) {
        if isHung { noteFailure() }
        let (forgotten, wasAsleep) = state.withLock { state in
            state.isClosed = true
            state.isHung = isHung
            defer { state.commands = [] }
            return (state.commands, state.wake())
        }
        if wasAsleep { wake.signal() }
        withExtendedLifetime(forgotten) {}
    }

    /// Waits for a pause before the creation.
    ///
    /// - Returns: Whether the instance is still open; returns immediately when it is closed.
    private func isOpen(after pause: Duration) -> Bool {
        let end = ContinuousClock.now + pause
        while true {
            let left = end - .now
            let isClosed = state.withLock { state in
                state.isAsleep = left > .zero && !state.isClosed
                return state.isClosed
            }
            if isClosed || left <= .zero { return !isClosed }
            _ = wake.wait(timeout: .now() + (left / .seconds(1)))
        }
    }

    private func work(_ factory: any EncoderFactory, _ request: EncoderRequest) {
        let encoder: any EncoderBackend
        do {
            encoder = try factory.makeEncoder(request)
        } catch {
            return post(.failed(error))
        }
        defer { leakIfHung(encoder) }
        let memory: PixelBufferPool.Memory = encoder.isInOtherProcess ? .shared : .owned
        var properties = encoder.properties
        let isSuspect = properties.conversions != nil && conversions.hasFailed
        if isSuspect {
            properties.conversions = nil
            properties.adjustments.append(
                FrameAdapter.givenUp(properties, because: "an encoder failed while it converted pictures")
            )
        }
        let adapter = FrameAdapter(request.configuration, properties, memory: memory)
        post(.created(properties))
        do {
            while let command = nextCommand(for: encoder) { try carryOut(command, encoder, adapter) }
        } catch {
            noteFailure()
            // Reported before the encoder is released, because the release can take as long as its device.
            post(.failed(error))
        }
    }

    private func carryOut(
        _ command: Command,
        _ encoder: any EncoderBackend,
        _ adapter: FrameAdapter
    ) throws(MediaError) {
        switch command {
        case .encode(let frame):
            let copies = encoder.copiedPictures
            let isConverted: Bool
            do throws(MediaError) {
                isConverted = try encode(frame, encoder, adapter)
            } catch {
                reportCopies(since: copies, encoder)
                // The encoder was not called, and goes on.
                guard error.code == .pictureLost else { throw error }
                return post(.frameLost(frame.number, error))
            }
            // Called before the frame is reported, because the report may take longer.
            if isPrompt || !isFollowed { encoder.pause() }
            if encoder.takesLater { return }
            let more = max(0, encoder.copiedPictures - copies)
            post(.frameDone(frame.number, copies: more, isConverted: isConverted))
        case .update(let configuration):
            do {
                post(.updated(try encoder.update(configuration)))
            } catch  where error.isPermanent {
                post(.updateRefused(error))
            }
        case .drain:
            try encoder.drain()
            post(.drained)
        }
    }

    /// Encodes a frame. The encoder converts its picture if it can, otherwise this thread does.
    ///
    /// - Returns: Whether the encoder has converted the picture.
    private func encode(
        _ frame: EncoderFrame,
        _ encoder: any EncoderBackend,
        _ adapter: FrameAdapter
    ) throws(MediaError) -> Bool {
        let adapted = try adapter.adapt(frame)
        if adapted.conversion != nil { hasConverted.store(true, ordering: .relaxed) }
        switch adapted.buffer.storage {
        case .deviceSurface, .dmaBuf: hadDevicePictures.store(true, ordering: .relaxed)
        case .owned, .external, .sharedMemory, .file: break
        }
        do throws(MediaError) {
            try encoder.encode(adapted)
            noteConversion(adapted, of: frame)
            return adapted.conversion != nil
        } catch {
            guard adapted.conversion != nil, error.code == .conversionFailed else { throw error }
            post(.adjusted(adapter.giveUpConversions(of: encoder, because: error)))
            let converted = try adapter.adapt(frame)
            try encoder.encode(converted)
            noteConversion(converted, of: frame)
            return false
        }
    }

    private func noteConversion(_ adapted: EncoderFrame, of frame: EncoderFrame) {
        if adapted.buffer !== frame.buffer { post(.pictureConverted) }
    }

    private func reportCopies(since before: Int, _ encoder: any EncoderBackend) {
        let count = encoder.copiedPictures - before
        if count > 0 { post(.picturesCopied(count)) }
    }

    /// Whether more commands are queued for the encoder.
    private var isFollowed: Bool { state.withLock { !$0.commands.isEmpty } }

    private func nextCommand(for encoder: any EncoderBackend) -> Command? {
        while true {
            let (command, isClosed) = state.withLock { state -> (Command?, Bool) in
                let command = state.commands.isEmpty ? nil : state.commands.removeFirst()
                state.isAsleep = command == nil && !state.isClosed
                return (command, state.isClosed)
            }
            if isClosed { return nil }
            if let command { return command }
            // Lets the encoder return frames that an update submitted, or that expected another frame to follow.
            encoder.pause()
            wake.wait()
        }
    }

    private func leakIfHung(_ encoder: any EncoderBackend) {
        if state.withLock({ $0.isHung }), !encoder.isInOtherProcess { _ = Unmanaged.passRetained(encoder as AnyObject) }
    }
}
