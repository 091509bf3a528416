// SPDX-License-Identifier: GPL-2.0-or-later

internal import CVideo4Linux
internal import MediaTypes

/// The colour of a camera's pictures as the driver states it: the fields of `v4l2_pix_format`.
struct CameraColor: Sendable, Hashable {
    /// `V4L2_COLORSPACE_*`.
    var colorspace: UInt32
    /// `V4L2_YCBCR_ENC_*`.
    var encoding: UInt32
    /// `V4L2_QUANTIZATION_*`.
    var quantization: UInt32
    /// `V4L2_XFER_FUNC_*`.
    var transfer: UInt32

    /// The colour description of luma and chroma, with the defaults of `videodev2.h` (`V4L2_MAP_*_DEFAULT`) for what
    /// follows from the colour space. A driver that states no colour space says nothing but the range.
    var description: ColorDescription {
        let space = v4l2_colorspace(colorspace)
        return ColorDescription(
            primaries: .init(rawValue: Self.primaries(space)),
            transfer: .init(rawValue: transferCode(space)),
            matrix: .init(rawValue: matrixCode(space)),
            range: range(space)
        )
    }

    /// Returns `ColourPrimaries` of H.273.
    private static func primaries(_ space: v4l2_colorspace) -> UInt8 {
        switch space {
        case V4L2_COLORSPACE_REC709, V4L2_COLORSPACE_SRGB, V4L2_COLORSPACE_JPEG: 1
        case V4L2_COLORSPACE_470_SYSTEM_M: 4
        case V4L2_COLORSPACE_470_SYSTEM_BG: 5
        case V4L2_COLORSPACE_SMPTE170M: 6
        case V4L2_COLORSPACE_SMPTE240M: 7
        case V4L2_COLORSPACE_BT2020: 9
        case V4L2_COLORSPACE_DCI_P3: 11
        default: 2
        }
    }

    /// Returns `TransferCharacteristics` of H.273.
    private func transferCode(_ space: v4l2_colorspace) -> UInt8 {
        switch v4l2_xfer_func(transfer) {
        case V4L2_XFER_FUNC_709: return space == V4L2_COLORSPACE_BT2020 ? 14 : 1
        case V4L2_XFER_FUNC_SRGB: return 13
        // The exponent of opRGB is 563/256; that of BT.470 System M is 2.2.
        case V4L2_XFER_FUNC_OPRGB: return 4
        case V4L2_XFER_FUNC_SMPTE240M: return 7
        case V4L2_XFER_FUNC_NONE: return 8
        case V4L2_XFER_FUNC_DCI_P3: return 17
        case V4L2_XFER_FUNC_SMPTE2084: return 16
        default: break
        }
        switch space {
        case V4L2_COLORSPACE_SRGB, V4L2_COLORSPACE_JPEG: return 13
        case V4L2_COLORSPACE_OPRGB: return 4
        case V4L2_COLORSPACE_SMPTE240M: return 7
        case V4L2_COLORSPACE_RAW: return 8
        case V4L2_COLORSPACE_DCI_P3: return 17
        case V4L2_COLORSPACE_BT2020: return 14
        case V4L2_COLORSPACE_SMPTE170M, V4L2_COLORSPACE_470_SYSTEM_M, V4L2_COLORSPACE_470_SYSTEM_BG,
            V4L2_COLORSPACE_REC709:
            return 1
        default: return 2
        }
    }

    /// Returns `MatrixCoefficients` of H.273.
    private func matrixCode(_ space: v4l2_colorspace) -> UInt8 {
        switch v4l2_ycbcr_encoding(encoding) {
        case V4L2_YCBCR_ENC_601, V4L2_YCBCR_ENC_XV601, V4L2_YCBCR_ENC_SYCC: return 6
        case V4L2_YCBCR_ENC_709, V4L2_YCBCR_ENC_XV709: return 1
        case V4L2_YCBCR_ENC_SMPTE240M: return 7
        case V4L2_YCBCR_ENC_BT2020: return 9
        case V4L2_YCBCR_ENC_BT2020_CONST_LUM: return 10
        default: break
        }
        switch space {
        case V4L2_COLORSPACE_REC709, V4L2_COLORSPACE_DCI_P3: return 1
        case V4L2_COLORSPACE_BT2020: return 9
        case V4L2_COLORSPACE_SMPTE240M: return 7
        case V4L2_COLORSPACE_SMPTE170M, V4L2_COLORSPACE_470_SYSTEM_M, V4L2_COLORSPACE_470_SYSTEM_BG,
            V4L2_COLORSPACE_SRGB, V4L2_COLORSPACE_JPEG, V4L2_COLORSPACE_OPRGB:
            return 6
        default: return 2
        }
    }

    private func range(_ space: v4l2_colorspace) -> ColorDescription.Range {
        switch v4l2_quantization(quantization) {
        case V4L2_QUANTIZATION_FULL_RANGE: .full
        case V4L2_QUANTIZATION_LIM_RANGE: .limited
        default: space == V4L2_COLORSPACE_JPEG ? .full : .limited
        }
    }
}
