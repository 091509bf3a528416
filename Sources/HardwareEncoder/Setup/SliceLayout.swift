// SPDX-License-Identifier: GPL-2.0-or-later

internal import VAAPI

/// The division of a picture into slices, as close to the request as the driver allows.
struct SliceLayout: Hashable, Sendable {
    /// The blocks of each slice, in raster order without gaps.
    let slices: [Range<Int>]

    /// Divides a picture.
    ///
    /// - Parameters:
    ///   - count: The requested number of slices. If the driver supports only smaller and larger numbers, the nearest
    ///     one is used, and the smaller one of two equally near numbers.
    ///   - columns: The number of blocks per row, at least 1.
    ///   - rows: The number of block rows, at least 1.
    ///   - maximum: The driver's limit.
    ///   - structures: The supported structures; `nil` if the driver does not report them, in which case pictures have
    ///     one slice.
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

    /// Returns parts whose sizes differ by at most one unit.
    private static func even(_ count: Int, of total: Int, unit: Int) -> [Range<Int>] {
        (0..<count).map { $0 * total / count * unit..<($0 + 1) * total / count * unit }
    }

    /// Returns the number of rows per slice, except for the last slice, that comes nearest to the number of slices.
    private static func height(_ wanted: Int, _ rows: Int, _ maximum: Int, _ structures: SliceStructures) -> Int {
        let heights = (1...rows).filter { height in
            (rows + height - 1) / height <= maximum
                && (height == rows || structures.contains(.equalRows)
                    || structures.contains(.powerOfTwoRows) && height & (height - 1) == 0
                    || structures.contains(.oneRow) && height == 1)
        }
        func distance(_ height: Int) -> Int { abs((rows + height - 1) / height - wanted) }
        // The largest of equally near heights: fewer slices cost less.
        return heights.reversed().min { distance($0) < distance($1) } ?? rows
    }
}
