// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibYUV
internal import CPixelKernels
internal import MediaTypes

/// The memory layout of an 8- or 10-bit 4:2:0 picture: the formats of pixel buffers, and the one in which 10-bit
/// pictures are scaled.
enum SampleLayout: Hashable {
    case i420
    case nv12
    /// Like I420, with 10 bits in the lower bits of 16-bit words: the form in which libyuv scales them.
    case i010
    case p010

    init?(_ format: PixelFormat) {
        switch format {
        case .i420: self = .i420
        case .nv12: self = .nv12
        case .p010: self = .p010
        default: return nil
        }
    }

    var bytesPerSample: Int { self == .i420 || self == .nv12 ? 1 : 2 }
    var isInterleaved: Bool { self == .nv12 || self == .p010 }

    /// The layout with separate chroma in which libyuv scales such pictures.
    var scalable: SampleLayout { bytesPerSample == 1 ? .i420 : .i010 }

    /// Returns whether luma samples are stored in the same way.
    func sharesLuma(with other: SampleLayout) -> Bool {
        bytesPerSample == other.bytesPerSample && (self == .p010) == (other == .p010)
    }

    fileprivate var kernelLayout: pixel_kernel_layout {
        switch self {
        case .i420: PIXEL_KERNEL_I420
        case .nv12: PIXEL_KERNEL_NV12
        case .i010: PIXEL_KERNEL_I010
        case .p010: PIXEL_KERNEL_P010
        }
    }
}

/// The planes of a 4:2:0 picture or of a part of one. It does not own the memory.
///
/// Sizes and row lengths were checked when the pixel buffer was made; they fit libyuv's `int` parameters.
struct PlanarPicture {
    let layout: SampleLayout
    /// The width in luma samples.
    let width: Int
    /// The height in luma samples.
    let height: Int
    let luma: PixelPlane
    /// Cb, or Cb and Cr interleaved.
    let cb: PixelPlane
    /// Cr; equal to `cb` if they are interleaved.
    let cr: PixelPlane

    init(_ layout: SampleLayout, width: Int, height: Int, planes: [PixelPlane]) {
        self.init(
            layout,
            width: width,
            height: height,
            luma: planes[0],
            cb: planes[1],
            cr: planes[layout.isInterleaved ? 1 : 2]
        )
    }

    init(_ layout: SampleLayout, width: Int, height: Int, luma: PixelPlane, cb: PixelPlane, cr: PixelPlane) {
        self.layout = layout
        self.width = width
        self.height = height
        self.luma = luma
        self.cb = cb
        self.cr = cr
    }

    var chromaWidth: Int { (width + 1) / 2 }
    var chromaHeight: Int { (height + 1) / 2 }

    func hasSize(of other: PlanarPicture) -> Bool { width == other.width && height == other.height }

    /// Returns the part of the picture in an area with an even position.
    func cropped(to area: PictureArea) -> PlanarPicture {
        let bytes = layout.bytesPerSample
        let chromaColumn = area.x / 2 * bytes * (layout.isInterleaved ? 2 : 1)
        return PlanarPicture(
            layout,
            width: area.width,
            height: area.height,
            luma: luma.advanced(column: area.x * bytes, row: area.y),
            cb: cb.advanced(column: chromaColumn, row: area.y / 2),
            cr: cr.advanced(column: chromaColumn, row: area.y / 2)
        )
    }

    fileprivate var kernelPicture: pixel_kernel_picture {
        pixel_kernel_picture(
            layout: layout.kernelLayout,
            width: Int32(truncatingIfNeeded: width),
            height: Int32(truncatingIfNeeded: height),
            luma: luma.baseAddress,
            cb: cb.baseAddress,
            cr: cr.baseAddress,
            luma_stride: luma.bytesPerRow,
            cb_stride: cb.bytesPerRow,
            cr_stride: cr.bytesPerRow
        )
    }
}

extension PixelPlane {
    /// Returns the plane that begins `column` bytes and `row` rows further on.
    func advanced(column: Int, row: Int) -> PixelPlane {
        PixelPlane(baseAddress: baseAddress + column + row * bytesPerRow, bytesPerRow: bytesPerRow)
    }

    fileprivate var bytes: UnsafeMutablePointer<UInt8> { baseAddress.assumingMemoryBound(to: UInt8.self) }
    fileprivate var words: UnsafeMutablePointer<UInt16> { baseAddress.assumingMemoryBound(to: UInt16.self) }
    fileprivate var byteStride: Int32 { Int32(truncatingIfNeeded: bytesPerRow) }
    fileprivate var wordStride: Int32 { Int32(truncatingIfNeeded: bytesPerRow / 2) }
}

