// SPDX-License-Identifier: GPL-2.0-or-later

internal import CPipeWire
internal import MediaTypes

/// A format that was negotiated with a node. A pure value.
struct PipeWireFormat: Sendable, Hashable {
    let format: PixelFormat
    /// The name of SPA, such as `BGRx`.
    let name: String
    let width: Int
    let height: Int
    /// The fixed or the highest frame rate; `nil` if there is none.
    let frameRate: Rational?
    let color: ColorDescription
    let pixelAspectRatio: Rational
    /// The modifier of DMA-BUFs; `nil` for memory that can be mapped.
    let modifier: UInt64?

    /// The formats of SPA that are offered, the preferred one first, and those of their pictures. The last byte of BGRx
    /// is undefined, which BGRA allows here: nothing reads the alpha.
    static let offered: [(code: UInt32, format: PixelFormat)] = [
        (SPA_VIDEO_FORMAT_BGRx.rawValue, .bgra),
        (SPA_VIDEO_FORMAT_BGRA.rawValue, .bgra),
        (SPA_VIDEO_FORMAT_NV12.rawValue, .nv12),
        (SPA_VIDEO_FORMAT_YUY2.rawValue, .yuy2),
        (SPA_VIDEO_FORMAT_I420.rawValue, .i420),
    ]

    static func name(_ code: UInt32) -> String { String(cString: pipewire_format_name(code)) }

    /// Reads a format.
    ///
    /// - Throws: `unsupported` for another pixel format or separate fields; `malformedData` for a size out of range.
    init(_ info: spa_video_info_raw) throws(MediaError) {
        let code = info.format.rawValue
        name = Self.name(code)
        guard let format = Self.offered.first(where: { $0.code == code })?.format else {
            throw MediaError(
                .unsupported,
                "the source delivers a pixel format that is not supported",
                given: name,
                allowed: Self.offered.map { Self.name($0.code) }.joined(separator: ", ")
            )
        }
        guard info.interlace_mode == SPA_VIDEO_INTERLACE_MODE_PROGRESSIVE else {
            throw MediaError(
                .unsupported,
                "the source delivers interlaced pictures",
                given: "mode \(info.interlace_mode.rawValue)",
                allowed: "progressive pictures"
            )
        }
        let sizes = 1...UInt32(PixelBuffer.maximumDimension)
        guard sizes.contains(info.size.width), sizes.contains(info.size.height) else {
            throw MediaError(
                .malformedData,
                "the source delivers pictures of a size that is out of range",
                given: "\(info.size.width)x\(info.size.height)",
                allowed: "1x1 to \(sizes.upperBound)x\(sizes.upperBound)"
            )
        }
        self.format = format
        (width, height) = (Int(info.size.width), Int(info.size.height))
        frameRate = Self.ratio(info.framerate) ?? Self.ratio(info.max_framerate)
        pixelAspectRatio = Self.ratio(info.pixel_aspect_ratio) ?? .one
        color = Self.color(info, format)
        modifier = info.flags & UInt32(SPA_VIDEO_FLAG_MODIFIER.rawValue) == 0 ? nil : info.modifier
    }

    private static func ratio(_ fraction: spa_fraction) -> Rational? {
        let most = UInt32(Int32.max)
        guard (1...most).contains(fraction.num), (1...most).contains(fraction.denom) else { return nil }
        return Rational(Int32(fraction.num), Int32(fraction.denom)).reduced
    }

    /// Returns the code points of H.273 for those of SPA. Red, green and blue without any are sRGB.
    private static func color(_ info: spa_video_info_raw, _ format: PixelFormat) -> ColorDescription {
        var color = format.isYCbCr ? ColorDescription.unspecified : .sRGB
        switch info.color_primaries {
        case SPA_VIDEO_COLOR_PRIMARIES_BT709: color.primaries = .bt709
        case SPA_VIDEO_COLOR_PRIMARIES_BT470BG: color.primaries = .bt601Lines625
        case SPA_VIDEO_COLOR_PRIMARIES_SMPTE170M: color.primaries = .bt601Lines525
        case SPA_VIDEO_COLOR_PRIMARIES_BT2020: color.primaries = .bt2020
        default: break
        }
        switch info.transfer_function {
        case SPA_VIDEO_TRANSFER_BT709: color.transfer = .bt709
        case SPA_VIDEO_TRANSFER_SRGB: color.transfer = .sRGB
        case SPA_VIDEO_TRANSFER_GAMMA10: color.transfer = .init(rawValue: 8)
        case SPA_VIDEO_TRANSFER_SMPTE240M: color.transfer = .init(rawValue: 7)
        default: break
        }
        guard format.isYCbCr else { return color }
        switch info.color_matrix {
        case SPA_VIDEO_COLOR_MATRIX_FCC: color.matrix = .init(rawValue: 4)
        case SPA_VIDEO_COLOR_MATRIX_BT709: color.matrix = .bt709
        case SPA_VIDEO_COLOR_MATRIX_BT601: color.matrix = .bt601Lines525
        case SPA_VIDEO_COLOR_MATRIX_SMPTE240M: color.matrix = .init(rawValue: 7)
        case SPA_VIDEO_COLOR_MATRIX_BT2020: color.matrix = .bt2020
        default: break
        }
        switch info.color_range {
        case SPA_VIDEO_COLOR_RANGE_0_255: color.range = .full
        case SPA_VIDEO_COLOR_RANGE_16_235: color.range = .limited
        default: break
        }
        return color
    }
}
