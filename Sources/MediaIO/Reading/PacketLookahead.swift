// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import MediaTimeline
internal import MediaTypes

/// Reads packets, and corrects a single time that is far ahead of its neighbours.
///
/// In containers whose times do not jump, such as Matroska and MP4, a damaged time can be hours ahead. Treated as a
/// gap, it would move all later pictures and end the audio, whose times must not go back. After a real gap, the
/// following packets continue from the new time; so at such a time, packets are read ahead until this is decided.
/// Without such a time, no packets are read ahead.
final class PacketLookahead {
    /// The minimum distance to the previous times at which a time is examined.
    static let threshold = MediaTime(value: 10, timescale: 1)
    /// The same in packet durations: pictures may be minutes apart, and a reordered picture has a time ahead of the
    /// next ones.
    static let thresholdInPackets: Int64 = 64
    /// The maximum number of pictures that are decoded after a picture and shown before it.
    private static let mostReordered = 16
    /// The maximum number of packets of all streams that are read ahead, and of their bytes, before a time is left
    /// unchanged.
    private static let (mostHeld, mostBytesHeld) = (512, 64 << 20)

    private let demuxer: Demuxer
    /// The packets that were read ahead, in file order.
    private var held: [PacketReference] = []
    private var bytesHeld = 0
    /// The result of reading after them, if it was not a packet.
    private var ended: Demuxer.Output?
    /// The packet that was returned last.
    private var current: PacketReference?
    /// The latest time of each stream, in its ticks.
    private var latest: [Int32: Int64] = [:]
    /// The streams with a corrected time. If pictures are reordered, libavformat may have derived decode times from it,
    /// which the decoder would prefer to presentation times.
    private var misled: Set<Int32> = []
    /// The number of corrected times.
    private(set) var repaired = 0

    init(_ demuxer: Demuxer) { self.demuxer = demuxer }

    /// Discards all state, as required after a seek.
    func restart() {
        (held, bytesHeld, ended, current, latest, misled) = ([], 0, nil, nil, [:], [])
    }

    /// Returns the next packet of a stream that is not discarded, valid until the next call.
    func read() throws(MediaError) -> Demuxer.Output {
        if demuxer.allowsDiscontinuities { return try demuxer.read() }
        if held.isEmpty {
            if let ended {
                self.ended = nil
                return ended
            }
            let output = try demuxer.read()
            guard case .packet(let packet) = output else { return output }
            if !isFarAhead(packet) { return noted(packet) }
            try hold(packet)
        }
        let reference = held.removeFirst()
        current = reference
        guard let packet = reference.packet else { return .finished }
        bytesHeld -= Int(packet.pointee.size)
        if isFarAhead(packet), let time = try place(packet) { repair(packet, time) }
        return noted(packet)
    }

    /// Returns the presentation times of a stream's next pictures in ascending order, as far as they can be read ahead;
    /// none if times may jump.
    func times(of index: Int32, atMost count: Int) throws(MediaError) -> [Int64] {
        if demuxer.allowsDiscontinuities { return [] }
        func found() -> [Int64] {
            held.compactMap { $0.packet }.filter { $0.pointee.stream_index == index }.compactMap { $0.pointee.time }
        }
        var number = found().count
        while number < count, try readAhead() {
            if held.last?.packet?.pointee.stream_index == index { number += 1 }
        }
        let times = found().sorted()
        guard isReordered(index) else { return times }
        // The first times lack those of pictures that were read before, and the last ones may lack those of pictures
        // that follow.
        return Array(times.dropFirst(Self.mostReordered).dropLast(ended == nil ? Self.mostReordered : 0))
    }

    private func noted(_ packet: UnsafeMutablePointer<AVPacket>) -> Demuxer.Output {
        let index = packet.pointee.stream_index
        if let time = packet.pointee.time { latest[index] = max(latest[index] ?? time, time) }
        if misled.contains(index), packet.pointee.pts != ffmpeg_no_pts, isReordered(index) {
            packet.pointee.dts = ffmpeg_no_pts
        }
        return .packet(packet)
    }

    private func isReordered(_ index: Int32) -> Bool {
        (demuxer.stream(Int(index))?.pointee.codecpar.pointee.video_delay ?? 0) > 0
    }

