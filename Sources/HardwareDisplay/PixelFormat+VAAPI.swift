// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
package import MediaTypes
package import VAAPI

extension PixelFormat {
    /// The render target format for such samples.
    package var renderTargetFormat: RTFormats {
        if !isYCbCr { return .rgb32 }
        return switch (chromaFormat, bitDepth) {
        case (.yuv422, 8): .yuv422
        case (.yuv422, 10): .yuv422Bits10
        case (.yuv422, _): .yuv422Bits12
        case (.yuv444, 8): .yuv444
        case (.yuv444, 10): .yuv444Bits10
        case (.yuv444, _): .yuv444Bits12
        case (_, 8): .yuv420
        case (_, 10): .yuv420Bits10
        case (_, _): .yuv420Bits12
        }
    }
}