// MARK: - Black

extension PictureArea {
    /// Returns the areas around this one in a picture of the given size.
    func bars(inWidth columns: Int, height rows: Int) -> [PictureArea] {
        let (below, right) = (y + height, x + width)
        let bars = [
            PictureArea(width: columns, height: y), PictureArea(y: below, width: columns, height: rows - below),
            PictureArea(y: y, width: x, height: height),
            PictureArea(x: right, y: y, width: columns - right, height: height),
        ]
        return bars.filter { $0.width > 0 && $0.height > 0 }
    }
}

extension PlanarPicture {
    /// Makes everything outside of an area with even position and size black.
    func fillBlack(outside area: PictureArea, isFullRange: Bool) {
        for bar in area.bars(inWidth: width, height: height) {
            cropped(to: bar).fill(luma: isFullRange ? 0 : 16, chroma: 128)
        }
    }

    /// Fills the picture with one colour, given as 8-bit limited-range codes.
    private func fill(luma lumaCode: UInt8, chroma chromaCode: UInt8) {
        Self.fill(luma, layout, code: lumaCode, width: width, height: height)
        let samples = chromaWidth * (layout.isInterleaved ? 2 : 1)
        Self.fill(cb, layout, code: chromaCode, width: samples, height: chromaHeight)
        if !layout.isInterleaved { Self.fill(cr, layout, code: chromaCode, width: samples, height: chromaHeight) }
    }

    private static func fill(_ plane: PixelPlane, _ layout: SampleLayout, code: UInt8, width: Int, height: Int) {
        for row in 0..<height {
            let start = plane.advanced(column: 0, row: row)
            switch layout {
            case .i420, .nv12: start.bytes.update(repeating: code, count: width)
            case .i010: start.words.update(repeating: UInt16(code) << 2, count: width)
            case .p010: start.words.update(repeating: UInt16(code) << 8, count: width)
            }
        }
    }
}

// MARK: - Same size

extension PlanarPicture {
    /// Writes the picture to another one of the same size: converted if there is a transform, otherwise only with the
    /// other layout, at the same bit depth. Luma that both pictures share is not copied.
    func write(to target: PlanarPicture, transform: pixel_kernel_transform?) {
        if let transform {
            withUnsafePointer(to: transform) { transform in
                withUnsafePointer(to: kernelPicture) { source in
                    withUnsafePointer(to: target.kernelPicture) { pixel_kernel_convert(source, $0, transform) }
                }
            }
            return
        }
        if luma.baseAddress != target.luma.baseAddress { writeLuma(to: target) }
        if layout.bytesPerSample == 1 {
            writeChroma8(to: target)
        } else {
            writeChroma16(to: target)
        }
    }

    private func writeLuma(to target: PlanarPicture) {
        let (from, to) = (luma, target.luma)
        let size = (Int32(truncatingIfNeeded: width), Int32(truncatingIfNeeded: height))
        switch (layout, target.layout) {
        case (.p010, .i010):
            ConvertToLSBPlane_16(from.words, from.wordStride, to.words, to.wordStride, size.0, size.1, 10)
        case (.i010, .p010):
            ConvertToMSBPlane_16(from.words, from.wordStride, to.words, to.wordStride, size.0, size.1, 10)
        default:
            let rowBytes = size.0 * Int32(layout.bytesPerSample)
            CopyPlane(from.bytes, from.byteStride, to.bytes, to.byteStride, rowBytes, size.1)
        }
    }

    private func writeChroma8(to target: PlanarPicture) {
        let size = (Int32(truncatingIfNeeded: chromaWidth), Int32(truncatingIfNeeded: chromaHeight))
        let (cb, cr, toCb, toCr) = (cb, cr, target.cb, target.cr)
        switch (layout.isInterleaved, target.layout.isInterleaved) {
        case (true, false):
            SplitUVPlane(
                cb.bytes,
                cb.byteStride,
                toCb.bytes,
                toCb.byteStride,
                toCr.bytes,
                toCr.byteStride,
                size.0,
                size.1
            )
        case (false, true):
            MergeUVPlane(cb.bytes, cb.byteStride, cr.bytes, cr.byteStride, toCb.bytes, toCb.byteStride, size.0, size.1)
        default:
            copyChroma(to: target)
        }
    }

