// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import Dispatch
internal import MediaTimeline
package import MediaTypes
internal import Synchronization

/// One receiver of a live stream: its queue, its connection and its state.
///
/// It has a thread of its own, which connects, sends, and connects again. ``enqueue(_:)`` never waits, so that neither the
/// encoder nor another output notices what happens to a receiver.
package final class LiveOutput: Sendable {
    /// Opens a connection for tracks. It waits until the receiver accepts the stream.
    package typealias Connector =
        @Sendable (LiveTracks, ConnectionLimits, StopSignal) throws(MediaError) -> any LiveConnection

    /// The options of an output.
    package struct Options: Sendable {
        /// The limits of the queue.
        package var queue = LiveQueue.Limits()
        /// When it connects again, and when it gives up.
        package var policy = OutputMachine.Policy()
        /// How long connections wait.
        package var limits = ConnectionLimits()
        /// Whether the times of each connection begin near zero; if not, those of later ones continue.
        package var restartsTimes = true
        /// Whether it waits until a receiver connects, for as long as the stream lasts.
        package var isListener = false
        /// Decides the bitrate of the video.
        package var strategy: any BitRateStrategy = AdaptiveBitRate()
        /// The name of the rendition that it takes, if there are several.
        package var rendition: String?

        /// Makes the default options.
        package init() {}
    }

    fileprivate struct State {
        var tracks: LiveTracks
        var queue: LiveQueue
        var machine: OutputMachine
        var status: OutputStatus
        var strategy: any BitRateStrategy
        var rate = DeliveredRate()
        /// The rate of what was sent again.
        var repeated = DeliveredRate()
        var timeline: ConnectionTimeline
        /// When the thread began to send the unit that it sends, and when this unit arrived.
        var sending: (since: Double, arrival: Double)?
        var connectedSince: Double?
        /// The bytes of earlier connections.
        var earlierBytes: Int64 = 0
        var isEnding = false
    }

    fileprivate let state: Mutex<State>
    private let connect: Connector
    private let options: Options
    /// Ends every wait, at once.
    private let stop: StopSignal
    private let wake = DispatchSemaphore(value: 0)
    private let ended = DispatchGroup()

    /// Makes an output that has not begun.
    ///
    /// - Parameters:
    ///   - address: The address without secrets, for people.
    ///   - connect: Opens a connection.
    package init(address: String, options: Options, connect: @escaping Connector) throws(MediaError) {
        stop = try StopSignal()
        self.options = options
        self.connect = connect
        var status = OutputStatus(address: address)
        status.rendition = options.rendition
        state = Mutex(
            State(
                tracks: LiveTracks(video: nil),
                queue: LiveQueue(hasVideo: true, limits: options.queue),
                machine: OutputMachine(policy: options.policy),
                status: status,
                strategy: options.strategy,
                timeline: ConnectionTimeline(restarts: options.restartsTimes)
            )
        )
    }

    deinit { stop.stop() }

    /// Begins to connect. Without a thread, the output has failed.
    package func start(_ tracks: LiveTracks) {
        state.withLock {
            $0.tracks = tracks
            $0.queue = LiveQueue(hasVideo: tracks.video != nil, limits: options.queue)
            $0.status.state = .connecting
        }
        ended.enter()
        do throws(MediaError) {
            try PlainThread.start(name: "vt-live") { [self] in
                run()
                ended.leave()
            }
        } catch {
            end(.failed(error))
            ended.leave()
        }
    }

    /// Passes a unit to the output, which sends or drops it. It never waits.
    package func enqueue(_ unit: LiveUnit) {
        state.withLock {
            if case .video(let sample) = unit { $0.tracks.video = sample.formatDescription }
            $0.queue.add(unit, at: Self.now)
        }
        wake.signal()
    }

    /// Whether the next picture should be a key frame.
    package var needsKeyFrame: Bool {
        state.withLock { $0.queue.needsKeyFrame && $0.status.state == .live }
    }

    /// Whether it sends, or will send again.
    package var isAlive: Bool {
        state.withLock {
            switch $0.status.state {
            case .failed, .finished: false
            case .idle, .connecting, .live, .waiting: true
            }
        }
    }

    /// The present status.
    package var status: OutputStatus {
        state.withLock { state in
            let now = Self.now
            var status = state.status
            status.queueAge = state.queueAge(now)
            status.queuedBytes = state.queue.byteCount
            status.drops = state.queue.drops
            status.reconnects = max(state.machine.connections - 1, 0)
            status.connectedFor = state.connectedSince.map { now - $0 }
            status.sentBytes = state.earlierBytes + (status.link?.sentBytes ?? 0)
            status.deliveredRate = state.rate.bitsPerSecond(at: now)
            return status
        }
    }

    /// Asks the strategy for the bitrate of the video.
    ///
    /// - Parameters:
    ///   - ceiling: The largest bitrate that is allowed now, in bit/s.
    ///   - otherRate: The rate of everything but the video, in bit/s.
    /// - Returns: The bitrate in bit/s; `nil` while the output has no connection, so that it has no say.
    package func wantedBitRate(ceiling: Int, otherRate: Double) -> Int? {
        state.withLock { state -> Int? in
            let now = Self.now
            guard state.status.state == .live else {
                state.status.wantedBitRate = nil
                return nil
            }
            let report = LinkReport(
                time: now,
                isConnected: true,
                queueAge: state.queueAge(now),
                deliveredRate: state.rate.bitsPerSecond(at: now),
                roundTrip: state.status.link?.roundTrip,
                repeatedShare: state.repeatedShare(now),
                otherRate: otherRate,
                ceiling: ceiling
            )
            let wanted = min(max(state.strategy.videoBitRate(for: report), 1), max(ceiling, 1))
            state.status.wantedBitRate = wanted
            return wanted
        }
    }

    /// Asks the output to end after what waits was sent. It does not wait for that. An output whose receiver is not there
    /// ends at once.
    package func beginFinish() {
        let isAway = state.withLock { state in
            state.isEnding = true
            switch state.status.state {
            case .waiting: return true
            case .connecting: return options.isListener
            case .idle, .live, .failed, .finished: return false
            }
        }
        if isAway { stop.stop() }
        wake.signal()
    }

    /// Sends what waits, ends the stream, and waits for that; then it ends at once.
    ///
    /// - Parameter deadline: The end of the wait, in seconds of `CLOCK_MONOTONIC`; `nil` for as long as a silent receiver has.
    package func finish(by deadline: Double? = nil) {
        beginFinish()
        let left = max((deadline ?? self.deadline) - Self.now, 0)
        if ended.wait(timeout: .now() + left) == .timedOut { abort() }
    }

    /// The time by which a silent receiver has had its chance, if the output ends now.
    package var deadline: Double { Self.now + Double(options.limits.silence) / 1000 + 1 }

    /// Ends the output at once. The thread ends soon; it is not waited for.
    package func abort() {
        beginFinish()
        stop.stop()
    }

    static var now: Double { MonotonicClock.now.seconds }
}

