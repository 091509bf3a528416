// SPDX-License-Identifier: GPL-2.0-or-later

internal import CX265
internal import MediaTypes

extension X265Settings {
    /// The pixel formats of x265: planes first, which it copies unchanged, while other samples have to be rearranged.
    var pixelFormats: [PixelFormat] {
        let alike = PixelFormat.allCases.filter {
            $0.isYCbCr && $0.chromaFormat == configuration.chromaFormat && $0.bitDepth == configuration.bitDepth
        }
        let planar = alike.filter { $0.planeCount == 3 }
        return planar + alike.filter { !planar.contains($0) }
    }

    /// Returns the options that x265 supports. Intra refresh is not among them: x265 codes waves on request, but
    /// pictures are not complete after any of them.
    ///
    /// - Parameter actual: The effective parameters.
    func supportedProperties(_ actual: x265_param) -> Set<EncoderOption> {
        var options: Set<EncoderOption> = [
            .averageBitRate, .constantBitRate, .constantQuality, .constantQuantizer, .peakBitRate, .bFrames, .bPyramid,
            .openGOP, .forceKeyFrame, .frameQuantizer, .accessUnitDelimiters, .hdrMetadata, .captions, .lowLatency,
            .softwareOptions, .initialBufferFullness,
        ]
        let depths = X265EncoderFactory.bitDepths
        if depths.contains(10) { options.insert(.tenBit) }
        if depths.contains(12) { options.insert(.twelveBit) }
        options.formUnion([.chroma422, .chroma444])
        if parameters.rc.rateControlMode != Int32(X265_RC_CQP.rawValue) { options.insert(.quantizerRange) }
        if actual.rc.aqMode != X265_AQ_NONE { options.insert(.regionsOfInterest) }
        if !isZeroLatency { options.insert(.slices) }
        return options
    }

    /// Returns the supported quantizers of a single frame.
    func frameQuantizers(_ actual: x265_param) -> ClosedRange<Int> {
        let lowest = min(max(Int(actual.rc.qpMin), 0), 51)
        return lowest...min(max(Int(actual.rc.qpMax), lowest), 51)
    }

    /// Returns whether an encoder with these settings needs no change for `new` ones. `x265_encoder_reconfig` accepts
    /// other rates and qualities, but x265 3.5 then continues with the old ones.
    func serves(_ new: X265Settings) -> Bool {
        new.configuration.isUpdate(of: configuration) && new.configuration.frameRate == configuration.frameRate
            && new.configuration.rateControl == configuration.rateControl
    }
}
