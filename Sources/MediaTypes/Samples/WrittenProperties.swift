// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax

// The properties in the parameter sets of either codec, in the types of this package.

extension Rational {
    /// Makes the fraction of an element of the usability information.
    package init(_ ratio: PositiveRatio) {
        self.init(Int32(clamping: ratio.numerator), Int32(clamping: ratio.denominator))
    }
}

extension ColorDescription {
    /// Makes the colour description of the usability information.
    ///
    /// - Parameter signal: The video signal of the usability information; `nil` if there is none.
    package init(_ signal: VideoSignal?) {
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
    /// Makes the description of the video whose parameter sets are given: the counterpart of
    /// `CMVideoFormatDescriptionCreateFromH264ParameterSets` and its equivalent for HEVC. Size, colour and pixel aspect
    /// ratio are those of the first sequence parameter set.
    ///
    /// - Parameters:
    ///   - codec: The codec.
    ///   - parameterSets: NAL units without start codes or length prefixes, in decoding order.
    /// - Throws: `malformedData` if there is no sequence parameter set, or it cannot be parsed.
    public convenience init(codec: VideoCodec, parameterSets: [[UInt8]]) throws(MediaError) {
        let size: PictureSize
        let signal: VideoSignal?
        do throws(BitstreamError) {
            switch codec {
            case .h264:
                let unit = parameterSets.first { $0.first.map { $0 & 0x1F == 7 } == true }
                let set = try H264SequenceParameterSet(nalUnit: unit ?? [])
                (size, signal) = (set.displaySize, set.vui?.signal)
            case .hevc:
                let unit = parameterSets.first { $0.first.map { $0 >> 1 & 0x3F == 33 } == true }
                let set = try HEVCSequenceParameterSet(nalUnit: unit ?? [])
                (size, signal) = (set.displaySize, set.vui?.signal)
            }
        } catch {
            throw MediaError(.malformedData, "the sequence parameter set cannot be read: \(error)")
        }
        self.init(
            codec: codec,
            width: size.width,
            height: size.height,
            parameterSets: parameterSets,
            color: ColorDescription(signal),
            pixelAspectRatio: signal?.aspectRatio?.ratio.map { Rational($0) } ?? .one
        )
    }

    /// Returns the same video with other parameter sets.
    package func with(parameterSets: [[UInt8]]) -> FormatDescription {
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
