// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import MediaIO
internal import MediaTypes
internal import NIOCore
internal import StreamingPlaylists

/// One track of a presentation: its playlist, and the segment that is being filled.
///
/// A call that throws leaves it so that the stream can be continued with ``complete(_:)`` and ``begin(_:)``.
struct Rendition {
    /// What the next part needs in front of it.
    private struct Beginning {
        var isDiscontinuity: Bool
        /// Whether it has another initialization section.
        var hasNewMuxer: Bool
        var date: WallClockTime?
    }

    private struct Unsaved {
        /// The bytes; `nil` if the track has delivered nothing.
        var content: ByteBuffer?
        var isIndependent: Bool
        var end: MediaTime
    }

    /// The folder of its files, relative to the presentation.
    let folder: String
    private(set) var playlist: LiveMediaPlaylist
    /// The duration and the size of the newest segments.
    private(set) var measured: [(duration: MediaTime, byteCount: Int)] = []

    private let token: String
    private let hasParts: Bool
    private var muxer: PartMuxer?
    private var beginning: Beginning?
    /// The beginning of the open part.
    private(set) var partStart: MediaTime
    private var segmentStart: MediaTime
    /// The bytes of the open segment.
    private var chunks: [ByteBuffer] = []
    private var hasMissingPartsOnly = true
    /// A part that is not listed yet, because the store has not taken it.
    private var unsaved: Unsaved?
    private var (initializations, parts, completed) = (0, 1, 0)

    static let playlistName = "index.m3u8"

    /// - Parameters:
    ///   - folder: The folder of its files.
    ///   - token: What no other stream at this place has in its names: caches keep files for long.
    init(
        folder: String,
        token: String,
        options: LiveMediaPlaylist.Options,
        date: WallClockTime
    ) throws(MediaError) {
        (self.folder, self.token) = (folder, token)
        hasParts = options.partTarget != nil
        playlist = try LiveMediaPlaylist(options, date: date)
        (partStart, segmentStart) = (.zero, .zero)
    }

    /// Begins with samples that do not continue those before.
    ///
    /// - Parameters:
    ///   - start: The time of the first sample.
    ///   - date: When it was captured.
    mutating func begin(_ muxer: PartMuxer, at start: MediaTime, date: WallClockTime?) {
        self.muxer = muxer
        (partStart, segmentStart) = (start, start)
        let hasEarlier = playlist.segmentCount > 0
        beginning = Beginning(isDiscontinuity: hasEarlier, hasNewMuxer: true, date: date)
    }

    /// Uses another muxer from the next part on, which begins a segment.
    mutating func replace(_ muxer: PartMuxer) {
        self.muxer = muxer
        beginning = Beginning(isDiscontinuity: true, hasNewMuxer: true, date: beginning?.date)
    }

    mutating func write(_ sample: SampleBuffer, duration: MediaTime) throws(MediaError) {
        try muxer?.write(sample, duration: duration)
    }

    mutating func write(_ sample: AudioSample, duration: MediaTime) throws(MediaError) {
        try muxer?.write(sample, duration: duration)
    }

    /// Ends the open part, and perhaps its segment.
    ///
    /// - Parameters:
    ///   - boundary: Where it ends, and where the next one begins.
    ///   - date: When what follows a discontinuity was captured; `nil` to continue.
    mutating func close(
        _ boundary: Boundary,
        date: WallClockTime?,
        in store: any LiveStore,
        at now: MediaTime
    ) throws(MediaError) {
        try closePart(at: boundary.end, in: store, at: now)
        if boundary.kind != .part { try completeSegment(in: store, at: now) }
        partStart = boundary.next
        guard boundary.kind != .part else { return }
        segmentStart = boundary.next
        guard boundary.kind == .discontinuity else { return }
        beginning = Beginning(isDiscontinuity: true, hasNewMuxer: false, date: date)
    }

