// SPDX-License-Identifier: GPL-2.0-or-later

internal import Logging
internal import MediaTypes
internal import NIOCore
internal import Streaming
internal import Synchronization

/// A presentation on another server, to which files are sent by HTTP PUT, and which is asked to delete old ones.
///
/// The stream never waits for the server: files wait in a queue. A failed request is repeated until nothing was stored for
/// the silence of the connection; then the connection is lost. The next one begins with what waits.
final class UploadStore: LiveStore, HLSPlace {
    let holdsRequests = false

    private enum Phase {
        case idle
        case connecting
        case connected
        case lost(MediaError)
    }

    private struct State {
        var queue: UploadQueue
        var phase = Phase.idle
        /// Counts connections, so that the work of an earlier one changes nothing.
        var connection = 0
        /// How many outputs use the connection: each rendition has one.
        var users = 0
        var work: Task<Void, Never>?
        /// Tells the work that the queue has something.
        var signal: AsyncStream<Void>.Continuation?
        /// The bytes of the files that are being sent, and that the connection has taken.
        var takenBytes = 0
        /// The bytes that were added before this connection.
        var earlierBytes: Int64 = 0
        var hasStored = false
        var deletesFiles = true

        mutating func finish(_ file: UploadQueue.File) {
            takenBytes -= file.byteCount
            queue.finish(file: file.path)
        }
    }

    private let client: UploadClient
    private let target: Double
    private let logger: Logger
    private let state: Mutex<State>

    /// - Parameters:
    ///   - target: The target duration of a segment in seconds.
    ///   - largestAge: The number of seconds that files wait at most.
    init(_ client: UploadClient, target: Double, largestAge: Double, logger: Logger) {
        (self.client, self.target, self.logger) = (client, target, logger)
        state = Mutex(State(queue: UploadQueue(limits: UploadQueue.Limits(age: largestAge))))
    }

    private static var now: Double { MonotonicClock.now.seconds }

    // MARK: Files

    func write(_ path: String, _ content: [ByteBuffer]) throws(MediaError) {
        let file = UploadQueue.File(
            path: path,
            content: content,
            arrival: Self.now,
            isNeeded: Rendition.isInitialization(path)
        )
        change { $0.add(file) }
    }

    func publish(_ presentation: PresentationState) throws(MediaError) { change { $0.add(presentation) } }

    func remove(_ paths: [String]) {
        guard !paths.isEmpty else { return }
        change { $0.add(deletions: paths) }
    }

    private func change(_ body: (inout UploadQueue) -> Void) {
        state.withLock { state in
            body(&state.queue)
            if !state.deletesFiles { state.queue.removeDeletions() }
            state.signal?.yield()
        }
    }

    // MARK: Connections

    /// Waits until the server has taken what waits first, or, if nothing does, until it answers.
    ///
    /// - Throws: `unsupported` or `unavailable` if it refuses; `unavailable`, `inputOutput` or `deadlineExceeded` if
    ///   another attempt may succeed; `cancelled`.
    func connect(_ limits: ConnectionLimits, _ stop: StopSignal) throws(MediaError) {
        state.withLock { state in
            state.users += 1
            begin(&state, limits)
        }
        do throws(MediaError) {
            while true {
                switch state.withLock({ $0.phase }) {
                case .idle, .connecting: try stop.wait(for: [], until: 10)
                case .connected: return
                case .lost(let error): throw error
                }
            }
        } catch {
            disconnect()
            throw error
        }
    }

    /// Begins the work for a connection, unless another output has begun it.
    private func begin(_ state: inout State, _ limits: ConnectionLimits) {
        switch state.phase {
        case .connecting, .connected: return
        case .idle, .lost: break
        }
        let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        state.connection += 1
        state.phase = .connecting
        state.signal = signal
        state.earlierBytes = state.queue.addedBytes
        let (earlier, connection) = (state.work, state.connection)
        earlier?.cancel()
        state.work = Task { [weak self] in
            // Nothing of an earlier connection may come after what this one sends.
            await earlier?.value
            await self?.work(connection, signals, limits)
        }
    }

    /// Ends the work for a connection when no output uses it any more; what waits is kept.
    func disconnect() {
        state.withLock { state in
            state.users -= 1
            guard state.users <= 0 else { return }
            state.work?.cancel()
            state.phase = .idle
        }
    }

    func stop() {
        state.withLock { $0.work?.cancel() }
        client.stop()
    }

    /// - Throws: The error by which the connection was lost.
    func check() throws(MediaError) {
        if case .lost(let error) = state.withLock({ $0.phase }) { throw error }
    }

    /// Waits until the server has everything.
    ///
    /// - Throws: As ``check()``; `cancelled`.
    func finish(_ stop: StopSignal) throws(MediaError) {
        while !state.withLock({ $0.queue.isEmpty }) {
            try check()
            try stop.wait(for: [], until: 20)
        }
    }

