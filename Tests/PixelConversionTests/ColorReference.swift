// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// A naive conversion in floating point after H.273 8.3, pixel by pixel by way of red, green and blue.
///
/// It shares nothing with the code under test: equations are used one after the other, with no matrix put together.
struct ColorReference {
    struct Coding {
        let red: Double
        let blue: Double
        let isFullRange: Bool
        let bitDepth: Int

        init(_ matrix: ColorDescription.Matrix, _ range: ColorDescription.Range, bitDepth: Int) {
            switch matrix {
            case .bt709: (red, blue) = (0.2126, 0.0722)
            case .bt2020: (red, blue) = (0.2627, 0.0593)
            default: (red, blue) = (0.299, 0.114)
            }
            isFullRange = range == .full
            self.bitDepth = bitDepth
        }

        var largest: Double { Double((1 << bitDepth) - 1) }
        private var scale: Double { Double(1 << (bitDepth - 8)) }

        /// Red, green and blue from 0 to 1 (beyond for codes that are no colour).
        func rgb(_ luma: Double, _ cb: Double, _ cr: Double) -> (red: Double, green: Double, blue: Double) {
            let y = isFullRange ? luma / largest : (luma - 16 * scale) / (219 * scale)
            let pb = (cb - 128 * scale) / (isFullRange ? largest : 224 * scale)
            let pr = (cr - 128 * scale) / (isFullRange ? largest : 224 * scale)
            let r = y + 2 * (1 - red) * pr
            let b = y + 2 * (1 - blue) * pb
            return (r, (y - red * r - blue * b) / (1 - red - blue), b)
        }

        /// Codes before rounding, kept to the range of codes.
        func codes(_ rgb: (red: Double, green: Double, blue: Double)) -> (luma: Double, cb: Double, cr: Double) {
            let y = red * rgb.red + (1 - red - blue) * rgb.green + blue * rgb.blue
            let pb = (rgb.blue - y) / (2 * (1 - blue))
            let pr = (rgb.red - y) / (2 * (1 - red))
            func code(_ value: Double, offset: Double, span: Double) -> Double {
                min(max(isFullRange ? value * largest + offset : value * span + offset, 0), largest)
            }
            return (
                code(y, offset: isFullRange ? 0 : 16 * scale, span: 219 * scale),
                code(pb, offset: 128 * scale, span: 224 * scale),
                code(pr, offset: 128 * scale, span: 224 * scale)
            )
        }
    }

    /// Unrounded codes of a 4:2:0 picture.
    struct Result {
        var luma: [Double] = []
        var cb: [Double] = []
        var cr: [Double] = []
    }

    static func convert(_ picture: Picture, from: Coding, to: Coding) -> Result {
        var result = Result()
        for y in 0..<picture.height {
            for x in 0..<picture.width {
                result.luma.append(to.codes(rgb(picture, x, y, from)).luma)
            }
        }
        for y in 0..<(picture.height + 1) / 2 {
            for x in 0..<(picture.width + 1) / 2 {
                var codes: (luma: Double, cb: Double, cr: Double)
                if picture.format == .bgra {
                    let block = [(0, 0), (1, 0), (0, 1), (1, 1)].map { rgb(picture, 2 * x + $0.0, 2 * y + $0.1, from) }
                    codes = to.codes(
                        (
                            block.map(\.red).reduce(0, +) / 4, block.map(\.green).reduce(0, +) / 4,
                            block.map(\.blue).reduce(0, +) / 4
                        )
                    )
                } else {
                    let (cb, cr) = chroma420(picture, x, y)
                    codes = to.codes(from.rgb(Double(picture.luma(2 * x, 2 * y)), cb, cr))
                }
                result.cb.append(codes.cb)
                result.cr.append(codes.cr)
            }
        }
        return result
    }

    private static func rgb(
        _ picture: Picture,
        _ x: Int,
        _ y: Int,
        _ coding: Coding
    ) -> (red: Double, green: Double, blue: Double) {
        if picture.format == .bgra {
            let codes = picture.bgr(x, y).map { coding.isFullRange ? $0 / 255 : ($0 - 16) / 219 }
            return (codes[2], codes[1], codes[0])
        }
        let (cb, cr) = chroma420(picture, x / 2, y / 2)
        return coding.rgb(Double(picture.luma(x, y)), cb, cr)
    }

    /// Chroma of a 2x2 block; for YUY2 the mean of two rows, rounded up as libyuv does.
    private static func chroma420(_ picture: Picture, _ x: Int, _ y: Int) -> (Double, Double) {
        guard picture.format == .yuy2 else {
            let (cb, cr) = picture.chroma(x, y)
            return (Double(cb), Double(cr))
        }
        let upper = picture.chroma(x, 2 * y)
        let lower = picture.chroma(x, min(2 * y + 1, picture.height - 1))
        return (Double((upper.cb + lower.cb + 1) / 2), Double((upper.cr + lower.cr + 1) / 2))
    }
}

extension ColorReference.Result {
    /// The largest difference to a picture, in codes of that picture.
    func largestDifference(to picture: Picture) -> Double {
        var largest = 0.0
        for y in 0..<picture.height {
            for x in 0..<picture.width {
                largest = max(largest, abs(luma[y * picture.width + x] - Double(picture.luma(x, y))))
            }
        }
        for y in 0..<picture.chromaHeight {
            for x in 0..<picture.chromaWidth {
                let index = y * picture.chromaWidth + x
                let (gotCb, gotCr) = picture.chroma(x, y)
                largest = max(largest, abs(cb[index] - Double(gotCb)), abs(cr[index] - Double(gotCr)))
            }
        }
        return largest
    }
}
