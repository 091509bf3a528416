// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes

/// Pictures that are known to the sample: squares of one colour each, all of which change from picture to picture.
///
/// Any encoder codes them well at usual rates, since squares are whole macroblocks without texture. A picture that is
/// another one of the sequence, is sheared by a wrong pitch, or has bars differs from the right one by far.
struct TestPattern: Sendable {
    /// Width and height of a square in luma samples.
    static let square = 64
    /// How far the samples of a row of squares may be off in the mean, of 255. A wrong picture is off by 24 and more, mostly by
    /// 50; quantizers of up to 30, which test encodes have, leave less than 5, a simple coder at a constant rate up to
    /// 19.
    static let tolerance = 22.0

    /// The value of a plane (luma, then the two of chroma) in a square of a picture.
    static func value(_ plane: Int, column: Int, row: Int, number: Int) -> UInt8 {
        plane == 0
            ? UInt8(40 + 11 * ((7 * column + 3 * row + 5 * number) % 17))
            : UInt8(80 + 6 * ((5 * column + 11 * row + 3 * number + 7 * plane) % 17))
    }

    /// Draws a picture.
    ///
    /// - Parameter buffer: Luma and chroma of any format; samples of more than 8 bits have zeros behind those of 8.
    /// - Throws: `unsupported` for red, green and blue.
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

    /// How far a picture is off, in the row of squares and the component where it is worst: the mean of the differences of
    /// samples, 0 to 255.
    ///
    /// - Parameter buffer: Luma and chroma of any format.
    /// - Throws: `unsupported` for red, green and blue.
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

    /// Calls `body` with each component (luma, then the two of chroma), the bits of its samples, and the samples of a square
    /// in either direction.
    private static func withComponents(
        of buffer: PixelBuffer,
        _ body: (Int, ComponentPlane, Int, (columns: Int, rows: Int)) -> Void
    ) throws(MediaError) {
        guard buffer.format.isYCbCr else {
            throw MediaError(.unsupported, "the pattern is one of luma and chroma", given: buffer.format.rawValue)
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
        /// Bits of a word below the upper eight of a sample.
        let excess: Int
        let columns: Int
        let rows: Int

        /// Looks at one in fifteen samples, of all rows and columns alike.
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

        /// The upper eight bits of a sample.
        private func sample(_ column: Int, _ row: Int) -> Int {
            let place = plane.base + row * plane.bytesPerRow + column * plane.step
            return plane.wordSize == 1
                ? Int(place.load(as: UInt8.self)) : Int(UInt16(littleEndian: place.load(as: UInt16.self)) >> excess)
        }
    }
}