    var measurements: LinkMeasurements? {
        state.withLock { state in
            var link = LinkMeasurements()
            link.sentBytes = state.queue.addedBytes - state.earlierBytes
            link.unsentBytes = max(state.queue.waitingBytes - state.takenBytes, 0)
            // A segment may take as long as it lasts.
            link.lateBy = max(state.queue.age(at: Self.now) - target, 0)
            return link
        }
    }
}

// MARK: - The work

extension UploadStore {
    /// Sends what waits until the connection is lost.
    private func work(_ connection: Int, _ signals: AsyncStream<Void>, _ limits: ConnectionLimits) async {
        var signals = signals.makeAsyncIterator()
        var retries = UploadRetries(silence: Double(limits.silence) / 1000)
        if await !begin(connection, within: .milliseconds(Int64(limits.connecting))) { return }
        while !Task.isCancelled {
            guard let work = state.withLock({ $0.queue.next(at: Self.now) }) else {
                await signals.next()
                continue
            }
            retries.begin(at: Self.now)
            switch await send(work, within: .nanoseconds(Int64(state.withLock { $0.queue.limits.age } * 1e9))) {
            case .done: retries.succeed()
            case .refused(let error): return lose(connection, error)
            case .later(let error):
                guard let wait = retries.fail(at: Self.now) else { return lose(connection, error) }
                try? await Task.sleep(for: .seconds(wait))
            }
        }
    }

    /// - Returns: Whether the connection is made.
    private func begin(_ connection: Int, within limit: TimeAmount) async -> Bool {
        let verdict: UploadVerdict
        if let work = state.withLock({ $0.queue.next(at: Self.now) }) {
            verdict = await send(work, within: limit)
        } else {
            verdict = await look(within: limit)
        }
        switch verdict {
        case .done:
            state.withLock { if $0.connection == connection { $0.phase = .connected } }
            return true
        case .later(let error), .refused(let error):
            lose(connection, error)
            return false
        }
    }

    private func lose(_ connection: Int, _ error: MediaError) {
        state.withLock { if $0.connection == connection { $0.phase = .lost(error) } }
    }

    private func look(within limit: TimeAmount) async -> UploadVerdict {
        do throws(MediaError) {
            let answer = try await client.look(PresentationState.multivariantPath, within: limit)
            return UploadVerdict(answer, to: .look, hasStored: false)
        } catch {
            return error.isPermanent ? .refused(error) : .later(error)
        }
    }

    private func send(_ work: UploadQueue.Work, within limit: TimeAmount) async -> UploadVerdict {
        defer { state.withLock { $0.takenBytes = 0 } }
        switch work {
        case .files(let files):
            return await all(files) { [self] file in
                let age = state.withLock { $0.queue.limits.age }
                let left = TimeAmount.nanoseconds(Int64((age - (Self.now - file.arrival)) * 1e9))
                let rest = file.isNeeded ? limit : min(limit, left)
                let verdict = await put(file.path, file.content, within: rest)
                if verdict == .done { state.withLock { $0.finish(file) } }
                return verdict
            }
        case .playlists(let texts):
            return await all(texts) { [self] text in
                let verdict = await put(text.path, [ByteBuffer(string: text.content)], within: limit)
                if verdict == .done { state.withLock { $0.queue.finish(text) } }
                return verdict
            }
        case .deletions(let paths):
            _ = await all(paths) { [self] path in await delete(path, within: limit) }
            state.withLock { $0.queue.finish(deletions: paths) }
            return .done
        }
    }

    /// Does several things at the same time.
    ///
    /// - Returns: The worst verdict.
    private func all<Item: Sendable>(
        _ items: [Item],
        _ body: @escaping @Sendable (Item) async -> UploadVerdict
    ) async -> UploadVerdict {
        await withTaskGroup(of: UploadVerdict.self) { group in
            for item in items { group.addTask { await body(item) } }
            var worst = UploadVerdict.done
            for await verdict in group { worst = worst.worse(verdict) }
            return worst
        }
    }

    private func put(_ path: String, _ content: [ByteBuffer], within limit: TimeAmount) async -> UploadVerdict {
        do throws(MediaError) {
            let answer = try await client.put(path, content, within: limit) { [weak self] count in
                self?.state.withLock { $0.takenBytes += count }
            }
            let hasStored = state.withLock { $0.hasStored }
            let verdict = UploadVerdict(answer, to: .store, hasStored: hasStored)
            if verdict == .done { state.withLock { $0.hasStored = true } }
            return verdict
        } catch {
            return error.isPermanent ? .refused(error) : .later(error)
        }
    }

    /// What the server does not delete is not worth the stream.
    private func delete(_ path: String, within limit: TimeAmount) async -> UploadVerdict {
        guard let answer = try? await client.delete(path, within: limit) else { return .done }
        guard [401, 403, 405, 501].contains(answer.status) else { return .done }
        let isNew = state.withLock { state in
            defer { state.deletesFiles = false }
            return state.deletesFiles
        }
        if isNew {
            logger.warning(
                "the server does not delete old segments",
                metadata: ["status": "\(answer.status)", "address": "\(client.address)"]
            )
        }
        return .done
    }
}