    private func hold(_ packet: UnsafeMutablePointer<AVPacket>) throws(MediaError) {
        bytesHeld += Int(packet.pointee.size)
        held.append(try PacketReference(moving: packet))
    }

    /// Only video and audio are continuous; subtitles and data occur when needed.
    private func isFarAhead(_ packet: UnsafePointer<AVPacket>) -> Bool {
        let kind = demuxer.stream(Int(packet.pointee.stream_index))?.pointee.codecpar.pointee.codec_type
        guard kind == AVMEDIA_TYPE_VIDEO || kind == AVMEDIA_TYPE_AUDIO else { return false }
        guard let time = packet.pointee.time, let latest = latest[packet.pointee.stream_index] else { return false }
        return time > latest &+ threshold(packet)
    }

    /// Returns the threshold in ticks of the packet's stream.
    private func threshold(_ packet: UnsafePointer<AVPacket>) -> Int64 {
        let stream = demuxer.stream(Int(packet.pointee.stream_index))
        let ticks = stream.flatMap { Self.threshold.ticks(in: $0.pointee.time_base) } ?? 0
        return max(ticks, min(max(packet.pointee.duration, 0), 1 << 40) * Self.thresholdInPackets)
    }

    /// Returns the correct time of a packet whose time is far ahead; `nil` if the packets of the stream continue there,
    /// or may do so.
    private func place(_ packet: UnsafePointer<AVPacket>) throws(MediaError) -> Int64? {
        let index = packet.pointee.stream_index
        guard let time = packet.pointee.time, let latest = latest[index] else { return nil }
        let isReordered = isReordered(index)
        let wanted = isReordered ? Self.mostReordered : 1
        let threshold = threshold(packet)
        var (position, times) = (0, [latest])
        while times.count <= wanted {
            if position == held.count, try !readAhead() { break }
            let next = held[position].packet
            position += 1
            guard let next, next.pointee.stream_index == index, let other = next.pointee.time else { continue }
            if other > time &- threshold || other < latest &- threshold { return nil }
            times.append(other)
        }
        // At the end of a file with reordering, the following pictures may be shown before this one.
        guard times.count > wanted || times.count > 1 && !isReordered else { return nil }
        return Self.middleOfGap(times.filter { $0 >= latest }) ?? latest &+ 1
    }

    /// Returns the presentation time of a missing picture among pictures in any order; `nil` if there is no room for
    /// it.
    ///
    /// It is in the first gap that is wider than the others: at the end of the packets read ahead, other pictures are
    /// missing as well.
    private static func middleOfGap(_ times: [Int64]) -> Int64? {
        let sorted = times.sorted()
        let gaps = zip(sorted, sorted.dropFirst()).map { (start: $0, length: $1 - $0) }
        guard let widest = gaps.max(by: { $0.length < $1.length }) else { return nil }
        let usual = gaps.map(\.length).sorted()[gaps.count / 2]
        let gap = gaps.first { $0.length > usual + usual / 2 } ?? widest
        return gap.length > 1 ? gap.start + gap.length / 2 : nil
    }

    /// Reads one more packet ahead.
    ///
    /// - Returns: Whether there is one.
    private func readAhead() throws(MediaError) -> Bool {
        guard held.count < Self.mostHeld, bytesHeld < Self.mostBytesHeld, ended == nil else { return false }
        let output = try demuxer.read()
        guard case .packet(let packet) = output else {
            ended = output
            return false
        }
        try hold(packet)
        return true
    }

    private func repair(_ packet: UnsafeMutablePointer<AVPacket>, _ time: Int64) {
        if packet.pointee.pts != ffmpeg_no_pts { packet.pointee.pts = time }
        if packet.pointee.dts != ffmpeg_no_pts { packet.pointee.dts = min(packet.pointee.dts, time) }
        misled.insert(packet.pointee.stream_index)
        repaired += 1
    }
}

extension AVPacket {
    /// The presentation time, or if there is none the decode time, in ticks; `nil` if a damaged file makes it too large
    /// for sums.
    fileprivate var time: Int64? {
        let time = pts != ffmpeg_no_pts ? pts : dts
        return time != ffmpeg_no_pts && time.magnitude <= FrameTimes.largest.magnitude ? time : nil
    }
}
