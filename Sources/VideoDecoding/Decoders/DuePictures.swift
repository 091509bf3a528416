// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
internal import MediaTypes

/// Saves pictures that libavcodec's HEVC decoder would lose with a damaged sample.
///
/// Before version 7.1, it chooses the picture that is due when a sample begins, and returns it when the sample ends. If
/// the sample ends with an error, the picture stays with the thread, which drops it at the beginning of its next sample
/// (hevcdec.c, `hevc_frame_start`). An access unit that is nothing but a delimiter ends without beginning a picture, so
/// the thread returns the picture.
struct DuePictures {
    /// Whether the library loses pictures.
    static func areLost(by codec: VideoCodec) -> Bool {
        codec == .hevc && avcodec_version() < ffmpeg_version(61, 19, 100)
    }

    /// The pictures that the threads have returned, in presentation order.
    private(set) var frames: [FrameReference] = []
    /// The failures of other samples.
    private(set) var failures: [Int32] = []

    /// Submits delimiters until every thread has returned what it holds.
    ///
    /// With N threads, the result of a packet comes with the packet that is submitted N - 1 packets later. The packets
    /// are distributed to the threads in turn.
    ///
    /// - Parameter delimiter: A packet with a delimiter.
    init(_ context: CodecContext, delimiter: UnsafePointer<AVPacket>) throws(MediaError) {
        let threads = context.parallelSamples
        // The samples whose results have not come, and the packets after which the first result comes.
        let waiting = min(threads - 1, context.packetCount)
        let silent = threads - 1 - waiting
        var results: [FrameReference?] = []
        for index in 0..<2 * threads - 1 {
            let status = context.send(delimiter)
            if status < 0, status != ffmpeg_error_again { failures.append(status) }
            let frame = try FrameReference()
            let isFrame = context.receive(frame) >= 0
            if index >= silent { results.append(isFrame ? frame : nil) }
        }
        // The picture that stayed with the thread of the sample whose error has just been reported.
        if waiting == threads - 1 { take(results, threads - 1) }
        for sample in 0..<waiting {
            take(results, sample)
            take(results, threads + sample)
        }
    }

    private mutating func take(_ results: [FrameReference?], _ index: Int) {
        if results.indices.contains(index), let frame = results[index] { frames.append(frame) }
    }
}
