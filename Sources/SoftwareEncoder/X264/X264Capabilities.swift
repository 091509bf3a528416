// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CX264
internal import MediaTypes

extension X264Settings {
    /// The pixel formats of x264: NV12 first, which it copies unchanged, while it has to interleave the chroma of I420.
    var pixelFormats: [PixelFormat] { configuration.bitDepth == 10 ? [.p010] : [.nv12, .i420] }

    /// Returns the options that x264 supports.
    ///
    /// - Parameter actual: The effective parameters.
    func supportedProperties(_ actual: x264_param_t) -> Set<EncoderOption> {
        var options: Set<EncoderOption> = [
            .averageBitRate, .constantBitRate, .constantQuality, .constantQuantizer, .peakBitRate, .bFrames, .bPyramid,
            .openGOP, .entropyMode, .forceKeyFrame, .accessUnitDelimiters, .hdrMetadata, .captions,
            .lowLatency, .softwareOptions, .slices, .intraRefresh, .initialBufferFullness,
        ]
        if X264EncoderFactory.bitDepths.contains(10) { options.insert(.tenBit) }
        if parameters.rc.i_rc_method != X264_RC_CQP { options.formUnion([.frameQuantizer, .quantizerRange]) }
        if actual.rc.i_aq_mode != X264_AQ_NONE { options.insert(.regionsOfInterest) }
        if isCappedAtAverage { options.insert(.bitRateUpdate) }
        return options
    }

    /// Returns the supported quantizers of a single frame. At a constant quantizer, x264 limits every frame to the
    /// range of the quantizers that it derived for I-, P- and B-frames, about 3 in either direction, and clamps other
    /// values.
    func frameQuantizers(_ actual: x264_param_t) -> ClosedRange<Int> {
        let lowest = min(max(Int(actual.rc.i_qp_min) - quantizerOffset, 0), 51)
        let highest = min(max(Int(actual.rc.i_qp_max) - quantizerOffset, lowest), 51)
        return lowest...highest
    }

    /// Whether the peak is the average. x264 can change only such average bitrates: `rc->b_vbv_min_rate` in its source.
    private var isCappedAtAverage: Bool {
        parameters.rc.i_rc_method == X264_RC_ABR && parameters.i_nal_hrd == X264_NAL_HRD_NONE && hasLimit
            && parameters.rc.i_vbv_max_bitrate <= parameters.rc.i_bitrate
    }

    private var hasLimit: Bool { parameters.rc.i_vbv_buffer_size > 0 }

    /// Returns whether a running encoder with these settings can change to `new` ones with the same effect as a new
    /// encoder. `x264_encoder_reconfig` does not report this: it accepts values that its rate control then ignores.
    func canChange(to new: X264Settings) -> Bool {
        guard new.configuration.isUpdate(of: configuration),
            new.configuration.frameRate == configuration.frameRate
        else { return false }
        if new.configuration.rateControl == configuration.rateControl { return true }
        let (old, next) = (parameters.rc, new.parameters.rc)
        guard old.i_rc_method == next.i_rc_method, hasLimit == new.hasLimit, new.fits(level: parameters.i_level_idc)
        else { return false }
        switch old.i_rc_method {
        case X264_RC_CRF: return !isLossless && !new.isLossless
        case X264_RC_ABR:
            guard parameters.i_nal_hrd == X264_NAL_HRD_NONE, new.parameters.i_nal_hrd == X264_NAL_HRD_NONE else {
                return false
            }
            if isCappedAtAverage { return new.isCappedAtAverage }
            return !new.isCappedAtAverage && old.i_bitrate == next.i_bitrate
        default: return false
        }
    }

    /// Returns whether the peak limit conforms to the level that the stream has declared. A level that the user chose
    /// applies to all rates.
    private func fits(level: Int32) -> Bool {
        guard configuration.h264Level == nil, hasLimit, let level = H264Level(levelIDC: UInt8(clamping: level)) else {
            return true
        }
        let limit = RateLimit(
            bitsPerSecond: Int(parameters.rc.i_vbv_max_bitrate) * 1000,
            bufferSize: Int(parameters.rc.i_vbv_buffer_size) * 1000
        )
        let usesHigh = parameters.analyse.b_transform_8x8 != 0
        let profile: VideoProfile = configuration.bitDepth == 10 ? .h264High10 : usesHigh ? .h264High : .h264Main
        return level.reasonAgainst(limit, in: profile) == nil
    }
}
