// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTimeline
internal import MediaTypes

/// Cuts one track into segments.
///
/// It holds one sample back, because the duration of a sample in a container is the step to the next decode time.
final class TrackSegmenter {
    /// A coded sample with its times.
    struct Unit {
        var presentation: MediaTime
        var decode: MediaTime
        /// The duration of presentation.
        var duration: MediaTime
        var isKeyFrame: Bool
        /// Fills an empty packet with the data and what belongs to it, except for times.
        var fill: (UnsafeMutablePointer<AVPacket>) throws(MediaError) -> Void
        /// The size of the data as stored in MP4.
        var byteCount: Int

        var end: MediaTime { duration.isValid ? presentation + duration : presentation }
    }

    /// The track as the next segments describe it.
    private(set) var track: SegmentedTrack
    private let format: SegmentFormat
    private let emit: (MediaSegment) throws(MediaError) -> Void
    private let makeMuxer: (Unit, SegmentedTrack) throws(MediaError) -> SegmentMuxer

    private var muxer: SegmentMuxer?
    private var clock: TickClock?
    private var pending: Unit?
    /// The segment that is being filled.
    private var open: MediaSegment?
    /// The end of its last sample, in presentation order.
    private var end = MediaTime.zero
    private var hasUnclosedFragment = false
    /// The key frame that begins the fragment: its time, its position in a transport stream, and its size.
    private var head: (time: MediaTime, start: Int, byteCount: Int)?
    /// The key frames that begin the fragments of the open segment, with the positions of the fragments in MP4.
    private var heads: [(time: MediaTime, start: Int, byteCount: Int)] = []
    private var (initializationCount, mediaCount) = (0, 0)

    /// - Parameters:
    ///   - makeMuxer: Makes the muxer for a first sample.
    ///   - emit: Receives the segments, in order.
    init(
        _ track: SegmentedTrack,
        _ format: SegmentFormat,
        makeMuxer: @escaping (Unit, SegmentedTrack) throws(MediaError) -> SegmentMuxer,
        emit: @escaping (MediaSegment) throws(MediaError) -> Void
    ) {
        self.track = track
        self.format = format
        self.makeMuxer = makeMuxer
        self.emit = emit
    }

    /// Writes a sample. The one before it is written to its segment.
    ///
    /// - Parameter beginsSegment: Decides whether a segment begins at a sample; asked for key frames only.
    /// - Throws: The error of the sample before it, which is lost; this one is kept.
    func write(_ unit: Unit, beginsSegment: (MediaTime) -> Bool) throws(MediaError) {
        let refusal = refusalOfPending(until: unit.decode)
        let begins = unit.isKeyFrame && beginsSegment(unit.presentation)
        if begins { try closeSegment(at: unit.presentation) }
        pending = unit
        if let refusal { throw refusal }
    }

    private func refusalOfPending(until next: MediaTime?) -> MediaError? {
        do {
            try writePending(until: next)
            return nil
        } catch {
            return error
        }
    }

    /// Ends the present segment, so that the next sample, which must be a key frame, begins another one, which has other
    /// parameter sets: in MP4, with its own initialization section.
    func restart(as track: SegmentedTrack, at unit: Unit) throws(MediaError) {
        try writePending(until: unit.decode)
        try closeSegment(at: unit.presentation)
        self.track = track
        // A transport stream goes on, with its continuity counters.
        if format == .fmp4 { muxer = nil }
    }

    /// Writes the rest.
    ///
    /// - Throws: The error of the last sample, without which the segments are complete.
    func finish() throws(MediaError) {
        let refusal = refusalOfPending(until: nil)
        try closeSegment(at: end)
        if let refusal { throw refusal }
    }

    private func writePending(until next: MediaTime?) throws(MediaError) {
        guard let unit = pending.take() else { return }
        let muxer = if let muxer { muxer } else { try begin(with: unit) }
        // Each fragment begins with a key frame, which can then be read alone.
        if unit.isKeyFrame, hasVideo { try closeFragment() }
        if open == nil {
            mediaCount += 1
            open = MediaSegment(track: track, content: .media, number: mediaCount, data: [])
            open?.start = max(unit.presentation, .zero)
        }
        let isHead = unit.isKeyFrame && hasVideo || !hasUnclosedFragment
        let start = muxer.byteCount
        let step = next.map { $0 - unit.decode } ?? unit.duration
        guard var clock else { return }
        let times = try clock.ticks(presentation: unit.presentation, decode: unit.decode)
        self.clock = clock
        try muxer.write(isHead: isHead) { (packet) throws(MediaError) in
            try unit.fill(packet)
            packet.pointee.stream_index = 0
            (packet.pointee.pts, packet.pointee.dts) = (times.pts, times.dts)
            packet.pointee.duration = step.isValid ? max(step.converted(to: muxer.timescale).value, 0) : 0
            packet.pointee.pos = -1
        }
        if unit.isKeyFrame, hasVideo {
            // In a transport stream, the packets of the picture are written now.
            let count = format == .ts ? muxer.byteCount - start : unit.byteCount
            head = (unit.presentation, start, count)
        }
        hasUnclosedFragment = true
        end = max(end, unit.end)
    }

    private var hasVideo: Bool { track.video != nil }

    private func begin(with unit: Unit) throws(MediaError) -> SegmentMuxer {
        let muxer = try makeMuxer(unit, track)
        self.muxer = muxer
        clock = TickClock(
            timescale: muxer.timescale,
            order: .increasing,
            largestStep: format == .fmp4 ? Int64(Int32.max) - 1 : .max
        )
        return muxer
    }

    /// Writes what the muxer holds, and notes where the key frame at its start is.
    private func closeFragment() throws(MediaError) {
        guard hasUnclosedFragment, let muxer else { return }
        let isFirst = muxer.initialization == nil
        let start = isFirst ? 0 : muxer.byteCount
        try muxer.closeFragment()
        if isFirst, let bytes = muxer.initialization {
            initializationCount += 1
            try emit(
                MediaSegment(track: track, content: .initialization, number: initializationCount, data: bytes)
            )
        }
        hasUnclosedFragment = false
        guard var head = head.take() else { return }
        if format == .fmp4 { head.start = start }
        heads.append(head)
    }

    private func closeSegment(at next: MediaTime) throws(MediaError) {
        try closeFragment()
        guard var segment = open.take(), let muxer else { return }
        segment.data = try muxer.take()
        segment.duration = max(next, segment.start) - segment.start
        segment.keyFrames = heads.map { head in
            // In MP4, the sample follows the `moof` box and the header of `mdat`.
            let preceding = format == .fmp4 ? Self.boxSize(in: segment.data, at: head.start) + 8 : 0
            let end = min(head.start + preceding + head.byteCount, segment.data.count)
            return MediaSegment.KeyFrame(time: head.time, bytes: head.start..<max(end, head.start))
        }
        heads = []
        try emit(segment)
    }

    private static func boxSize(in data: [UInt8], at offset: Int) -> Int {
        guard offset >= 0, offset + 8 <= data.count else { return 0 }
        return data[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
    }
}
