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
    /// Copies a picture into a frame's own memory. Of the attachments, the frame states only the field order.
    ///
    /// - Throws: `outOfMemory`; the errors of the picture's memory.
    package convenience init(copying picture: PixelBuffer) throws(MediaError) {
        try self.init()
        frame.pointee.format = av_get_pix_fmt(picture.format.ffmpegName).rawValue
        (frame.pointee.width, frame.pointee.height) = (Int32(picture.width), Int32(picture.height))
        let status = av_frame_get_buffer(frame, 0)
        guard status >= 0 else {
            throw MediaError(.outOfMemory, "no memory for a frame", call: "av_frame_get_buffer", status: Int(status))
        }
        let strides = [frame.pointee.linesize.0, frame.pointee.linesize.1, frame.pointee.linesize.2]
        let addresses = [frame.pointee.data.0, frame.pointee.data.1, frame.pointee.data.2]
        let planes = zip(addresses, strides).prefix(picture.format.planeCount).compactMap { address, stride in
            address.map { PixelPlane(baseAddress: $0, bytesPerRow: Int(stride)) }
        }
        try picture.copySamples(to: planes)
        let color = picture.color
        frame.pointee.color_primaries = AVColorPrimaries(UInt32(color.primaries.rawValue))
        frame.pointee.color_trc = AVColorTransferCharacteristic(UInt32(color.transfer.rawValue))
        frame.pointee.colorspace = AVColorSpace(UInt32(color.matrix.rawValue))
        frame.pointee.color_range =
            switch color.range {
            case .full: AVCOL_RANGE_JPEG
            case .limited: AVCOL_RANGE_MPEG
            default: AVCOL_RANGE_UNSPECIFIED
            }
        frame.pointee.chroma_location = AVChromaLocation(color.chromaLocation.map { UInt32($0.rawValue) + 1 } ?? 0)
        if let order = picture.attachments.fieldOrder { ffmpeg_set_interlaced(frame, order == .topFirst ? 1 : 0) }
    }
}

extension FrameReference {
    /// The frame.
    var frame: UnsafeMutablePointer<AVFrame> { address.assumingMemoryBound(to: AVFrame.self) }
}
