// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes

/// Generated pictures whose samples are all known: squares of a single colour that change from picture to picture.
///
/// Any encoder encodes them well at usual bitrates, because the squares consist of whole macroblocks without texture. A
/// picture that belongs to another position in the sequence, is sheared by a wrong pitch, or has bars differs clearly.
struct TestPattern: Sendable {
    /// The width and height of a square in luma samples.
    static let square = 64
    /// The tolerated mean deviation of the samples in a row of squares, out of 255. A wrong picture deviates by 24 or
    /// more, usually by 50. Quantizers up to 30, the limit in test encodes, cause less than 5; a simple encoder at a
    /// constant bitrate causes up to 19.
    static let tolerance = 22.0

    /// Returns the value of a component (luma, then the two of chroma) in a square of a picture.
    static func value(_ plane: Int, column: Int, row: Int, number: Int) -> UInt8 {
        plane == 0
            ? UInt8(40 + 11 * ((7 * column + 3 * row + 5 * number) % 17))
            : UInt8(80 + 6 * ((5 * column + 11 * row + 3 * number + 7 * plane) % 17))
    }

    /// Draws a picture.
    ///
    /// - Parameter buffer: Luma and chroma of any format. Samples of more than 8 bits have zeros below the upper eight.
    /// - Throws: `unsupported` for RGB formats.
    static func draw(_ number: Int, into buffer: PixelBuffer) throws(MediaError) {
        try withComponents(of: buffer) { component, plane, bitDepth, side in
            for y in stride(from: 0, to: plane.height, by: side.rows) {
                for x in stride(from: 0, to: plane.width, by: side.columns) {
                    let value = value(component, column: x / side.columns, row: y / side.rows, number: number)
                    let width = min(side.columns, plane.width - x)
                    plane.part(x: x, y: y, width: width, height: min(side.rows, plane.height - y))
                        .fill(Int(value) << (bitDepth - 8), bitDepth: bitDepth)
                }
            }
        }
    }

    /// Returns the deviation of a picture in its worst row of squares and component: the mean absolute difference of
    /// the samples, 0 to 255.
    ///
    /// - Parameter buffer: Luma and chroma of any format.
    /// - Throws: `unsupported` for RGB formats.
    static func deviation(of buffer: PixelBuffer, from number: Int) throws(MediaError) -> Double {
        var worst = 0.0
        try withComponents(of: buffer) { component, plane, bitDepth, side in
            let view = ComponentView(
                plane: plane,
                component: component,
                excess: plane.shift + bitDepth - 8,
                columns: side.columns,
                rows: side.rows
            )
            worst = max(worst, view.worstDeviation(from: number))
        }
        return worst
    }

    /// Calls `body` with each component (luma, then the two of chroma), its plane, its bit depth, and the number of
    /// samples of a square in each direction.
    private static func withComponents(
        of buffer: PixelBuffer,
        _ body: (Int, ComponentPlane, Int, (columns: Int, rows: Int)) -> Void
    ) throws(MediaError) {
        guard buffer.format.isYCbCr else {
            throw MediaError(.unsupported, "the test pattern requires a YCbCr format", given: buffer.format.rawValue)
        }
        let chroma = buffer.format.chromaFormat
        try buffer.withPlanes { planes throws(MediaError) in
            let picture = PictureComponents(
                buffer.format.arrangement,
                width: buffer.width,
                height: buffer.height,
                planes: planes
            )
            for (component, plane) in picture.planes.enumerated() {
                let side =
                    component == 0
                    ? (square, square) : (square / chroma.horizontalSubsampling, square / chroma.verticalSubsampling)
                body(component, plane, picture.bitDepth, side)
            }
        }
    }

    /// One component of a picture.
    private struct ComponentView {
        let plane: ComponentPlane
        let component: Int
        /// The number of bits in a word below the upper eight of a sample.
        let excess: Int
        let columns: Int
        let rows: Int

        /// Compares one in fifteen samples, spread evenly over all rows and columns.
        func worstDeviation(from number: Int) -> Double {
            var worst = 0.0
            for band in 0..<((plane.height + rows - 1) / rows) {
                var sum = 0
                var count = 0
                for row in stride(from: band * rows, to: min(plane.height, (band + 1) * rows), by: 3) {
                    for column in stride(from: row % 5, to: plane.width, by: 5) {
                        let right = TestPattern.value(component, column: column / columns, row: band, number: number)
                        sum += abs(sample(column, row) - Int(right))
                        count += 1
                    }
                }
                if count > 0 { worst = max(worst, Double(sum) / Double(count)) }
            }
            return worst
        }

        /// Returns the upper eight bits of a sample.
        private func sample(_ column: Int, _ row: Int) -> Int {
            let place = plane.base + row * plane.bytesPerRow + column * plane.step
            return plane.wordSize == 1
                ? Int(place.load(as: UInt8.self)) : Int(UInt16(littleEndian: place.load(as: UInt16.self)) >> excess)
        }
    }
}
