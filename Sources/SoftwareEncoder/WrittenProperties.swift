// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

// The properties in the parameter sets of either codec, in the types of this package.

extension Rational {
    init(_ ratio: PositiveRatio) {
        self.init(Int32(clamping: ratio.numerator), Int32(clamping: ratio.denominator))
    }
}

extension ColorDescription {
    /// Makes the colour description of the usability information.
    ///
    /// - Parameter signal: The video signal of the usability information; `nil` if there is none.
    init(_ signal: VideoSignal?) {
        self.init()
        if let type = signal?.signalType { range = type.videoFullRangeFlag ? .full : .limited }
        if let description = signal?.signalType?.colourDescription {
            primaries = .init(rawValue: UInt8(clamping: description.colourPrimaries))
            transfer = .init(rawValue: UInt8(clamping: description.transferCharacteristics))
            matrix = .init(rawValue: UInt8(clamping: description.matrixCoefficients))
        }
        chromaLocation = signal?.chromaLocation.map { .init(rawValue: UInt8(clamping: $0.topField)) }
    }
}

extension FormatDescription {
    /// Returns the same video with other parameter sets.
    func with(parameterSets: [[UInt8]]) -> FormatDescription {
        FormatDescription(
            codec: codec,
            width: width,
            height: height,
            parameterSets: parameterSets,
            color: color,
            pixelAspectRatio: pixelAspectRatio,
            attachments: attachments
        )
    }
}
