// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CPixelKernels
internal import MediaTypes

/// The properties of a picture's codes that affect the conversion arithmetic.
struct SampleMeaning: Hashable {
    /// The luma weights; `nil` if the matrix has no effect: it is unspecified, or the same before and after.
    var weights: LumaWeights?
    var isFullRange: Bool
    var bitDepth: Int

    /// The span of luma, or of red, green and blue, from 0 to 1, in the kernels' 10-bit values (H.273 8.3, equations 20
    /// to 31).
    var lumaSpan: Double { isFullRange ? fullSpan : 219 * 4 }
    /// The span of chroma from -0.5 to 0.5 in 10-bit values.
    var chromaSpan: Double { isFullRange ? fullSpan : 224 * 4 }
    /// The 10-bit value of luma 0.
    var lumaOffset: Int32 { isFullRange ? 0 : 16 * 4 }
    /// The 10-bit value of chroma 0.
    static let chromaOffset: Int32 = 128 * 4

    private var fullSpan: Double { Double((1 << bitDepth) - 1) * 4 / Double(1 << (bitDepth - 8)) }
}

/// The conversion of a source's samples, and the colour description of the result.
struct ColorConversion {
    /// The colour description of the result.
    let result: ColorDescription
    let source: SampleMeaning
    let target: SampleMeaning

    /// Whether the codes change; always true for BGRA.
    let changesSamples: Bool

    init(source: PixelBuffer.Description, output: PixelBuffer.Description) throws(MediaError) {
        if source.format.isYCbCr {
            try self.init(yCbCr: source.color, format: source.format, output: output)
        } else {
            try self.init(rgb: source.color, depth: source.format.bitDepth, output: output)
        }
    }

    private init(
        yCbCr color: ColorDescription,
        format: PixelFormat,
        output: PixelBuffer.Description
    ) throws(MediaError) {
        var result = color
        var from = SampleMeaning(isFullRange: color.range == .full, bitDepth: format.bitDepth)
        if color.range != .unspecified, output.color.range != .unspecified { result.range = output.color.range }
        var to = SampleMeaning(isFullRange: result.range == .full, bitDepth: output.format.bitDepth)
        if color.matrix != output.color.matrix, color.matrix != .unspecified, output.color.matrix != .unspecified {
            let weights = (try Self.weights(color.matrix), try Self.weights(output.color.matrix))
            result.matrix = output.color.matrix
            if weights.0 != weights.1 { (from.weights, to.weights) = weights }
        }
        if format.chromaFormat == .yuv444 { result.chromaLocation = .center }
        if !output.format.is420 { result.chromaLocation = nil }
        self.result = result
        source = from
        target = to
        changesSamples = from != to
    }

    private init(rgb color: ColorDescription, depth: Int, output: PixelBuffer.Description) throws(MediaError) {
        var result = color.coded(from: .bgra, width: output.width, height: output.height)
        if output.color.range != .unspecified { result.range = output.color.range }
        if output.color.matrix != .unspecified { result.matrix = output.color.matrix }
        if !output.format.is420 { result.chromaLocation = nil }
        self.result = result
        source = SampleMeaning(isFullRange: color.range != .limited, bitDepth: depth)
        target = SampleMeaning(
            weights: try Self.weights(result.matrix),
            isFullRange: result.range == .full,
            bitDepth: output.format.bitDepth
        )
        changesSamples = true
    }

    private static func weights(_ matrix: ColorDescription.Matrix) throws(MediaError) -> LumaWeights {
        if let weights = LumaWeights(matrix) { return weights }
        throw MediaError(
            .unsupported,
            "pictures cannot be converted from or to this matrix",
            given: "matrix coefficients \(matrix.rawValue)",
            allowed: "1, 4, 5, 6, 7, 9"
        )
    }
}

// MARK: - Coefficients

/// The number format of kernels.
struct KernelPrecision {
    /// The format for 8- and 10-bit 4:2:0: 10-bit values with 18 fractional bits.
    static let tenBits = KernelPrecision(one: 1 << 18, scale: 1)
    /// The format for planes of all chroma formats: 12-bit values with 16 fractional bits.
    static let twelveBits = KernelPrecision(one: 1 << 16, scale: 4)

    let one: Int32
    /// The scale of values relative to 10-bit values.
    let scale: Int32

    fileprivate func fixedPoint(_ value: Double) -> Int32 { Int32((value * Double(one)).rounded()) }

