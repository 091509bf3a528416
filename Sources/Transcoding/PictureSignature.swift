// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes

/// A very small version of a picture, by which a picture that was encoded can be told from another one: the means of luma
/// and chroma in 4x4 cells, with 8 bits, and the luma steps from even lines to the next odd ones at some places.
struct PictureSignature: Sendable, Hashable {
    private var luma = SIMD16<UInt8>()
    private var blue = SIMD16<UInt8>()
    private var red = SIMD16<UInt8>()
    /// The step in 8 pairs of lines and 8 columns.
    private var steps = SIMD64<Int8>()
    /// The mean difference of luma between neighbouring samples of the grid: large for noise.
    private var activity = 0

    /// The number of samples per cell and direction.
    private static let density = 32
    /// The mean difference of a component from which on two pictures are different, without noise. Encoders change means by
    /// less than 3, even at the lowest quality.
    private static let largestDifference = 10

    /// Makes the signature of a picture.
    ///
    /// - Throws: `unsupported` if the CPU cannot access the samples; an error of reading them.
    /// - Returns: `nil` for red, green and blue, whose luma depends on the matrix that the encoder uses.
    init?(_ picture: PixelBuffer) throws(MediaError) {
        guard picture.format.isYCbCr else { return nil }
        let sums = try picture.withPlanes { planes throws(MediaError) in
            let reader = SampleReader(
                PictureComponents(
                    picture.format.arrangement,
                    width: picture.width,
                    height: picture.height,
                    planes: planes
                )
            )
            let count = 4 * Self.density
            var sums = [SIMD4<Int>](repeating: .zero, count: 16)
            for row in 0..<count {
                let y = (2 * row + 1) * picture.height / (2 * count)
                var previous: Int?
                for column in 0..<count {
                    let x = (2 * column + 1) * picture.width / (2 * count)
                    let luma = reader.luma(x, y)
                    let (blue, red) = reader.chroma(x, y)
                    activity &+= abs(luma - (previous ?? luma))
                    previous = luma
                    sums[row / Self.density * 4 + column / Self.density] &+= SIMD4(luma, blue, red, 0)
                }
            }
            activity /= count * count
            for pair in 0..<min(8, picture.height / 2) {
                let y = (2 * pair + 1) * (picture.height / 2) / 16 * 2
                for column in 0..<8 {
                    var step = 0
                    for part in 0..<8 {
                        let x = (2 * (8 * column + part) + 1) * picture.width / 128
                        step += reader.luma(x, y) - reader.luma(x, y + 1)
                    }
                    steps[8 * pair + column] = Int8(clamping: step / 8)
                }
            }
            return sums
        }
        for index in 0..<16 {
            let mean = sums[index] / (Self.density * Self.density)
            luma[index] = UInt8(clamping: mean.x)
            blue[index] = UInt8(clamping: mean.y)
            red[index] = UInt8(clamping: mean.z)
        }
    }

    /// Returns how far the steps between lines agree with those of another picture of the same size, and how large they are.
    /// If the lines are swapped, as the fields of an interlaced picture may be, the agreement is negative.
    func compareLines(with other: PictureSignature) -> (agreement: Int, size: Int) {
        steps.indices.reduce((0, 0)) { sum, index in
            let (own, other) = (Int(steps[index]), Int(other.steps[index]))
            return (sum.0 + own * other, sum.1 + other * other)
        }
    }

    /// Returns whether two signatures may be of the same picture.
    ///
    /// The means of noise depend on the samples that are taken, and encoders change them more.
    func resembles(_ other: PictureSignature) -> Bool {
        let limit = Self.largestDifference + max(activity, other.activity) / 4
        return [(luma, other.luma), (blue, other.blue), (red, other.red)].allSatisfy { own, other in
            (0..<16).reduce(0) { $0 + abs(Int(own[$1]) - Int(other[$1])) } / 16 < limit
        }
    }
}

/// Reads single samples of a picture, as 8 bits.
private struct SampleReader {
    private let components: [ComponentPlane]
    private let mask: UInt32
    private let surplusBits: Int
    private let subsampling: (across: Int, down: Int)

    init(_ picture: PictureComponents) {
        components = picture.planes
        mask = 1 << UInt32(picture.bitDepth) - 1
        surplusBits = picture.bitDepth - 8
        subsampling = (picture.chromaFormat.horizontalSubsampling, picture.chromaFormat.verticalSubsampling)
    }

    func luma(_ x: Int, _ y: Int) -> Int { sample(0, x, y) }

    func chroma(_ x: Int, _ y: Int) -> (blue: Int, red: Int) {
        let (column, row) = (x / subsampling.across, y / subsampling.down)
        return (sample(1, column, row), sample(2, column, row))
    }

    private func sample(_ component: Int, _ column: Int, _ row: Int) -> Int {
        let plane = components[component]
        let place = plane.base + row * plane.bytesPerRow + column * plane.step
        let word =
            switch plane.wordSize {
            case 1: UInt32(place.load(as: UInt8.self))
            case 2: UInt32(UInt16(littleEndian: place.load(as: UInt16.self)))
            default: UInt32(littleEndian: place.load(as: UInt32.self))
            }
        return Int((word >> UInt32(plane.shift)) & mask) >> surplusBits
    }
}