// MARK: - The thread

extension LiveOutput {
    private func run() {
        var step = state.withLock { $0.machine.start(at: Self.now) }
        var latest: MediaError?
        while true {
            switch step {
            case .giveUp(let error): return end(.failed(error))
            case .wait(let seconds):
                guard wait(seconds) else { return end(latest.map { .failed($0) } ?? .finished) }
            case .connect: break
            }
            do throws(MediaError) {
                try stream()
                return end(.finished)
            } catch {
                guard !isEnding else { return end(final(error)) }
                latest = error
                step = lose(error)
            }
        }
    }

    private var isEnding: Bool { state.withLock { $0.isEnding } || stop.isStopped }

    /// The state of an output that ends with an error: what it has sent does not make up for what it has not.
    private func final(_ error: MediaError) -> OutputState {
        guard error.code == .cancelled else { return .failed(error) }
        let (hasConnected, isListener) = (state.withLock { $0.machine.connections > 0 }, options.isListener)
        if hasConnected {
            return .failed(MediaError(.deadlineExceeded, "the receiver has not taken the end of the stream"))
        }
        return .failed(
            MediaError(.unavailable, isListener ? "no receiver has connected" : "the receiver could not be reached")
        )
    }

    /// Waits before the next attempt.
    ///
    /// - Returns: Whether the output continues.
    private func wait(_ seconds: Double) -> Bool {
        let end = Self.now + seconds
        while true {
            if isEnding { return false }
            let left = end - Self.now
            if left <= 0 { return true }
            // Units that arrive meanwhile wake the thread, too.
            _ = wake.wait(timeout: .now() + left)
        }
    }