    /// Returns the bias with which the sum is `output` if all inputs are at their offsets.
    fileprivate func bias(_ output: Int32, _ inputs: (coefficient: Int32, offset: Int32)...) -> Int32 {
        inputs.reduce(output * scale * one) { $0 - $1.coefficient * $1.offset * scale }
    }
}

extension ColorConversion {
    /// Returns the transform from Y, Cb, Cr to Y, Cb, Cr through red, green and blue.
    ///
    /// The differences to luma are R - Y = 2 (1 - KR) Cr and B - Y = 2 (1 - KB) Cb, and the weighted sum of all three
    /// is 0.
    func yCbCrTransform(_ precision: KernelPrecision = .tenBits) -> pixel_kernel_transform {
        var lumaFrom = (cb: 0.0, cr: 0.0)
        var cbFrom = (cb: 1.0, cr: 0.0)
        var crFrom = (cb: 0.0, cr: 1.0)
        if let old = source.weights, let new = target.weights {
            let blue = 2 * (1 - old.blue)
            let red = 2 * (1 - old.red)
            let green = (fromCb: -blue * old.blue / old.green, fromCr: -red * old.red / old.green)
            lumaFrom = (new.blue * blue + new.green * green.fromCb, new.red * red + new.green * green.fromCr)
            cbFrom = ((blue - lumaFrom.cb) / (2 * (1 - new.blue)), -lumaFrom.cr / (2 * (1 - new.blue)))
            crFrom = (-lumaFrom.cb / (2 * (1 - new.red)), (red - lumaFrom.cr) / (2 * (1 - new.red)))
        }
        let lumaGain = target.lumaSpan / source.lumaSpan
        let crossGain = target.lumaSpan / source.chromaSpan
        let chromaGain = target.chromaSpan / source.chromaSpan
        var transform = pixel_kernel_transform()
        transform.luma_from_luma = precision.fixedPoint(lumaGain)
        transform.luma_from_cb = precision.fixedPoint(lumaFrom.cb * crossGain)
        transform.luma_from_cr = precision.fixedPoint(lumaFrom.cr * crossGain)
        transform.cb_from_cb = precision.fixedPoint(cbFrom.cb * chromaGain)
        transform.cb_from_cr = precision.fixedPoint(cbFrom.cr * chromaGain)
        transform.cr_from_cb = precision.fixedPoint(crFrom.cb * chromaGain)
        transform.cr_from_cr = precision.fixedPoint(crFrom.cr * chromaGain)
        let middle = SampleMeaning.chromaOffset
        transform.luma_bias = precision.bias(
            target.lumaOffset,
            (transform.luma_from_luma, source.lumaOffset),
            (transform.luma_from_cb, middle),
            (transform.luma_from_cr, middle)
        )
        transform.cb_bias = precision.bias(middle, (transform.cb_from_cb, middle), (transform.cb_from_cr, middle))
        transform.cr_bias = precision.bias(middle, (transform.cr_from_cb, middle), (transform.cr_from_cr, middle))
        return transform
    }

    /// Returns the transform from blue, green, red to Y, Cb, Cr. Rounding errors are added to green, so that grey has
    /// no chroma.
    func bgrTransform(_ precision: KernelPrecision = .tenBits) -> pixel_kernel_bgr_transform {
        var transform = pixel_kernel_bgr_transform()
        guard let weights = target.weights else { return transform }
        func row(_ blue: Double, _ red: Double, sum: Double) -> (Int32, Int32, Int32) {
            let (blue, red) = (precision.fixedPoint(blue), precision.fixedPoint(red))
            return (blue, precision.fixedPoint(sum) - blue - red, red)
        }
        let luma = target.lumaSpan / source.lumaSpan
        let chroma = target.chromaSpan / source.lumaSpan
        transform.luma = row(weights.blue * luma, weights.red * luma, sum: luma)
        transform.cb = row(0.5 * chroma, -weights.red / (2 * (1 - weights.blue)) * chroma, sum: 0)
        transform.cr = row(-weights.blue / (2 * (1 - weights.red)) * chroma, 0.5 * chroma, sum: 0)
        transform.luma_bias = precision.bias(target.lumaOffset, (precision.fixedPoint(luma), source.lumaOffset))
        transform.cb_bias = precision.bias(SampleMeaning.chromaOffset)
        transform.cr_bias = transform.cb_bias
        return transform
    }
}
