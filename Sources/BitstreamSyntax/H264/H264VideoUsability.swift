// SPDX-License-Identifier: GPL-2.0-or-later

/// `vui_parameters()` of H.264: clause E.1.1.
public struct H264VideoUsability: Hashable, Sendable {
    /// `num_units_in_tick` and the elements after it.
    public struct Timing: Hashable, Sendable {
        /// `num_units_in_tick`: the number of clock units in a tick, which is the duration of a field; must not be
        /// zero.
        public var numUnitsInTick: UInt32
        /// `time_scale`: the number of clock units in a second; must not be zero.
        public var timeScale: UInt32
        /// `fixed_frame_rate_flag`: whether every frame lasts two ticks.
        public var fixedFrameRateFlag: Bool

        /// Makes the timing of a clock.
        public init(numUnitsInTick: UInt32 = 0, timeScale: UInt32 = 0, fixedFrameRateFlag: Bool = false) {
            self.numUnitsInTick = numUnitsInTick
            self.timeScale = timeScale
            self.fixedFrameRateFlag = fixedFrameRateFlag
        }

        /// The frame rate in frames per second, with two fields per frame; nil if a number is zero.
        public var frameRate: PositiveRatio? { PositiveRatio(Int(timeScale), 2 * Int(numUnitsInTick)) }

        mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
            try visitor.u("num_units_in_tick", bits: 32, &numUnitsInTick)
            try visitor.u("time_scale", bits: 32, &timeScale)
            try visitor.flag("fixed_frame_rate_flag", &fixedFrameRateFlag)
        }
    }

    /// `motion_vectors_over_pic_boundaries_flag` and the elements after it: `bitstream_restriction_flag`.
    public struct BitstreamRestriction: Hashable, Sendable {
        /// `motion_vectors_over_pic_boundaries_flag`.
        public var motionVectorsOverPicBoundariesFlag = true
        /// `max_bytes_per_pic_denom`, 0...16; zero means no limit.
        public var maxBytesPerPicDenom: UInt32 = 2
        /// `max_bits_per_mb_denom`, 0...16; zero means no limit.
        public var maxBitsPerMbDenom: UInt32 = 1
        /// `log2_max_mv_length_horizontal`, 0...16, in quarter samples.
        public var log2MaxMvLengthHorizontal: UInt32 = 16
        /// `log2_max_mv_length_vertical`, 0...16, in quarter samples.
        public var log2MaxMvLengthVertical: UInt32 = 16
        /// `max_num_reorder_frames`, 0...`maxDecFrameBuffering`: the maximum number of frames that precede a frame in
        /// decoding order and follow it in output order.
        public var maxNumReorderFrames: UInt32 = 0
        /// `max_dec_frame_buffering`, 0...16: the size of the decoded picture buffer in frames.
        public var maxDecFrameBuffering: UInt32 = 0

        /// Makes the restriction that is inferred if none is coded, but without reordering.
        public init() {}

        mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
            try visitor.flag("motion_vectors_over_pic_boundaries_flag", &motionVectorsOverPicBoundariesFlag)
            try visitor.ue("max_bytes_per_pic_denom", &maxBytesPerPicDenom, in: 0...16)
            try visitor.ue("max_bits_per_mb_denom", &maxBitsPerMbDenom, in: 0...16)
            try visitor.ue("log2_max_mv_length_horizontal", &log2MaxMvLengthHorizontal, in: 0...16)
            try visitor.ue("log2_max_mv_length_vertical", &log2MaxMvLengthVertical, in: 0...16)
            try visitor.ue("max_num_reorder_frames", &maxNumReorderFrames, in: 0...16)
            try visitor.ue("max_dec_frame_buffering", &maxDecFrameBuffering, in: maxNumReorderFrames...16)
        }
    }

    /// The aspect ratio, overscan, range, colour description and chroma location.
    public var signal = VideoSignal()
    /// The clock, if `timing_info_present_flag` is one.
    public var timing: Timing?
    /// The hypothetical reference decoder for all NAL units, if `nal_hrd_parameters_present_flag` is one.
    public var nalHRD: H264ReferenceDecoder?
    /// The hypothetical reference decoder for VCL NAL units, if `vcl_hrd_parameters_present_flag` is one.
    public var vclHRD: H264ReferenceDecoder?
    /// `low_delay_hrd_flag`, coded only with at least one of the decoders.
    public var lowDelayHrdFlag = false
    /// `pic_struct_present_flag`: whether picture timing SEI messages distinguish fields from frames.
    public var picStructPresentFlag = false
    /// Limits, if `bitstream_restriction_flag` is one.
    public var bitstreamRestriction: BitstreamRestriction?

    /// Makes a VUI without any information.
    public init() {}

    // H.264 E.1.1
    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try signal.visit(&visitor)
        try visitor.presence("timing_info_present_flag", of: &timing, Timing())
        try timing?.visit(&visitor)
        try visitor.presence("nal_hrd_parameters_present_flag", of: &nalHRD, H264ReferenceDecoder())
        try nalHRD?.visit(&visitor)
        try visitor.presence("vcl_hrd_parameters_present_flag", of: &vclHRD, H264ReferenceDecoder())
        try vclHRD?.visit(&visitor)
        if nalHRD != nil || vclHRD != nil {
            try visitor.flag("low_delay_hrd_flag", &lowDelayHrdFlag)
        }
        try visitor.flag("pic_struct_present_flag", &picStructPresentFlag)
        try visitor.presence("bitstream_restriction_flag", of: &bitstreamRestriction, BitstreamRestriction())
        try bitstreamRestriction?.visit(&visitor)
    }
}

