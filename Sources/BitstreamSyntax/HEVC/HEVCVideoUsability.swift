// SPDX-License-Identifier: GPL-2.0-or-later

/// The clock of a VPS or of the VUI of an SPS.
public struct HEVCTiming: Hashable, Sendable {
    /// `num_units_in_tick`: the number of clock units in a tick, which is the duration of a picture; must not be zero.
    public var numUnitsInTick: UInt32
    /// `time_scale`: the number of clock units in a second; must not be zero.
    public var timeScale: UInt32
    /// `num_ticks_poc_diff_one_minus1`, 0...2^32-2, if `poc_proportional_to_timing_flag` is one.
    public var numTicksPocDiffOneMinus1: UInt32?

    /// Makes the timing of a clock.
    public init(numUnitsInTick: UInt32 = 0, timeScale: UInt32 = 0, numTicksPocDiffOneMinus1: UInt32? = nil) {
        self.numUnitsInTick = numUnitsInTick
        self.timeScale = timeScale
        self.numTicksPocDiffOneMinus1 = numTicksPocDiffOneMinus1
    }

    /// The picture rate in pictures per second; nil if a number is zero.
    public var frameRate: PositiveRatio? { PositiveRatio(Int(timeScale), Int(numUnitsInTick)) }

    mutating func visit(_ visitor: inout some SyntaxVisitor, prefix: String) throws(BitstreamError) {
        try visitor.u("\(prefix)_num_units_in_tick", bits: 32, &numUnitsInTick)
        try visitor.u("\(prefix)_time_scale", bits: 32, &timeScale)
        try visitor.presence("\(prefix)_poc_proportional_to_timing_flag", of: &numTicksPocDiffOneMinus1, 0)
        if var ticks = numTicksPocDiffOneMinus1 {
            try visitor.ue("\(prefix)_num_ticks_poc_diff_one_minus1", &ticks)
            numTicksPocDiffOneMinus1 = ticks
        }
    }
}

/// `vui_parameters()` of HEVC: clause E.2.1.
public struct HEVCVideoUsability: Hashable, Sendable {
    /// `tiles_fixed_structure_flag` and the elements after it: `bitstream_restriction_flag`.
    public struct BitstreamRestriction: Hashable, Sendable {
        /// `tiles_fixed_structure_flag`.
        public var tilesFixedStructureFlag = false
        /// `motion_vectors_over_pic_boundaries_flag`.
        public var motionVectorsOverPicBoundariesFlag = true
        /// `restricted_ref_pic_lists_flag`.
        public var restrictedRefPicListsFlag = false
        /// `min_spatial_segmentation_idc`, 0...4095.
        public var minSpatialSegmentationIdc: UInt32 = 0
        /// `max_bytes_per_pic_denom`, 0...16; zero means no limit.
        public var maxBytesPerPicDenom: UInt32 = 2
        /// `max_bits_per_min_cu_denom`, 0...16; zero means no limit.
        public var maxBitsPerMinCuDenom: UInt32 = 1
        /// `log2_max_mv_length_horizontal`, 0...16, in quarter samples.
        public var log2MaxMvLengthHorizontal: UInt32 = 15
        /// `log2_max_mv_length_vertical`, 0...16, in quarter samples.
        public var log2MaxMvLengthVertical: UInt32 = 15

        /// Makes the restriction that is inferred if none is coded.
        public init() {}

        mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
            try visitor.flag("tiles_fixed_structure_flag", &tilesFixedStructureFlag)
            try visitor.flag("motion_vectors_over_pic_boundaries_flag", &motionVectorsOverPicBoundariesFlag)
            try visitor.flag("restricted_ref_pic_lists_flag", &restrictedRefPicListsFlag)
            try visitor.ue("min_spatial_segmentation_idc", &minSpatialSegmentationIdc, in: 0...4095)
            try visitor.ue("max_bytes_per_pic_denom", &maxBytesPerPicDenom, in: 0...16)
            try visitor.ue("max_bits_per_min_cu_denom", &maxBitsPerMinCuDenom, in: 0...16)
            try visitor.ue("log2_max_mv_length_horizontal", &log2MaxMvLengthHorizontal, in: 0...16)
            try visitor.ue("log2_max_mv_length_vertical", &log2MaxMvLengthVertical, in: 0...16)
        }
    }

    /// The aspect ratio, overscan, range, colour description and chroma location.
    public var signal = VideoSignal()
    /// `neutral_chroma_indication_flag`.
    public var neutralChromaIndicationFlag = false
    /// `field_seq_flag`: whether pictures are fields.
    public var fieldSeqFlag = false
    /// `frame_field_info_present_flag`.
    public var frameFieldInfoPresentFlag = false
    /// The window, in chroma samples, if `default_display_window_flag` is one.
    public var defaultDisplayWindow: WindowOffsets?
    /// The clock, if `vui_timing_info_present_flag` is one.
    public var timing: HEVCTiming?
    /// The hypothetical reference decoder, if `vui_hrd_parameters_present_flag` is one, which requires a clock.
    public var hrd: HEVCReferenceDecoder?
    /// Limits, if `bitstream_restriction_flag` is one.
    public var bitstreamRestriction: BitstreamRestriction?

    /// Makes a VUI without any information.
    public init() {}

    /// Visits the elements; `size` is the picture size in chroma samples.
    // HEVC E.2.1
    mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        maxSubLayersMinus1: UInt32,
        size: PictureSize
    ) throws(BitstreamError) {
        try signal.visit(&visitor)
        try visitor.flag("neutral_chroma_indication_flag", &neutralChromaIndicationFlag)
        try visitor.flag("field_seq_flag", &fieldSeqFlag)
        try visitor.flag("frame_field_info_present_flag", &frameFieldInfoPresentFlag)
        try visitor.presence("default_display_window_flag", of: &defaultDisplayWindow, WindowOffsets())
        try defaultDisplayWindow?.visit(&visitor, prefix: "def_disp_win", limits: size)
        try visitor.presence("vui_timing_info_present_flag", of: &timing, HEVCTiming())
        if timing == nil {
            try visitor.inferAbsent("vui_hrd_parameters_present_flag", &hrd)
        } else {
            try timing?.visit(&visitor, prefix: "vui")
            try visitor.presence("vui_hrd_parameters_present_flag", of: &hrd, HEVCReferenceDecoder())
            try visitHRD(&visitor, maxSubLayersMinus1: maxSubLayersMinus1)
        }
        try visitor.presence("bitstream_restriction_flag", of: &bitstreamRestriction, BitstreamRestriction())
        try bitstreamRestriction?.visit(&visitor)
    }

    private mutating func visitHRD(
        _ visitor: inout some SyntaxVisitor,
        maxSubLayersMinus1: UInt32
    ) throws(BitstreamError) {
        guard var decoder = hrd else { return }
        // The common part is always coded here.
        try visitor.check("commonInfPresentFlag", decoder.common == nil ? 0 : 1, in: 1...1)
        _ = try decoder.visit(&visitor, maxSubLayersMinus1: maxSubLayersMinus1)
        hrd = decoder
    }
}
