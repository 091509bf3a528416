// SPDX-License-Identifier: GPL-2.0-or-later

/// The weights of red and blue in luma: `KR` and `KB` of H.273 8.3 (table 4). The weights of red, green and blue add up
/// to 1.
package struct LumaWeights: Sendable, Hashable {
    /// The weight of red.
    package let red: Double
    /// The weight of blue.
    package let blue: Double

    /// The weight of green.
    package var green: Double { 1 - red - blue }

    /// Makes the weights of a matrix; `nil` for matrices that are not defined by two weights alone, and for those with
    /// constant luminance.
    package init?(_ matrix: ColorDescription.Matrix) {
        switch matrix.rawValue {
        case 1: (red, blue) = (0.2126, 0.0722)
        case 4: (red, blue) = (0.30, 0.11)
        case 5, 6: (red, blue) = (0.299, 0.114)
        case 7: (red, blue) = (0.212, 0.087)
        case 9: (red, blue) = (0.2627, 0.0593)
        default: return nil
        }
    }
}