    private func writeChroma16(to target: PlanarPicture) {
        let size = (Int32(truncatingIfNeeded: chromaWidth), Int32(truncatingIfNeeded: chromaHeight))
        let (cb, cr, toCb, toCr) = (cb, cr, target.cb, target.cr)
        switch (layout.isInterleaved, target.layout.isInterleaved) {
        case (true, false):
            SplitUVPlane_16(
                cb.words,
                cb.wordStride,
                toCb.words,
                toCb.wordStride,
                toCr.words,
                toCr.wordStride,
                size.0,
                size.1,
                10
            )
        case (false, true):
            MergeUVPlane_16(
                cb.words,
                cb.wordStride,
                cr.words,
                cr.wordStride,
                toCb.words,
                toCb.wordStride,
                size.0,
                size.1,
                10
            )
        default:
            copyChroma(to: target)
        }
    }

    private func copyChroma(to target: PlanarPicture) {
        let rowBytes = Int32(truncatingIfNeeded: chromaWidth * layout.bytesPerSample * (layout.isInterleaved ? 2 : 1))
        let rows = Int32(truncatingIfNeeded: chromaHeight)
        CopyPlane(cb.bytes, cb.byteStride, target.cb.bytes, target.cb.byteStride, rowBytes, rows)
        guard !layout.isInterleaved else { return }
        CopyPlane(cr.bytes, cr.byteStride, target.cr.bytes, target.cr.byteStride, rowBytes, rows)
    }
}

// MARK: - Scaling

extension PlanarPicture {
    /// Scales the picture to the size of another one with the same layout, which has separate chroma.
    func scale(to target: PlanarPicture) {
        let luma = (width, height, target.width, target.height)
        let chroma = (chromaWidth, chromaHeight, target.chromaWidth, target.chromaHeight)
        for (from, to, size) in [
            (self.luma, target.luma, luma), (cb, target.cb, chroma), (cr, target.cr, chroma),
        ] {
            let (fromWidth, fromHeight) = (Int32(truncatingIfNeeded: size.0), Int32(truncatingIfNeeded: size.1))
            let (toWidth, toHeight) = (Int32(truncatingIfNeeded: size.2), Int32(truncatingIfNeeded: size.3))
            if layout.bytesPerSample == 1 {
                ScalePlane(
                    from.bytes,
                    from.byteStride,
                    fromWidth,
                    fromHeight,
                    to.bytes,
                    to.byteStride,
                    toWidth,
                    toHeight,
                    kFilterBox
                )
            } else {
                ScalePlane_12(
                    from.words,
                    from.wordStride,
                    fromWidth,
                    fromHeight,
                    to.words,
                    to.wordStride,
                    toWidth,
                    toHeight,
                    kFilterBox
                )
            }
        }
    }
}

// MARK: - Packed pictures

/// A picture, or a part of one, with all samples in one plane.
struct PackedPicture {
    let plane: PixelPlane
    let width: Int
    let height: Int

    /// Makes the part of a plane in an area with an even position.
    init(_ plane: PixelPlane, area: PictureArea, bytesPerPixel: Int) {
        self.plane = plane.advanced(column: area.x * bytesPerPixel, row: area.y)
        width = area.width
        height = area.height
    }

    /// Converts BGRA to a picture of the same size.
    func convertBGRA(to target: PlanarPicture, transform: pixel_kernel_bgr_transform) {
        withUnsafePointer(to: transform) { transform in
            withUnsafePointer(to: target.kernelPicture) {
                pixel_kernel_convert_bgra(plane.bytes, plane.bytesPerRow, $0, transform)
            }
        }
    }

    /// Converts YUY2 to an I420 picture of the same size.
    ///
    /// libyuv's `YUY2ToNV12` would save a pass, but version 1857 computes wrong chroma at the end of rows whose length
    /// is not a multiple of its vector size, for example 30 samples.
    func unpackYUY2(to target: PlanarPicture) throws(MediaError) {
        let (luma, cb, cr) = (target.luma, target.cb, target.cr)
        let status = YUY2ToI420(
            plane.bytes,
            plane.byteStride,
            luma.bytes,
            luma.byteStride,
            cb.bytes,
            cb.byteStride,
            cr.bytes,
            cr.byteStride,
            Int32(truncatingIfNeeded: width),
            Int32(truncatingIfNeeded: height)
        )
        guard status != 0 else { return }
        throw MediaError(
            .outOfMemory,
            "a YUY2 picture cannot be unpacked",
            given: "\(width)x\(height)",
            call: "YUY2ToI420",
            status: Int(status)
        )
    }
}
