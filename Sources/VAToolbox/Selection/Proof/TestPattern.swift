// SPDX-License-Identifier: GPL-2.0-or-later

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
    /// - Parameter buffer: NV12 or P010, whose samples have zeros behind those of NV12.
    static func draw(_ number: Int, into buffer: PixelBuffer) throws(MediaError) {
        try buffer.withPlanes { planes throws(MediaError) in
            for (index, plane) in planes.enumerated() {
                let height = index == 0 ? square : square / 2
                var samples: [UInt8] = []
                for row in 0..<(index == 0 ? buffer.height : buffer.height / 2) {
                    if row % height == 0 {
                        samples = line(index, row: row / height, number: number, width: buffer.width)
                    }
                    let bytes = buffer.format == .p010 ? samples.flatMap { [0, $0] } : samples
                    bytes.withUnsafeBytes { bytes in
                        UnsafeMutableRawBufferPointer(
                            start: plane.baseAddress + row * plane.bytesPerRow,
                            count: bytes.count
                        )
                        .copyMemory(from: bytes)
                    }
                }
            }
        }
    }

    /// A row of samples of NV12.
    private static func line(_ plane: Int, row: Int, number: Int, width: Int) -> [UInt8] {
        (0..<width).map { column in
            plane == 0
                ? value(0, column: column / square, row: row, number: number)
                : value(1 + column % 2, column: column / square, row: row, number: number)
        }
    }

    /// How far a picture is off, in the row of squares and the plane where it is worst: the mean of the differences of
    /// samples, 0 to 255.
    ///
    /// - Parameter buffer: NV12, P010 or I420.
    /// - Throws: `unsupported` for other formats.
    static func deviation(of buffer: PixelBuffer, from number: Int) throws(MediaError) -> Double {
        guard [.nv12, .p010, .i420].contains(buffer.format) else {
            throw MediaError(.unsupported, "the pattern is compared in 4:2:0", given: buffer.format.rawValue)
        }
        return try buffer.withPlanes { planes throws(MediaError) in
            var worst = 0.0
            for (index, plane) in planes.enumerated() {
                let isInterleaved = index > 0 && buffer.format != .i420
                let bytes = buffer.format.bytesPerSample
                for component in 0..<(isInterleaved ? 2 : 1) {
                    let view = PlaneView(
                        plane: plane,
                        component: isInterleaved ? 1 + component : index,
                        // The upper byte of a sample is the second one.
                        offset: component * bytes + bytes - 1,
                        step: isInterleaved ? 2 * bytes : bytes,
                        width: index == 0 ? buffer.width : buffer.width / 2,
                        height: index == 0 ? buffer.height : buffer.height / 2,
                        square: index == 0 ? square : square / 2
                    )
                    worst = max(worst, view.worstDeviation(from: number))
                }
            }
            return worst
        }
    }

    /// One component of a picture.
    private struct PlaneView {
        let plane: PixelPlane
        let component: Int
        let offset: Int
        let step: Int
        let width: Int
        let height: Int
        let square: Int

        /// Looks at one in fifteen samples, of all rows and columns alike.
        func worstDeviation(from number: Int) -> Double {
            var worst = 0.0
            for band in 0..<((height + square - 1) / square) {
                let rows = stride(from: band * square, to: min(height, (band + 1) * square), by: 3)
                var sum = 0
                var count = 0
                for row in rows {
                    let start = plane.baseAddress + row * plane.bytesPerRow + offset
                    for column in stride(from: row % 5, to: width, by: 5) {
                        let found = Int(start.load(fromByteOffset: column * step, as: UInt8.self))
                        let right = TestPattern.value(component, column: column / square, row: band, number: number)
                        sum += abs(found - Int(right))
                        count += 1
                    }
                }
                if count > 0 { worst = max(worst, Double(sum) / Double(count)) }
            }
            return worst
        }
    }
}
