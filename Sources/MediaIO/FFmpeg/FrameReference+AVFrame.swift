// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import VideoDecoding

extension FrameReference {
    /// The frame.
    var frame: UnsafeMutablePointer<AVFrame> { address.assumingMemoryBound(to: AVFrame.self) }
}
