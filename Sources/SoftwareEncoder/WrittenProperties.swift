// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

// What parameter sets of either codec tell, in the words of this package.

extension Rational {
    init(_ ratio: PositiveRatio) {
        self.init(Int32(clamping: ratio.numerator), Int32(clamping: ratio.denominator))
    }
}

extension ColorDescription {
    /// - Parameter signal: Of the usability information; `nil` if there is none.
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
    /// The same video with other parameter sets.
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
