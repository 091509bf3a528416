// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// The style of an encoder in all charts: a letter, a shape and a dash pattern that identify it even without colour.
struct SeriesStyle: Sendable, Hashable {
    /// The index of the encoder in the report.
    let index: Int

    /// The letter: `A` to `Z`, then `A1`.
    var letter: String {
        let letter = String(UnicodeScalar(UInt8(ascii: "A") + UInt8(index % 26)))
        return index < 26 ? letter : "\(letter)\(index / 26)"
    }

    /// The class for the colour in the style sheet, one of eight.
    var colorClass: String { "c\(index % Self.colors)" }

    /// The value for `stroke-dasharray`.
    var dashes: String { Self.dashes[index % Self.dashes.count] }

    static let colors = 8
    private static let dashes = ["none", "7 3", "2 3", "9 3 2 3", "4 2"]

    /// Returns the marker of a value, centred on a position.
    func marker(x: Double, y: Double, size: Double = 4.5) -> Markup {
        func polygon(_ corners: [(Double, Double)]) -> Markup {
            let points = corners.map { "\(x + $0.0 * size),\(y + $0.1 * size)" as Markup }.joined(separator: " ")
            return "<polygon class=\"m\" points=\"\(points)\"/>"
        }
        switch index % 7 {
        case 0: return "<circle class=\"m\" cx=\"\(x)\" cy=\"\(y)\" r=\"\(size * 0.95)\"/>"
        case 1: return polygon([(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)])
        case 2: return polygon([(0, -1.15), (1.1, 0.85), (-1.1, 0.85)])
        case 3: return polygon([(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)])
        case 4: return polygon([(0, 1.15), (1.1, -0.85), (-1.1, -0.85)])
        case 5: return polygon(Self.star(points: 5))
        default:
            return polygon([
                (-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4), (0.4, 1.2), (-0.4, 1.2),
                (-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4),
            ])
        }
    }

    private static func star(points: Int) -> [(Double, Double)] {
        (0..<2 * points).map { corner in
            let angle = Double(corner) * .pi / Double(points) - .pi / 2
            let radius = corner % 2 == 0 ? 1.4 : 0.6
            return (cos(angle) * radius, sin(angle) * radius)
        }
    }
}
