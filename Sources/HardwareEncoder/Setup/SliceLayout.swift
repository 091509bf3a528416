// SPDX-License-Identifier: GPL-2.0-or-later

internal import VAAPI

/// How a picture is divided into slices: as near to what was asked for as the driver can.
struct SliceLayout: Hashable, Sendable {
    /// The blocks of each slice, in raster order without gaps.
    let slices: [Range<Int>]

    /// Divides a picture.
    ///
    /// - Parameters:
    ///   - count: How many slices are asked for. If the driver can do fewer and more but not as many, the nearer number
    ///     is taken, and the lower one of two that are equally near.
    ///   - columns: Blocks in a row, at least 1.
    ///   - rows: Rows of blocks, at least 1.
    ///   - maximum: The driver's limit.
    ///   - structures: What it allows; `nil` if it does not say, and then pictures stay whole.
    init(count: Int, columns: Int, rows: Int, maximum: Int, structures: SliceStructures?) {
        let wanted = min(max(count, 1), max(maximum, 1), columns * rows)
        let structures = structures ?? []
        if wanted <= 1 || structures.isEmpty {
            slices = [0..<columns * rows]
        } else if structures.contains(.arbitraryMacroblocks), wanted > rows {
            slices = Self.even(wanted, of: columns * rows, unit: 1)
        } else if structures.contains(.arbitraryRows) || structures.contains(.arbitraryMacroblocks) {
            slices = Self.even(min(wanted, rows), of: rows, unit: columns)
        } else {
            let height = Self.height(wanted, rows, min(max(maximum, 1), rows), structures)
            slices = stride(from: 0, to: rows, by: height).map { $0 * columns..<min($0 + height, rows) * columns }
        }
    }

    /// Parts whose sizes differ by one unit at most.
    private static func even(_ count: Int, of total: Int, unit: Int) -> [Range<Int>] {
        (0..<count).map { $0 * total / count * unit..<($0 + 1) * total / count * unit }
    }

    /// The number of rows in each slice but the last with which the number of slices comes nearest.
    private static func height(_ wanted: Int, _ rows: Int, _ maximum: Int, _ structures: SliceStructures) -> Int {
        let heights = (1...rows).filter { height in
            (rows + height - 1) / height <= maximum
                && (height == rows || structures.contains(.equalRows)
                    || structures.contains(.powerOfTwoRows) && height & (height - 1) == 0
                    || structures.contains(.oneRow) && height == 1)
        }
        func distance(_ height: Int) -> Int { abs((rows + height - 1) / height - wanted) }
        // The highest of those that are equally near: fewer slices cost less.
        return heights.reversed().min { distance($0) < distance($1) } ?? rows
    }
}
