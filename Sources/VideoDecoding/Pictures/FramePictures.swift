// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
package import MediaTypes

/// Makes pixel buffers of decoded frames: around the frame's memory if a pixel format has the same layout, otherwise in
/// memory of a pool, with one copy. Used by one thread at a time.
package final class FramePictures {
    /// The number of pictures that were copied.
    package private(set) var copies = 0

    private var pool: PixelBufferPool?

    /// Makes an object without memory.
    package init() {}

    /// Returns a frame as a pixel buffer.
    ///
    /// - Parameters:
    ///   - reference: The frame, which is released with the buffer unless it is copied.
    ///   - color: The colour description.
    ///   - pixelAspectRatio: The pixel aspect ratio.
    ///   - attachments: The attachments.
    /// - Throws: `unsupported` for a format that no pixel format can hold; `outOfMemory`.
    package func picture(
        of reference: FrameReference,
        color: ColorDescription,
        pixelAspectRatio: Rational,
        attachments: PixelAttachments
    ) throws(MediaError) -> PixelBuffer {
        guard let source = FrameComponents(reference.frame.pointee) else {
            return try PixelBuffer(
                wrapping: reference,
                color: color,
                pixelAspectRatio: pixelAspectRatio,
                attachments: attachments
            )
        }
        let pool = try pool(
            PixelBuffer.Description(
                format: source.target,
                width: source.components.width,
                height: source.components.height,
                pixelAspectRatio: pixelAspectRatio
            )
        )
        let buffer = try pool.make(color: color, attachments: attachments)
        try buffer.withPlanes { planes in source.write(to: planes) }
        copies += 1
        return buffer
    }

    private func pool(_ description: PixelBuffer.Description) throws(MediaError) -> PixelBufferPool {
        if let pool, pool.description == description { return pool }
        let new = try PixelBufferPool(description)
        pool = new
        return new
    }
}

/// The samples of a frame that has to be copied.
private struct FrameComponents {
    /// The pixel format that holds all its samples.
    let target: PixelFormat
    let components: PictureComponents

    /// Finds the samples; `nil` if the frame's layout is that of a pixel format, or of none.
    init?(_ frame: AVFrame) {
        let target: PixelFormat
        let planeCount: Int
        switch AVPixelFormat(frame.format) {
        case AV_PIX_FMT_YUV420P10LE: (target, planeCount) = (.p010, 3)
        case AV_PIX_FMT_GRAY8: (target, planeCount) = (.i420, 1)
        case AV_PIX_FMT_GRAY10LE: (target, planeCount) = (.p010, 1)
        case AV_PIX_FMT_GRAY12LE: (target, planeCount) = (.i012, 1)
        // Green, blue and red, in the order of the components of `PixelFormat.bgra`.
        case AV_PIX_FMT_GBRP: (target, planeCount) = (.bgra, 3)
        default: return nil
        }
        let (width, height) = (Int(frame.width), Int(frame.height))
        let chroma = target.chromaFormat
        let size = target.bitDepth > 8 ? 2 : 1
        let addresses = [frame.data.0, frame.data.1, frame.data.2]
        let strides = [frame.linesize.0, frame.linesize.1, frame.linesize.2]
        var planes: [ComponentPlane] = []
        for (address, stride) in zip(addresses, strides).prefix(planeCount) {
            guard let address else { return nil }
            let (across, down) =
                planes.isEmpty ? (1, 1) : (chroma.horizontalSubsampling, chroma.verticalSubsampling)
            planes.append(
                ComponentPlane(
                    base: UnsafeMutableRawPointer(address),
                    bytesPerRow: Int(stride),
                    step: size,
                    wordSize: size,
                    width: (width + across - 1) / across,
                    height: (height + down - 1) / down
                )
            )
        }
        self.target = target
        components = PictureComponents(
            chroma,
            bitDepth: target.bitDepth,
            width: width,
            height: height,
            planes: planes
        )
    }

    /// Copies the samples. Pictures without chroma get neutral chroma, and red, green and blue an opaque alpha.
    func write(to planes: [PixelPlane]) {
        let (width, height) = (components.width, components.height)
        let picture = PictureComponents(target.arrangement, width: width, height: height, planes: planes)
        if target == .bgra, let plane = planes.first {
            let pixels = ComponentPlane(
                base: plane.baseAddress + 3,
                bytesPerRow: plane.bytesPerRow,
                step: 4,
                wordSize: 1,
                width: width,
                height: height
            )
            pixels.fill(255, bitDepth: 8)
        }
        components.write(to: picture)
        for plane in picture.planes.dropFirst(components.planes.count) {
            plane.fill(1 << (target.bitDepth - 1), bitDepth: target.bitDepth)
        }
    }
}
