// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CLibYUV
internal import CPixelKernels
internal import MediaTypes

/// Scales and converts pictures of any chroma format and depth into a given area. Every step processes one component at
/// a time, so that all pairs of formats are handled in the same way.
final class ComponentPlacer {
    /// The source with a plane for each component, if it is stored in another way.
    private let unpacked = ScratchComponents()
    /// The source in the codes of the result.
    private let coded = ScratchComponents()
    /// The result, if it is not stored in planes.
    private let scaled = ScratchComponents()

    /// Draws the whole source into `target`.
    ///
    /// - Parameter isRGB: Whether the source consists of 8-bit green, blue and red components.
    func place(
        _ source: PictureComponents,
        isRGB: Bool,
        in target: PictureComponents,
        color: ColorConversion
    ) throws(MediaError) {
        var picture = source
        if isRGB || color.changesSamples || !picture.hasPlaneSizes(of: target) { picture = try planar(picture) }
        if isRGB || color.changesSamples {
            let chroma = isRGB ? .yuv444 : picture.chromaFormat
            let isLast = chroma == target.chromaFormat && target.isPlain && picture.hasSize(of: target)
            let result =
                isLast
                ? target
                : try coded.picture(chroma, bitDepth: target.bitDepth, width: picture.width, height: picture.height)
            if isRGB {
                picture.convertRGB(to: result, color.bgrTransform(.twelveBits))
            } else {
                picture.convert(to: result, color.yCbCrTransform(.twelveBits))
            }
            if isLast { return }
            picture = result
        }
        if picture.hasPlaneSizes(of: target) { return picture.write(to: target) }
        if target.isPlain { return picture.scale(to: target) }
        let result = try scaled.picture(
            target.chromaFormat,
            bitDepth: target.bitDepth,
            width: target.width,
            height: target.height
        )
        picture.scale(to: result)
        result.write(to: target)
    }

    private func planar(_ picture: PictureComponents) throws(MediaError) -> PictureComponents {
        if picture.isPlain { return picture }
        let result = try unpacked.picture(
            picture.chromaFormat,
            bitDepth: picture.bitDepth,
            width: picture.width,
            height: picture.height
        )
        picture.write(to: result)
        return result
    }
}

extension PictureComponents {
    /// Makes everything outside of an area with even position and size black.
    func fillBlack(outside area: PictureArea, isFullRange: Bool) {
        for bar in area.bars(inWidth: width, height: height) {
            cropped(to: bar).fill(luma: isFullRange ? 0 : 16 << (bitDepth - 8), chroma: 1 << (bitDepth - 1))
        }
    }

    /// Whether each component is a contiguous plane, as libraries require.
    fileprivate var isPlain: Bool { planes.allSatisfy(\.isPlain) }

    fileprivate func hasSize(of other: PictureComponents) -> Bool { width == other.width && height == other.height }

    fileprivate func hasPlaneSizes(of other: PictureComponents) -> Bool {
        zip(planes, other.planes).allSatisfy { $0.width == $1.width && $0.height == $1.height }
    }

    /// Converts the codes of planes to those of a picture of the same size and chroma format.
    fileprivate func convert(to target: PictureComponents, _ transform: pixel_kernel_transform) {
        withUnsafePointer(to: transform) { transform in
            withUnsafePointer(to: kernelPlanes) { source in
                withUnsafePointer(to: target.kernelPlanes) { pixel_kernel_convert_planes(source, $0, transform) }
            }
        }
    }

    /// Converts planes of green, blue and red to 4:4:4 of the same size.
    fileprivate func convertRGB(to target: PictureComponents, _ transform: pixel_kernel_bgr_transform) {
        withUnsafePointer(to: transform) { transform in
            withUnsafePointer(to: kernelPlanes) { source in
                withUnsafePointer(to: target.kernelPlanes) { pixel_kernel_convert_rgb_planes(source, $0, transform) }
            }
        }
    }

    private var kernelPlanes: pixel_kernel_planes {
        pixel_kernel_planes(
            base: (planes[0].base, planes[1].base, planes[2].base),
            stride: (planes[0].bytesPerRow, planes[1].bytesPerRow, planes[2].bytesPerRow),
            width: width,
            height: height,
            across: chromaFormat.horizontalSubsampling,
            down: chromaFormat.verticalSubsampling,
            depth: Int32(bitDepth)
        )
    }

    /// Scales each plane to that of another picture of the same depth.
    fileprivate func scale(to target: PictureComponents) {
        for (source, target) in zip(planes, target.planes) {
            if source.width == target.width, source.height == target.height {
                source.write(to: target, bitDepth: bitDepth)
            } else {
                source.scale(to: target)
            }
        }
    }
}

extension ComponentPlane {
    /// Scales a contiguous plane with libyuv's box filter if both dimensions are reduced to less than half, otherwise
    /// bilinearly.
    fileprivate func scale(to target: ComponentPlane) {
        let (from, to) = (self, target)
        // libyuv divides with 16 fractional bits: a ratio of 32768 overflows and raises a trap.
        let sizes = (
            Int32(clamping: min(from.width, to.width * 32767)), Int32(clamping: min(from.height, to.height * 32767))
        )
        let targetSizes = (Int32(clamping: to.width), Int32(clamping: to.height))
        if wordSize == 1 {
            ScalePlane(
                from.base.assumingMemoryBound(to: UInt8.self),
                Int32(clamping: from.bytesPerRow),
                sizes.0,
                sizes.1,
                to.base.assumingMemoryBound(to: UInt8.self),
                Int32(clamping: to.bytesPerRow),
                targetSizes.0,
                targetSizes.1,
                kFilterBox
            )
        } else {
            ScalePlane_12(
                from.base.assumingMemoryBound(to: UInt16.self),
                Int32(clamping: from.bytesPerRow / 2),
                sizes.0,
                sizes.1,
                to.base.assumingMemoryBound(to: UInt16.self),
                Int32(clamping: to.bytesPerRow / 2),
                targetSizes.0,
                targetSizes.1,
                kFilterBox
            )
        }
    }
}

/// Memory for the planes of one intermediate picture. It grows to the largest picture and is reused.
private final class ScratchComponents {
    private static let alignment = 64
    private let memory = ScratchMemory()

    /// Returns a picture with planes in this memory, valid until the next call.
    ///
    /// - Throws: `outOfMemory`.
    func picture(
        _ chroma: ChromaFormat,
        bitDepth: Int,
        width: Int,
        height: Int
    ) throws(MediaError) -> PictureComponents {
        let arrangement = SampleArrangement.planar(chroma, bitDepth: bitDepth)
        var planes: [(offset: Int, bytesPerRow: Int)] = []
        var byteCount = 0
        for plane in 0..<arrangement.planeCount {
            guard let extent = arrangement.extent(ofPlane: plane, width: width, height: height) else { continue }
            let bytesPerRow = (extent.bytesPerRow + Self.alignment - 1) / Self.alignment * Self.alignment
            planes.append((byteCount, bytesPerRow))
            byteCount += bytesPerRow * extent.rows
        }
        let base = try memory.reserve(byteCount)
        return PictureComponents(
            arrangement,
            width: width,
            height: height,
            planes: planes.map { PixelPlane(baseAddress: base + $0.offset, bytesPerRow: $0.bytesPerRow) }
        )
    }
}
