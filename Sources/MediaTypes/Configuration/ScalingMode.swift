// SPDX-License-Identifier: GPL-2.0-or-later

/// How a picture is fitted into a size with another aspect ratio.
public enum ScalingMode: String, Sendable, Hashable, CaseIterable {
    /// Keeps the whole picture and adds black bars where the aspect ratios differ.
    case letterbox
    /// Fills the whole size and crops what exceeds it, equally on both sides.
    case aspectFill = "aspect-fill"
    /// Stretches the picture to the size without keeping its aspect ratio.
    case stretch
}

extension ScalingMode {
    /// Returns the pixel aspect ratio with which the scaled picture has the display aspect ratio of its source.
    ///
    /// For ``letterbox`` and ``aspectFill`` it is the source's own ratio, because these modes keep the aspect ratio;
    /// for ``stretch`` it compensates the stretching. A ratio that is not positive counts as 1:1, and one that needs
    /// more than 32 bits is approximated.
    ///
    /// - Parameters:
    ///   - source: The picture to be scaled.
    ///   - width: The width of the result in luma samples.
    ///   - height: The height of the result in luma samples.
    public func pixelAspectRatio(scaling source: PixelBuffer.Description, toWidth width: Int, height: Int) -> Rational {
        let ratio = source.pixelAspectRatio.isPositive ? source.pixelAspectRatio.reduced : .one
        let valid = 1...PixelBuffer.maximumDimension
        guard self == .stretch, [width, height, source.width, source.height].allSatisfy(valid.contains) else {
            return ratio
        }
        // At most 31 + 15 + 15 bits.
        var numerator = UInt64(ratio.numerator.magnitude) * UInt64(source.width) * UInt64(height)
        var denominator = UInt64(ratio.denominator.magnitude) * UInt64(source.height) * UInt64(width)
        let divisor = greatestCommonDivisor(numerator, denominator)
        numerator /= divisor
        denominator /= divisor
        while max(numerator, denominator) > Int32.max {
            numerator = max(1, numerator / 2)
            denominator = max(1, denominator / 2)
        }
        return Rational(Int32(numerator), Int32(denominator)).reduced
    }
}