/// `hrd_parameters()` of H.264: clause E.1.2.
public struct H264ReferenceDecoder: Hashable, Sendable {
    /// One delivery schedule.
    public struct Schedule: Hashable, Sendable {
        /// `bit_rate_value_minus1`, 0...2^32-2.
        public var bitRateValueMinus1: UInt32 = 0
        /// `cpb_size_value_minus1`, 0...2^32-2.
        public var cpbSizeValueMinus1: UInt32 = 0
        /// `cbr_flag`: whether the rate is constant.
        public var cbrFlag = false

        /// Makes the schedule with the smallest rate and buffer.
        public init() {}
    }

    /// `bit_rate_scale`, 0...15.
    public var bitRateScale: UInt32 = 0
    /// `cpb_size_scale`, 0...15.
    public var cpbSizeScale: UInt32 = 0
    /// The schedules, 1...32: `cpb_cnt_minus1` + 1.
    public var schedules = [Schedule()]
    /// `initial_cpb_removal_delay_length_minus1`, 0...31, in bits.
    public var initialCpbRemovalDelayLengthMinus1: UInt32 = 23
    /// `cpb_removal_delay_length_minus1`, 0...31, in bits.
    public var cpbRemovalDelayLengthMinus1: UInt32 = 23
    /// `dpb_output_delay_length_minus1`, 0...31, in bits.
    public var dpbOutputDelayLengthMinus1: UInt32 = 23
    /// `time_offset_length`, 0...31, in bits.
    public var timeOffsetLength: UInt32 = 24

    /// Makes a decoder with the lengths that are inferred if none are coded.
    public init() {}

    /// `BitRate[index]` in bits per second; nil if there is no such schedule.
    public func bitRate(ofSchedule index: Int) -> Int? {
        guard schedules.indices.contains(index) else { return nil }
        return (Int(schedules[index].bitRateValueMinus1) + 1) << (6 + Int(bitRateScale))
    }

    /// `CpbSize[index]` in bits; nil if there is no such schedule.
    public func cpbSize(ofSchedule index: Int) -> Int? {
        guard schedules.indices.contains(index) else { return nil }
        return (Int(schedules[index].cpbSizeValueMinus1) + 1) << (4 + Int(cpbSizeScale))
    }

    // H.264 E.1.2
    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.ueCount("cpb_cnt_minus1", of: &schedules, minus: 1, in: 0...31, with: Schedule())
        try visitor.u("bit_rate_scale", bits: 4, &bitRateScale)
        try visitor.u("cpb_size_scale", bits: 4, &cpbSizeScale)
        for index in schedules.indices {
            try visitor.ue("bit_rate_value_minus1[\(index)]", &schedules[index].bitRateValueMinus1)
            try visitor.ue("cpb_size_value_minus1[\(index)]", &schedules[index].cpbSizeValueMinus1)
            try visitor.flag("cbr_flag[\(index)]", &schedules[index].cbrFlag)
        }
        try visitor.u("initial_cpb_removal_delay_length_minus1", bits: 5, &initialCpbRemovalDelayLengthMinus1)
        try visitor.u("cpb_removal_delay_length_minus1", bits: 5, &cpbRemovalDelayLengthMinus1)
        try visitor.u("dpb_output_delay_length_minus1", bits: 5, &dpbOutputDelayLengthMinus1)
        try visitor.u("time_offset_length", bits: 5, &timeOffsetLength)
    }
}
