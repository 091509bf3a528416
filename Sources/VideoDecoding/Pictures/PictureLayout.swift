// SPDX-License-Identifier: GPL-2.0-or-later

package import BitstreamSyntax
internal import CFFmpeg
package import MediaTypes

/// The pictures that a source has to return.
package struct PictureDemand: Equatable {
    /// The chroma format; `nil` for the smallest one that holds all colour of the source.
    package var chromaFormat: ChromaFormat?
    /// The maximum bit depth: 10 or 12.
    package var maximumBitDepth: Int

    /// Makes a demand.
    package init(chromaFormat: ChromaFormat?, maximumBitDepth: Int) {
        (self.chromaFormat, self.maximumBitDepth) = (chromaFormat, maximumBitDepth)
    }
}

/// The properties of an FFmpeg pixel format, and the pixel format of this package for its pictures.
package struct PictureLayout: Equatable {
    /// FFmpeg's name, for example `yuv422p10le`.
    package let name: String
    /// The bit depth of the samples; the highest if components differ.
    package let bitDepth: Int
    /// The smallest chroma format that holds all its colour: monochrome for none, 4:4:4 for red, green and blue.
    package let chromaFormat: ChromaFormat
    /// Whether it has chroma located as in 4:2:0.
    package let hasChroma420: Bool
    /// Whether samples are red, green and blue, or are converted to that, as those of a palette.
    package let isRGB: Bool
    /// Whether it is one of the deprecated `yuvj` formats, whose names imply full range.
    package let isFullRangeYCbCr: Bool
    /// The pixel format of this package with the same memory layout, if there is one.
    package let equivalent: PixelFormat?

    private let format: AVPixelFormat

    /// Makes the layout of a format; `nil` if FFmpeg has none with this number.
    ///
    /// - Parameter rawFormat: The number of an `AVPixelFormat`.
    package init?(rawFormat: Int32) {
        let format = AVPixelFormat(rawFormat)
        guard let descriptor = av_pix_fmt_desc_get(format)?.pointee, let text = descriptor.name else { return nil }
        func has(_ flag: Int32) -> Bool { descriptor.flags & UInt64(flag) != 0 }
        self.format = format
        name = String(cString: text)
        let components = [descriptor.comp.0, descriptor.comp.1, descriptor.comp.2, descriptor.comp.3]
        bitDepth = components.prefix(Int(descriptor.nb_components)).map { Int($0.depth) }.max() ?? 8
        // A one-bit format is black and white without headroom, which without a specified range only RGB expresses. XYZ
        // is decoded to RGB.
        isRGB =
            has(AV_PIX_FMT_FLAG_RGB) || has(AV_PIX_FMT_FLAG_PAL) || name.hasPrefix("mono") || name.hasPrefix("xyz")
        let isGray = descriptor.nb_components <= 2 && !isRGB
        hasChroma420 = !isGray && !isRGB && descriptor.log2_chroma_w == 1 && descriptor.log2_chroma_h == 1
        chromaFormat =
            switch (descriptor.log2_chroma_w, descriptor.log2_chroma_h) {
            case _ where isGray: .monochrome
            case _ where isRGB || descriptor.log2_chroma_w == 0: .yuv444
            case (_, 0): .yuv422
            default: .yuv420
            }
        isFullRangeYCbCr = name.hasPrefix("yuvj")
        // An alpha plane after the other planes, and bytes in the place of alpha, are ignored.
        equivalent =
            switch format {
            case AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVA420P: .i420
            case AV_PIX_FMT_NV12: .nv12
            case AV_PIX_FMT_P010LE: .p010
            case AV_PIX_FMT_BGRA, AV_PIX_FMT_BGR0: .bgra
            case AV_PIX_FMT_YUYV422: .yuy2
            case AV_PIX_FMT_YUV420P12LE: .i012
            case AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUVA422P: .i422
            case AV_PIX_FMT_YUV422P10LE, AV_PIX_FMT_YUVA422P10LE: .i210
            case AV_PIX_FMT_YUV422P12LE, AV_PIX_FMT_YUVA422P12LE: .i212
            case AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUVJ444P, AV_PIX_FMT_YUVA444P: .i444
            case AV_PIX_FMT_YUV444P10LE, AV_PIX_FMT_YUVA444P10LE: .i410
            case AV_PIX_FMT_YUV444P12LE, AV_PIX_FMT_YUVA444P12LE: .i412
            default: nil
            }
    }

    /// Makes the layout of a pixel format of this package.
    package init?(_ format: PixelFormat) { self.init(rawFormat: av_get_pix_fmt(format.ffmpegName).rawValue) }

    /// Returns whether pictures can be returned unchanged. YUY2 can, and red, green and blue can unless 4:2:2 is
    /// demanded: they are converted later.
    package func isWanted(_ demand: PictureDemand) -> Bool {
        guard let equivalent else { return false }
        if equivalent == .bgra { return handsOutRGB(demand) }
        return equivalent == .yuy2
            || equivalent.chromaFormat == chroma(demand) && equivalent.bitDepth == depth(demand)
    }

    /// Returns the output format of a filter graph: the equivalent format if it meets the demand, otherwise the one
    /// that loses least.
    package func filtered(_ demand: PictureDemand) -> PixelFormat {
        if let equivalent, equivalent != .yuy2, isWanted(demand) { return equivalent }
        if isRGB, bitDepth <= 8, handsOutRGB(demand) { return .bgra }
        return .preferred(chroma(demand), bitDepth: depth(demand)) ?? .i420
    }

    /// Returns whether a filter graph converts red, green and blue to luma and chroma, for example because there is no
    /// RGB format of more than 8 bits.
    package func losesRGB(_ demand: PictureDemand) -> Bool { isRGB && filtered(demand).isYCbCr }

    /// Returns whether red, green and blue are left to a later conversion. For 4:2:2, libswscale is better: it locates
    /// chroma at the left luma sample of each pair, as 4:2:2 requires, and not between both.
    private func handsOutRGB(_ demand: PictureDemand) -> Bool { demand.chromaFormat != .yuv422 }

    private func chroma(_ demand: PictureDemand) -> ChromaFormat {
        demand.chromaFormat ?? (chromaFormat == .monochrome ? .yuv420 : chromaFormat)
    }

    private func depth(_ demand: PictureDemand) -> Int {
        bitDepth <= 8 ? 8 : bitDepth <= 10 ? 10 : demand.maximumBitDepth
    }
}

extension PixelFormat {
    /// FFmpeg's name.
    package var ffmpegName: String {
        switch self {
        case .i420: "yuv420p"
        case .nv12: "nv12"
        case .p010: "p010le"
        case .bgra: "bgra"
        case .yuy2: "yuyv422"
        case .i012: "yuv420p12le"
        case .i422: "yuv422p"
        case .i210: "yuv422p10le"
        case .i212: "yuv422p12le"
        case .i444: "yuv444p"
        case .i410: "yuv444p10le"
        case .i412: "yuv444p12le"
        }
    }
}
