// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
package import MediaTypes

/// Makes pixel buffers of decoded frames: around the frame's memory if a pixel format has the same layout, otherwise in
/// memory of a pool, with one copy. Used by one thread at a time.
package final class FramePictures {
    /// The number of pictures that were copied.
    package private(set) var copies = 0

    private var memory = PictureMemory()

    /// Makes an object without memory.
    package init() {}

    /// Returns a frame as a pixel buffer.
    ///
    /// - Parameter reference: The frame, which is released with the buffer unless it is copied.
    /// - Throws: `unsupported` for a format that no pixel format can hold; `outOfMemory`.
    package func picture(
        of reference: FrameReference,
        _ properties: FrameProperties
    ) throws(MediaError) -> PixelBuffer {
        guard let source = FrameComponents(reference.frame.pointee) else {
            return try PixelBuffer(
                wrapping: reference,
                color: properties.color,
                pixelAspectRatio: properties.pixelAspectRatio,
                attachments: properties.attachments
            )
        }
        let (width, height) = (source.components.width, source.components.height)
        let buffer = try memory.make(source.target, width: width, height: height, properties)
        try buffer.withPlanes { planes in source.write(to: planes) }
        copies += 1
        return buffer
    }
}

/// The properties of a decoded frame besides its samples.
package struct FrameProperties: Sendable, Hashable {
    /// The colour description.
    package var color: ColorDescription
    /// The pixel aspect ratio (width to height).
    package var pixelAspectRatio: Rational
    /// The attachments.
    package var attachments: PixelAttachments

    /// Makes the properties of a frame.
    package init(
        color: ColorDescription = .unspecified,
        pixelAspectRatio: Rational = .one,
        attachments: PixelAttachments = .init()
    ) {
        (self.color, self.pixelAspectRatio, self.attachments) = (color, pixelAspectRatio, attachments)
    }
}

/// Memory for copied pictures: a pool of the format and size of the latest one.
package struct PictureMemory {
    private var pool: PixelBufferPool?

    /// Makes an object without memory.
    package init() {}

    /// Makes a buffer. Its samples are undefined.
    ///
    /// - Throws: `invalidArgument` for a size outside 1...``PixelBuffer/maximumDimension``; `outOfMemory`.
    package mutating func make(
        _ format: PixelFormat,
        width: Int,
        height: Int,
        _ properties: FrameProperties
    ) throws(MediaError) -> PixelBuffer {
        let description = PixelBuffer.Description(
            format: format,
            width: width,
            height: height,
            pixelAspectRatio: properties.pixelAspectRatio
        )
        let current: PixelBufferPool
        if let pool, pool.description == description {
            current = pool
        } else {
            current = try PixelBufferPool(description)
            pool = current
        }
        return try current.make(color: properties.color, attachments: properties.attachments)
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
