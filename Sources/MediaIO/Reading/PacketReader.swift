// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import Glibc
internal import MediaTimeline
internal import MediaTypes

/// Reads packets with repaired times: single wrong ones are corrected, and jumps of the clock are removed. Failed reads are
/// counted and repeated within limits.
final class PacketReader {
    /// The number of consecutive failed reads after which the rest of the input is abandoned.
    private static let mostFailedReads = 16
    /// The pause after a demuxer had no data, in microseconds.
    private static let pause: UInt32 = 10_000

    /// The result of a call to ``read(_:)``.
    enum Output {
        /// The next packet, valid until the next call.
        case packet(UnsafeMutablePointer<AVPacket>)
        /// Nothing this time; the next call may return a packet.
        case nothing
        /// The input has ended.
        case finished
        /// The rest of the input cannot be read.
        case abandoned
    }

    private let demuxer: Demuxer
    /// The packets that were read ahead.
    let lookahead: PacketLookahead
    private var discontinuities: Discontinuities
    private var failedReads = 0
    /// The read position in a part that the demuxer cannot parse, and the number of times it did not advance.
    private var gap: (position: Int64, standstills: Int)?

    init(_ demuxer: Demuxer) {
        self.demuxer = demuxer
        lookahead = PacketLookahead(demuxer)
        discontinuities = Discontinuities(period: demuxer.clockPeriod)
    }

    /// Whether any time was changed, so that the end of the input may differ from the one that its header states.
    var hasChangedTimes: Bool { discontinuities.count > 0 || lookahead.repaired > 0 }

    /// Discards all state, as required after a seek.
    func restart() {
        lookahead.restart()
        discontinuities = Discontinuities(period: demuxer.clockPeriod)
        failedReads = 0
        gap = nil
    }

    /// Reads the next packet of a stream that is not discarded.
    ///
    /// - Parameter problems: What was wrong is added to it.
    func read(_ problems: inout SourceProblems) throws(MediaError) -> Output {
        let repairedBefore = lookahead.repaired
        let output = try lookahead.read()
        problems.repairedTimes += lookahead.repaired - repairedBefore
        switch output {
        case .finished: return .finished
        case .failed(ffmpeg_error_again): return noteGap(&problems) ? .nothing : .abandoned
        case .failed(let status): return try noteReadError(status, &problems) ? .nothing : .abandoned
        case .packet(let packet):
            failedReads = 0
            gap = nil
            closeJumps(packet, &problems)
            if packet.pointee.flags & AV_PKT_FLAG_CORRUPT != 0 {
                problems.readErrors += 1
                problems.describe("a packet of stream \(packet.pointee.stream_index) is incomplete")
            }
            return .packet(packet)
        }
    }

    /// Returns whether reading can go on.
    private func noteReadError(_ status: Int32, _ problems: inout SourceProblems) throws(MediaError) -> Bool {
        if status == ffmpeg_error_no_memory { try check(status, "av_read_frame", "reading failed") }
        failedReads += 1
        problems.readErrors += 1
        problems.describe("reading failed: \(describe(status))")
        return status == ffmpeg_error_invalid_data && failedReads < Self.mostFailedReads
    }

    /// Continues after a demuxer has asked to be called again. The demuxer of transport streams does so after each 64
    /// KiB without a packet, others if no data has arrived from the network yet.
    ///
    /// - Returns: Whether reading can go on.
    private func noteGap(_ problems: inout SourceProblems) -> Bool {
        guard let position = demuxer.position else {
            usleep(Self.pause)
            return true
        }
        if gap == nil {
            problems.readErrors += 1
            problems.describe("FFmpeg skipped a part of the input that it cannot parse")
        }
        let standstills = gap.map { $0.position == position ? $0.standstills + 1 : 0 } ?? 0
        gap = (position, standstills)
        guard standstills > 0 else { return true }
        // The reader of this package waits for data itself, so a demuxer that does not advance there never will.
        if demuxer.isReadByUs, standstills >= Self.mostFailedReads { return false }
        usleep(Self.pause)
        return true
    }

    private func closeJumps(_ packet: UnsafeMutablePointer<AVPacket>, _ problems: inout SourceProblems) {
        guard demuxer.allowsDiscontinuities, let stream = demuxer.stream(Int(packet.pointee.stream_index)) else {
            return
        }
        let kind = stream.pointee.codecpar.pointee.codec_type
        let microseconds = AVRational(num: 1, den: Int32(AV_TIME_BASE))
        let timeBase = stream.pointee.time_base
        var shift = discontinuities.shift
        if packet.pointee.dts != ffmpeg_no_pts, [AVMEDIA_TYPE_VIDEO, AVMEDIA_TYPE_AUDIO].contains(kind) {
            shift = discontinuities.note(
                track: Int(packet.pointee.stream_index),
                decodeTime: av_rescale_q(packet.pointee.dts, timeBase, microseconds),
                duration: av_rescale_q(packet.pointee.duration, timeBase, microseconds)
            )
            problems.discontinuities = discontinuities.count
        }
        if shift != 0 { packet.shift(by: av_rescale_q(shift, microseconds, timeBase)) }
    }
}

extension PacketReader {
    /// The number of pictures that are examined to verify the container's frame rate.
    static let picturesThatProveARate = 250

    /// Returns the frame rate of a stream. If a file's index does not prove the rate, packets are read ahead, except for
    /// files that may still be growing and for uncompressed video.
    ///
    /// - Parameter told: The estimate by the headers.
    func checkedFrameRate(
        _ told: FrameRateEstimate,
        of stream: UnsafeMutablePointer<AVStream>
    ) throws(MediaError) -> FrameRateEstimate {
        let properties = stream.pointee
        guard !told.isVariable, !told.isProved, demuxer.isReadByUs, demuxer.isSeekable,
            properties.codecpar.pointee.codec_id != AV_CODEC_ID_RAWVIDEO
        else { return told }
        let times = try lookahead.times(of: properties.index, atMost: Self.picturesThatProveARate)
        return told.checked(against: times, in: Rational(properties.time_base.num, properties.time_base.den))
    }
}

extension SourceProblems {
    /// Registers a file that ends before the end stated in its header, which demuxers treat as a regular end.
    ///
    /// - Parameters:
    ///   - announced: The end according to the header; `nil` if it states none.
    ///   - end: The end of the last packet.
    mutating func noteEnd(announced: MediaTime?, end: MediaTime) {
        guard let announced else { return }
        // Times in headers are rounded, and some are slightly wrong.
        let allowance = max(0.5, announced.seconds / 100)
        guard announced.seconds - end.seconds > allowance else { return }
        readErrors += 1
        describe("the input ends at \(end.seconds) s, but its header states \(announced.seconds) s")
    }
}