    /// Connects, and sends until the stream ends.
    private func stream() throws(MediaError) {
        let tracks = state.withLock { state in
            if case .waiting = state.status.state {} else { state.status.state = .connecting }
            return state.tracks
        }
        let connection = try connect(tracks, options.limits, stop)
        state.withLock { state in
            let now = Self.now
            state.machine.connected(at: now)
            state.connectedSince = now
            state.status.state = .live
            state.queue.open(at: now)
            state.timeline.begin()
            (state.rate, state.repeated) = (DeliveredRate(), DeliveredRate())
        }
        while let unit = next(connection) { try send(unit, connection) }
        if stop.isStopped { throw StopSignal.stopped }
        try connection.finish()
        note(connection)
    }

    /// Waits for the next unit.
    ///
    /// - Returns: `nil` at the end of the stream.
    private func next(_ connection: any LiveConnection) -> LiveUnit? {
        while !stop.isStopped {
            let (unit, isEnding) = state.withLock { state in
                let now = Self.now
                let arrival = now - state.queue.age(at: now)
                let unit = state.queue.next()
                state.sending = unit == nil ? nil : (now, arrival)
                return (unit, state.isEnding)
            }
            if let unit { return unit }
            if isEnding { return nil }
            note(connection)
            _ = wake.wait(timeout: .now() + Self.longestSleep)
        }
        return nil
    }

    /// The time after which measurements are taken although nothing is sent, in seconds.
    private static let longestSleep = 0.25

    private func send(_ unit: LiveUnit, _ connection: any LiveConnection) throws(MediaError) {
        guard let shift = state.withLock({ $0.timeline.place(unit.decodeTime) }) else { return }
        try connection.send(unit.moved(by: shift))
        note(connection)
        state.withLock { state in
            state.sending = nil
            switch unit {
            case .video: state.status.sentPictures += 1
            case .audio: state.status.sentAudio += 1
            }
        }
    }

    /// The size of a packet in bytes, about the same in all protocols.
    private static let packetSize: Int64 = 1316

    private func note(_ connection: any LiveConnection) {
        let link = connection.measurements
        state.withLock { state in
            state.status.link = link
            let now = Self.now
            state.rate.add(link.sentBytes - Int64(link.unsentBytes), at: now)
            state.repeated.add(link.retransmitted * Self.packetSize, at: now)
        }
    }

    private func lose(_ error: MediaError) -> OutputMachine.Step {
        state.withLock { state in
            state.forgetConnection()
            state.status.state = .waiting(error)
            return state.machine.failed(error, at: Self.now, jitter: Double.random(in: 0...1))
        }
    }

    private func end(_ final: OutputState) {
        state.withLock { state in
            state.forgetConnection()
            state.status.state = final
        }
    }
}

extension LiveOutput.State {
    /// The share of what was sent during the last second that was sent again.
    fileprivate func repeatedShare(_ now: Double) -> Double? {
        let sent = rate.bitsPerSecond(at: now)
        return sent > 0 ? min(repeated.bitsPerSecond(at: now) / sent, 1) : nil
    }

    /// How long the oldest unit has been waiting, with the one that is being sent.
    fileprivate func queueAge(_ now: Double) -> Double {
        max(queue.age(at: now), sending.map { now - $0.arrival } ?? 0, status.link?.lateBy ?? 0)
    }

    fileprivate mutating func forgetConnection() {
        queue.close()
        (sending, connectedSince) = (nil, nil)
        earlierBytes += status.link?.sentBytes ?? 0
        status.link = nil
    }
}
