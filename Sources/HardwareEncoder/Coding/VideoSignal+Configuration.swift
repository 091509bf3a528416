// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

extension VideoSignal {
    /// Creates the video signal description of the requested pictures for the VUI.
    ///
    /// - Parameter adjustments: Receives an adjustment for an aspect ratio that cannot be coded.
    init(_ configuration: EncoderConfiguration, _ adjustments: inout [Adjustment]) {
        self.init()
        if let ratio = configuration.pixelAspectRatio {
            let limited = ratio.reduced.limited(to: 65535)
            if limited != ratio.reduced {
                adjustments.append(
                    Adjustment(
                        property: "pixel aspect ratio",
                        requested: "\(ratio)",
                        used: "\(limited)",
                        reason: "numerator and denominator have 16 bits"
                    )
                )
            }
            aspectRatio = PositiveRatio(Int(limited.numerator), Int(limited.denominator)).map { .init($0) }
        }
        guard let color = configuration.color else { return }
        var type = SignalType()
        type.videoFullRangeFlag = color.range == .full
        let description = ColourCodePoints(
            colourPrimaries: UInt32(color.primaries.rawValue),
            transferCharacteristics: UInt32(color.transfer.rawValue),
            matrixCoefficients: UInt32(color.matrix.rawValue)
        )
        if description != ColourCodePoints() { type.colourDescription = description }
        if color.range != .unspecified || type.colourDescription != nil { signalType = type }
        if let location = color.chromaLocation {
            var coded = ChromaLocation()
            (coded.topField, coded.bottomField) = (UInt32(location.rawValue), UInt32(location.rawValue))
            chromaLocation = coded
        }
    }
}

extension Rational {
    /// Returns the nearest ratio whose terms do not exceed a limit.
    fileprivate func limited(to limit: Int32) -> Rational {
        guard max(numerator, denominator) > limit else { return self }
        let scale = Double(limit) / Double(max(numerator, denominator))
        return Rational(
            max(1, Int32((Double(numerator) * scale).rounded())),
            max(1, Int32((Double(denominator) * scale).rounded()))
        ).reduced
    }
}
