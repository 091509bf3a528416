// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import MediaTypes

/// Reads packets, and puts a single time right that lies far ahead of those around it.
///
/// In containers whose times do not jump, such as Matroska and MP4, a damaged one can be hours ahead. Taken for a gap, it
/// would move all pictures after it, and end the sound, whose times must not go back. A gap that is real is one from
/// which the packets that follow go on; so at such a time as many are read ahead as it takes to tell. Without one nothing
/// is.
final class PacketLookahead {
    /// How far ahead of those before it a time is looked into, at the least.
    static let threshold = MediaTime(value: 10, timescale: 1)
    /// The same in durations of a packet: pictures may be minutes apart, and one that is coded ahead of others lies ahead.
    static let thresholdInPackets: Int64 = 64
    /// How many pictures can follow one that is shown after them.
    private static let mostReordered = 16
    /// How many packets of all streams are read ahead, and how many bytes, before a time is left as it is.
    private static let (mostHeld, mostBytesHeld) = (512, 64 << 20)

    private let demuxer: Demuxer
    /// What was read ahead, in the order of the file.
    private var held: [PacketReference] = []
    private var bytesHeld = 0
    /// What came of reading behind that, if it was no packet.
    private var ended: Demuxer.Output?
    /// What was returned last.
    private var current: PacketReference?
    /// The latest time of each stream, in its ticks.
    private var latest: [Int32: Int64] = [:]
    /// Streams with a time that was put right. Where pictures are reordered, libavformat may have derived decode times from
    /// it, which the decoder then prefers to presentation times.
    private var misled: Set<Int32> = []
    /// How many times were put right.
    private(set) var repaired = 0

    init(_ demuxer: Demuxer) { self.demuxer = demuxer }

    /// Forgets everything, as after a seek.
    func restart() {
        (held, bytesHeld, ended, current, latest, misled) = ([], 0, nil, nil, [:], [])
    }

    /// The next packet of a stream that is not discarded, valid until the next call.
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

    /// When the next pictures of a stream are shown, in order, as far as they may be read ahead; none where times may jump.
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
        // Among the first ones those are missing that were read before, and behind the last ones others may be.
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

    /// Pictures and sound follow each other; subtitles and data come when there is something to say.
    private func isFarAhead(_ packet: UnsafePointer<AVPacket>) -> Bool {
        let kind = demuxer.stream(Int(packet.pointee.stream_index))?.pointee.codecpar.pointee.codec_type
        guard kind == AVMEDIA_TYPE_VIDEO || kind == AVMEDIA_TYPE_AUDIO else { return false }
        guard let time = packet.pointee.time, let latest = latest[packet.pointee.stream_index] else { return false }
        return time > latest &+ threshold(packet)
    }

    /// In ticks of the packet's stream.
    private func threshold(_ packet: UnsafePointer<AVPacket>) -> Int64 {
        let stream = demuxer.stream(Int(packet.pointee.stream_index))
        let ticks = stream.flatMap { Self.threshold.ticks(in: $0.pointee.time_base) } ?? 0
        return max(ticks, min(max(packet.pointee.duration, 0), 1 << 40) * Self.thresholdInPackets)
    }

    /// Where a packet belongs whose time is far ahead; `nil` if it is where the packets of the stream go on, or may be.
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
        // At the end of a file that reorders, what follows may be what is shown before it.
        guard times.count > wanted || times.count > 1 && !isReordered else { return nil }
        return Self.middleOfGap(times.filter { $0 >= latest }) ?? latest &+ 1
    }

    /// Of pictures in any order, one of which is missing, when that is shown; `nil` if there is no room for it.
    ///
    /// That is the first gap which is wider than others are: where reading ahead ended, others are missing as well.
    private static func middleOfGap(_ times: [Int64]) -> Int64? {
        let sorted = times.sorted()
        let gaps = zip(sorted, sorted.dropFirst()).map { (start: $0, length: $1 - $0) }
        guard let widest = gaps.max(by: { $0.length < $1.length }) else { return nil }
        let usual = gaps.map(\.length).sorted()[gaps.count / 2]
        let gap = gaps.first { $0.length > usual + usual / 2 } ?? widest
        return gap.length > 1 ? gap.start + gap.length / 2 : nil
    }

    /// - Returns: Whether there is one more.
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
    /// When it is shown, or if that is not said decoded; in ticks. What a damaged file makes of it may be beyond any sum.
    fileprivate var time: Int64? {
        let time = pts != ffmpeg_no_pts ? pts : dts
        return time != ffmpeg_no_pts && time.magnitude <= FrameTimes.largest.magnitude ? time : nil
    }
}
