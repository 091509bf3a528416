// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
package import MediaTypes

/// Owns one `AVFrame`, and through it a reference to the picture's memory.
///
/// The frame is modified only while a decoder or a filter fills it, before it is passed on.
package final class FrameReference: @unchecked Sendable {
    /// The address of the `AVFrame`. Each target that uses its fields gives it its type, because no interface between
    /// targets contains C types.
    package let address: UnsafeMutableRawPointer

    /// Allocates an empty frame.
    package init() throws(MediaError) {
        guard let frame = av_frame_alloc() else {
            throw MediaError(.outOfMemory, "no memory for a frame", call: "av_frame_alloc")
        }
        address = UnsafeMutableRawPointer(frame)
    }

    deinit {
        var frame: UnsafeMutablePointer<AVFrame>? = frame
        av_frame_free(&frame)
    }

    /// Returns the side data of one type.
    ///
    /// - Parameter type: The number of an `AVFrameSideDataType`.
    package func sideData(_ type: UInt32) -> UnsafeRawBufferPointer? {
        guard let data = av_frame_get_side_data(frame, AVFrameSideDataType(type))?.pointee, let bytes = data.data else {
            return nil
        }
        return UnsafeRawBufferPointer(start: bytes, count: Int(data.size))
    }
}

extension FrameReference {
    /// The frame.
    var frame: UnsafeMutablePointer<AVFrame> { address.assumingMemoryBound(to: AVFrame.self) }
}
