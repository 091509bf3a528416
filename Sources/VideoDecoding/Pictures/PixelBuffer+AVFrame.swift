// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
package import MediaTypes

extension PixelBuffer {
    /// Returns whether a frame's memory can be used as a pixel buffer: the format meets the demand and rows are stored
    /// top-down.
    package static func canWrap(_ reference: FrameReference, for demand: PictureDemand) -> Bool {
        let frame = reference.frame.pointee
        guard let layout = PictureLayout(rawFormat: frame.format), let format = layout.equivalent,
            layout.isWanted(demand)
        else { return false }
        return planes(of: frame, format) != nil
    }

    /// Makes a pixel buffer from a frame's memory without a copy; the frame is released with the buffer.
    ///
    /// - Throws: `unsupported` unless ``canWrap(_:for:)``.
    package convenience init(
        wrapping reference: FrameReference,
        color: ColorDescription,
        pixelAspectRatio: Rational,
        attachments: PixelAttachments
    ) throws(MediaError) {
        let frame = reference.frame.pointee
        guard let layout = PictureLayout(rawFormat: frame.format), let format = layout.equivalent,
            let planes = Self.planes(of: frame, format)
        else {
            throw MediaError(
                .unsupported,
                "the pixel format of the decoded video is not supported",
                given: PictureLayout(rawFormat: frame.format)?.name ?? "format \(frame.format)"
            )
        }
        let description = Description(
            format: format,
            width: Int(frame.width),
            height: Int(frame.height),
            color: color,
            pixelAspectRatio: pixelAspectRatio,
            attachments: attachments
        )
        try self.init(description, planes: planes) { withExtendedLifetime(reference) {} }
    }

    private static func planes(of frame: AVFrame, _ format: PixelFormat) -> [PixelPlane]? {
        let addresses = [frame.data.0, frame.data.1, frame.data.2]
        let strides = [frame.linesize.0, frame.linesize.1, frame.linesize.2]
        let planes = zip(addresses, strides).prefix(format.planeCount).compactMap { address, stride in
            stride > 0 ? address.map { PixelPlane(baseAddress: $0, bytesPerRow: Int(stride)) } : nil
        }
        return planes.count == format.planeCount ? planes : nil
    }
}
