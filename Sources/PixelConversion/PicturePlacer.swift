// SPDX-License-Identifier: GPL-2.0-or-later

internal import CPixelKernels
internal import Glibc
internal import MediaTypes

/// The visible part of a source.
enum SourcePicture {
    case planar(PlanarPicture)
    case bgra(PackedPicture)
    case yuy2(PackedPicture)

    /// Makes a source picture.
    ///
    /// - Returns: `nil` for formats that ``ComponentPlacer`` converts.
    init?(_ buffer: PixelBuffer, planes: [PixelPlane], area: PictureArea) {
        switch buffer.format {
        case .bgra: self = .bgra(PackedPicture(planes[0], area: area, bytesPerPixel: 4))
        case .yuy2: self = .yuy2(PackedPicture(planes[0], area: area, bytesPerPixel: 2))
        default:
            guard let layout = SampleLayout(buffer.format) else { return nil }
            self = .planar(.init(layout, buffer, planes).cropped(to: area))
        }
    }
}

extension PlanarPicture {
    init(_ layout: SampleLayout, _ buffer: PixelBuffer, _ planes: [PixelPlane]) {
        self.init(layout, width: buffer.width, height: buffer.height, planes: planes)
    }
}

/// Scales and converts pictures into a given area, in as few passes as libyuv's functions allow.
final class PicturePlacer {
    /// The source with separate chroma, if it must be converted to that form before scaling.
    private let unpacked = ScratchPicture()
    /// The scaled source, if it must be converted afterwards.
    private let scaled = ScratchPicture()

    /// Draws the whole source into `target`.
    func place(_ source: SourcePicture, in target: PlanarPicture, color: ColorConversion) throws(MediaError) {
        switch source {
        case .planar(let picture):
            try place(picture, in: target, transform: color.changesSamples ? color.yCbCrTransform() : nil)
        case .yuy2(let picture):
            let transform = color.changesSamples ? color.yCbCrTransform() : nil
            let keepsLuma = picture.hasSize(of: target) && transform == nil
            if keepsLuma, target.layout == .i420 { return try picture.unpackYUY2(to: target) }
            let planar = try unpacked.picture(
                .i420,
                width: picture.width,
                height: picture.height,
                luma: keepsLuma ? target.luma : nil
            )
            try picture.unpackYUY2(to: planar)
            try place(planar, in: target, transform: transform)
        case .bgra(let picture):
            if picture.hasSize(of: target) {
                return picture.convertBGRA(to: target, transform: color.bgrTransform())
            }
            let layout = target.layout.scalable
            let planar = try unpacked.picture(layout, width: picture.width, height: picture.height)
            picture.convertBGRA(to: planar, transform: color.bgrTransform())
            try place(planar, in: target, transform: nil)
        }
    }

    /// Scales if the sizes differ, then converts codes and layout. Without a transform, both have the same bit depth.
    private func place(
        _ source: PlanarPicture,
        in target: PlanarPicture,
        transform: pixel_kernel_transform?
    ) throws(MediaError) {
        if source.hasSize(of: target) { return source.write(to: target, transform: transform) }
        let source = try separatingChroma(of: source)
        if source.layout == target.layout, transform == nil { return source.scale(to: target) }
        let sharesLuma = transform == nil && source.layout.sharesLuma(with: target.layout)
        let result = try scaled.picture(
            source.layout,
            width: target.width,
            height: target.height,
            luma: sharesLuma ? target.luma : nil
        )
        source.scale(to: result)
        result.write(to: target, transform: transform)
    }

    /// Returns the picture in a layout that libyuv can scale; luma is not copied if possible.
    private func separatingChroma(of source: PlanarPicture) throws(MediaError) -> PlanarPicture {
        let layout = source.layout.scalable
        if source.layout == layout { return source }
        let planar = try unpacked.picture(
            layout,
            width: source.width,
            height: source.height,
            luma: source.layout.sharesLuma(with: layout) ? source.luma : nil
        )
        source.write(to: planar, transform: nil)
        return planar
    }
}

/// Memory for one intermediate picture. It grows to the largest picture and is reused.
final class ScratchPicture {
    private static let alignment = 64
    private let memory = ScratchMemory()

    /// Returns a picture with separate chroma in this memory, valid until the next call.
    ///
    /// - Parameter luma: A plane in other memory that the picture uses as its luma.
    /// - Throws: `outOfMemory`.
    func picture(
        _ layout: SampleLayout,
        width: Int,
        height: Int,
        luma: PixelPlane? = nil
    ) throws(MediaError) -> PlanarPicture {
        func stride(_ samples: Int) -> Int {
            (samples * layout.bytesPerSample + Self.alignment - 1) / Self.alignment * Self.alignment
        }
        let (chromaStride, chromaHeight) = (stride((width + 1) / 2), (height + 1) / 2)
        let chromaBytes = chromaStride * chromaHeight
        let base = try memory.reserve(2 * chromaBytes + (luma == nil ? stride(width) * height : 0))
        return PlanarPicture(
            layout,
            width: width,
            height: height,
            luma: luma ?? PixelPlane(baseAddress: base + 2 * chromaBytes, bytesPerRow: stride(width)),
            cb: PixelPlane(baseAddress: base, bytesPerRow: chromaStride),
            cr: PixelPlane(baseAddress: base + chromaBytes, bytesPerRow: chromaStride)
        )
    }
}

/// A block of memory that grows to the largest requested size.
final class ScratchMemory {
    private static let alignment = 64
    private var memory: UnsafeMutableRawPointer?
    private var capacity = 0

    /// Returns memory of the given size with undefined contents.
    ///
    /// - Throws: `outOfMemory`.
    func reserve(_ byteCount: Int) throws(MediaError) -> UnsafeMutableRawPointer {
        if let memory, capacity >= byteCount { return memory }
        free(memory)
        memory = nil
        capacity = 0
        let status = posix_memalign(&memory, Self.alignment, byteCount)
        guard status == 0, let memory else {
            throw MediaError(
                .outOfMemory,
                "no memory for an intermediate picture",
                given: "\(byteCount) bytes",
                call: "posix_memalign",
                status: Int(status)
            )
        }
        capacity = byteCount
        return memory
    }

    deinit { free(memory) }
}

extension PackedPicture {
    fileprivate func hasSize(of other: PlanarPicture) -> Bool { width == other.width && height == other.height }
}
