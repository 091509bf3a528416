// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import MediaTypes

/// Owns one `AVFrame`, and through it a reference to the picture's memory.
///
/// The frame is modified only while a decoder or a filter fills it, before it is passed on.
final class FrameReference: @unchecked Sendable {
    let frame: UnsafeMutablePointer<AVFrame>

    init() throws(MediaError) {
        guard let frame = av_frame_alloc() else {
            throw MediaError(.outOfMemory, "no memory for a frame", call: "av_frame_alloc")
        }
        self.frame = frame
    }

    deinit {
        var frame: UnsafeMutablePointer<AVFrame>? = frame
        av_frame_free(&frame)
    }
}