    /// Completes the segment that is open with what it has, because nothing continues it.
    mutating func complete(at end: MediaTime, in store: any LiveStore, now: MediaTime) throws(MediaError) {
        do throws(MediaError) {
            try closePart(at: max(end, partStart), in: store, at: now)
        } catch  where error.code != .inputOutput {
            // What cannot be listed must not keep the stream from going on.
            unsaved = nil
        }
        try completeSegment(in: store, at: now)
        muxer = nil
    }

    /// Ends the playlist.
    mutating func finish(at now: MediaTime) throws(MediaError) {
        if !playlist.isEnded { try playlist.finish(at: now) }
    }

    /// Returns the paths of the files that may be deleted.
    mutating func takeExpiredFiles(at now: MediaTime) -> [String] {
        playlist.takeExpiredFiles(at: now).map(path)
    }

    private func path(_ name: String) -> String { "\(folder)/\(name)" }
    private func partName(_ number: Int) -> String { "\(token)-part-\(number).m4s" }
    private func initializationName(_ number: Int) -> String { "\(token)-init-\(number).mp4" }

    /// Whether a file is an initialization section, without which no segment can be played.
    static func isInitialization(_ path: String) -> Bool { path.hasSuffix(".mp4") }

    private mutating func closePart(
        at end: MediaTime,
        in store: any LiveStore,
        at now: MediaTime
    ) throws(MediaError) {
        if unsaved == nil {
            guard end > partStart else { return }
            let part = try muxer?.takePart()
            unsaved = Unsaved(
                content: part.map { ByteBuffer(bytes: $0.bytes) },
                isIndependent: part?.isIndependent ?? false,
                end: end
            )
        }
        guard let part = unsaved else { return }
        try prepare(hasMedia: part.content != nil, in: store)
        if hasParts { try list(part, in: store, at: now) }
        if let content = part.content {
            chunks.append(content)
            hasMissingPartsOnly = false
        }
        partStart = part.end
        unsaved = nil
        // After a failure, the part that failed comes first.
        if part.end < end { try closePart(at: end, in: store, at: now) }
    }

    private mutating func list(_ part: Unsaved, in store: any LiveStore, at now: MediaTime) throws(MediaError) {
        let name = partName(parts)
        if let content = part.content { try store.write(path(name), [content]) }
        try playlist.append(
            LiveMediaPlaylist.Part(
                resource: PlaylistResource(path: name),
                duration: part.end - partStart,
                isIndependent: part.isIndependent,
                isMissing: part.content == nil
            ),
            next: LiveMediaPlaylist.Hint(path: partName(parts + 1)),
            at: now
        )
        parts += 1
    }

    /// Starts a segment that does not continue the one before, once it has something.
    private mutating func prepare(hasMedia: Bool, in store: any LiveStore) throws(MediaError) {
        guard let start = beginning else { return }
        var initialization: PlaylistResource?
        if start.hasNewMuxer {
            // The first part has samples: a muxer begins with one.
            guard hasMedia, let bytes = muxer?.initialization else { return }
            let name = initializationName(initializations + 1)
            try store.write(path(name), [ByteBuffer(bytes: bytes)])
            initializations += 1
            initialization = PlaylistResource(path: name)
        }
        try playlist.startSegment(
            initialization: initialization,
            isDiscontinuity: start.isDiscontinuity,
            date: start.date
        )
        beginning = nil
    }

    private mutating func completeSegment(in store: any LiveStore, at now: MediaTime) throws(MediaError) {
        let edge = playlist.edge
        guard hasParts ? edge.openPartCount > 0 : !chunks.isEmpty || partStart > segmentStart else { return }
        let name = "\(token)-segment-\(completed + 1).m4s"
        let byteCount = chunks.reduce(0) { $0 + $1.readableBytes }
        if !chunks.isEmpty { try store.write(path(name), chunks) }
        let duration = partStart - segmentStart
        try playlist.completeSegment(
            path: name,
            duration: hasParts ? nil : duration,
            isMissing: hasMissingPartsOnly,
            at: now
        )
        completed += 1
        measured = (measured + [(duration, byteCount)]).suffix(Self.mostMeasured)
        (chunks, hasMissingPartsOnly) = ([], true)
    }

    private static let mostMeasured = 10
}
