// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import MediaTypes

/// What one of FFmpeg's pixel formats is, and which of ours takes its pictures.
struct PictureLayout: Equatable {
    /// FFmpeg's name, for example `yuv422p10le`.
    let name: String
    /// Bits of each sample; the most if they differ.
    let bitDepth: Int
    /// Whether 4:2:0 holds all its colour: it is 4:2:0, or has no colour at all.
    let fitsChroma420: Bool
    /// Whether it has chroma that lies as that of 4:2:0.
    let hasChroma420: Bool
    /// Whether samples are red, green and blue, or become so, as a palette's do.
    let isRGB: Bool
    /// One of the old `yuvj` formats, whose name says full range.
    let isFullRangeYCbCr: Bool
    /// Our format with the very same memory layout, if there is one.
    let equivalent: PixelFormat?

    private let format: AVPixelFormat

    init?(rawFormat: Int32) {
        let format = AVPixelFormat(rawFormat)
        guard let descriptor = av_pix_fmt_desc_get(format)?.pointee, let text = descriptor.name else { return nil }
        func has(_ flag: Int32) -> Bool { descriptor.flags & UInt64(flag) != 0 }
        self.format = format
        name = String(cString: text)
        let components = [descriptor.comp.0, descriptor.comp.1, descriptor.comp.2, descriptor.comp.3]
        bitDepth = components.prefix(Int(descriptor.nb_components)).map { Int($0.depth) }.max() ?? 8
        // One bit per pixel is black and white without footroom, which only RGB states without a range; XYZ decodes
        // to RGB.
        isRGB =
            has(AV_PIX_FMT_FLAG_RGB) || has(AV_PIX_FMT_FLAG_PAL) || name.hasPrefix("mono") || name.hasPrefix("xyz")
        let isGray = descriptor.nb_components <= 2 && !isRGB
        hasChroma420 = !isGray && !isRGB && descriptor.log2_chroma_w == 1 && descriptor.log2_chroma_h == 1
        fitsChroma420 = isGray || hasChroma420
        isFullRangeYCbCr = name.hasPrefix("yuvj")
        // What an alpha plane adds behind the others, and what stands in the place of alpha, is not looked at.
        equivalent =
            switch format {
            case AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVA420P: .i420
            case AV_PIX_FMT_NV12: .nv12
            case AV_PIX_FMT_P010LE: .p010
            case AV_PIX_FMT_BGRA, AV_PIX_FMT_BGR0: .bgra
            case AV_PIX_FMT_YUYV422: .yuy2
            default: nil
            }
    }

    /// What a filter graph makes of it: the equivalent where that is 4:2:0 or RGB, else what loses least.
    var filtered: PixelFormat {
        switch equivalent {
        case .some(let format) where format != .yuy2: format
        default:
            if isRGB, bitDepth <= 8 { .bgra } else { bitDepth > 8 ? .p010 : .i420 }
        }
    }

    /// Whether a filter graph turns red, green and blue into luma and chroma: there is no deeper RGB format than 8 bits.
    var losesRGB: Bool { isRGB && filtered.isYCbCr }
}

extension PixelFormat {
    /// FFmpeg's name.
    var ffmpegName: String {
        switch self {
        case .i420: "yuv420p"
        case .nv12: "nv12"
        case .p010: "p010le"
        case .bgra: "bgra"
        case .yuy2: "yuyv422"
        }
    }
}
