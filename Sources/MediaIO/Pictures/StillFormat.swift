// SPDX-License-Identifier: GPL-2.0-or-later

/// A file format for single pictures.
package enum StillFormat: Sendable, Hashable {
    /// PNG, without loss.
    case png
    /// JPEG of a quality from 1 to 100, in 4:2:0 and full range (JFIF).
    case jpeg(quality: Int)

    /// The qualities of JPEG.
    package static let qualities = 1...100

    /// The name: `png` or `jpeg`.
    package var name: String {
        switch self {
        case .png: "png"
        case .jpeg: "jpeg"
        }
    }

    /// FFmpeg's name of the pixel format that the encoder gets, with 8 bits.
    var pixelFormatName: String {
        switch self {
        case .png: "rgb24"
        case .jpeg: "yuv420p"
        }
    }

    /// The scale of the quantizer matrix that libavcodec's encoder gets; `nil` for PNG.
    ///
    /// It is 8 for the matrix of quality 50, and grows as that of libjpeg's qualities does: from 50 on, linearly to 0, and
    /// below, in inverse proportion. libavcodec has 2 to 31.
    var quantizer: Double? {
        guard case .jpeg(let quality) = self else { return nil }
        let number = Double(quality)
        let scale = quality < 50 ? 400 / number : 16 - 0.16 * number
        return min(max(scale, 2), 31)
    }
}
