// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import NIOCore
internal import StreamingPlaylists
internal import Synchronization

/// A presentation in memory, and the requests that wait for what comes next.
///
/// Files are found by their paths in a table and share their bytes with all responses, so that no request copies or
/// reads anything. A segment shares the bytes of its parts.
final class MemoryStore: LiveStore {
    let holdsRequests = true

    /// What there is for a path.
    enum Found {
        /// A file that never changes.
        case file([ByteBuffer])
        case multivariant(PlaylistBytes)
        /// A media playlist; the decision is the request's.
        case playlist(Int)
        /// It will come.
        case hinted
        case nothing
    }

    /// The bytes of a playlist.
    struct PlaylistBytes: Sendable {
        var plain: ByteBuffer
        /// The same, as gzip (RFC 1952); `nil` if there was no memory.
        var compressed: ByteBuffer?

        init(_ text: String) {
            plain = ByteBuffer(string: text)
            compressed = Compression.gzip(text).map { ByteBuffer(bytes: $0) }
        }
    }

    private struct Key: Hashable {
        var index: Int
        var delta: LiveMediaPlaylist.DeltaUpdate?
    }

    private struct State {
        var files: [String: [ByteBuffer]] = [:]
        var presentation: PresentationState?
        var multivariant: PlaylistBytes?
        /// The texts of the present version, which many requests get.
        var texts: [Key: PlaylistBytes] = [:]
        var version = 0
        /// Counts everything for which requests wait.
        var changes = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextWaiter = 0
        var isClosed = false
        var requestCount = 0
    }

    private let state = Mutex(State())
    /// The number of requests that may wait at the same time.
    let mostWaiting: Int

    init(mostWaiting: Int = 4096) { self.mostWaiting = mostWaiting }

    func write(_ path: String, _ content: [ByteBuffer]) throws(MediaError) {
        state.withLock { $0.files[path] = content }
        // A request for a hinted part need not wait for the playlist.
        wake()
    }

    func publish(_ presentation: PresentationState) throws(MediaError) {
        let multivariant = PlaylistBytes(presentation.multivariant)
        state.withLock { state in
            state.presentation = presentation
            state.multivariant = multivariant
            state.texts = [:]
            state.version += 1
        }
        wake()
    }

    func remove(_ paths: [String]) {
        guard !paths.isEmpty else { return }
        state.withLock { state in for path in paths { state.files[path] = nil } }
    }

    /// Answers all requests that wait as well as can be, because nothing will come.
    func close() {
        state.withLock { $0.isClosed = true }
        wake()
    }

    // MARK: Requests

    /// Whether nothing will come any more.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// The number of requests so far.
    var requestCount: Int { state.withLock { $0.requestCount } }

    /// Looks for a path.
    func find(_ path: String) -> Found {
        state.withLock { state in
            state.requestCount += 1
            if let file = state.files[path] { return .file(file) }
            guard let presentation = state.presentation else {
                let isEarly = path == PresentationState.multivariantPath && !state.isClosed
                return isEarly ? .hinted : .nothing
            }
            if path == PresentationState.multivariantPath {
                return state.multivariant.map { .multivariant($0) } ?? .nothing
            }
            if let index = presentation.entries.firstIndex(where: { $0.path == path }) { return .playlist(index) }
            let isHinted = presentation.entries.contains { entry in
                entry.playlist.hint.map { "\(entry.folder)/\($0.path)" == path } ?? false
            }
            return isHinted && !state.isClosed ? .hinted : .nothing
        }
    }

    /// The end of a media playlist, and whether it lists anything.
    func edge(_ index: Int) -> (edge: LiveMediaPlaylist.Edge, isEmpty: Bool)? {
        state.withLock { state in
            guard let entries = state.presentation?.entries, entries.indices.contains(index) else { return nil }
            return (entries[index].playlist.edge, entries[index].isEmpty)
        }
    }

    /// The bytes of a media playlist.
    func playlist(_ index: Int, skipping delta: LiveMediaPlaylist.DeltaUpdate?) -> PlaylistBytes? {
        let key = Key(index: index, delta: delta)
        let (known, presentation, version) = state.withLock { ($0.texts[key], $0.presentation, $0.version) }
        if let known { return known }
        guard let presentation, presentation.entries.indices.contains(index) else { return nil }
        let bytes = PlaylistBytes(presentation.text(index, skipping: delta))
        state.withLock { if $0.version == version { $0.texts[key] = bytes } }
        return bytes
    }

    /// The target duration in seconds; `nil` before there is a playlist.
    var targetDuration: Int? { state.withLock { $0.presentation?.entries.first?.playlist.options.targetDuration } }

    /// Suspends until something has changed, or until ``wake()``.
    ///
    /// - Parameter version: The number of ``changes`` before the request looked, so that it misses none.
    /// - Returns: Whether it has waited; not if too many requests do.
    func waitForChange(since version: Int) async -> Bool {
        let place = state.withLock { state -> Int? in
            guard state.waiting.count < mostWaiting else { return nil }
            state.nextWaiter += 1
            return state.nextWaiter
        }
        guard let place else { return false }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isLate = state.withLock { state in
                    if state.changes != version || state.isClosed || Task.isCancelled { return true }
                    state.waiting[place] = continuation
                    return false
                }
                if isLate { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: place) }?.resume()
        }
        return true
    }

    /// A number that is another one after each change, for ``waitForChange(since:)``.
    var changes: Int { state.withLock { $0.changes } }

    /// Lets all requests look at the clock.
    func wake() {
        let waiting = state.withLock { state in
            state.changes += 1
            defer { state.waiting = [:] }
            return state.waiting
        }
        for continuation in waiting.values { continuation.resume() }
    }
}
