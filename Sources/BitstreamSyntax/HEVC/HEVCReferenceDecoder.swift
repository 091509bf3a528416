// SPDX-License-Identifier: GPL-2.0-or-later

/// `hrd_parameters()` of HEVC: clause E.2.2.
public struct HEVCReferenceDecoder: Hashable, Sendable {
    /// The elements that all sub-layers share.
    public struct Common: Hashable, Sendable {
        /// `nal_hrd_parameters_present_flag`.
        public var nalHrdParametersPresentFlag = false
        /// `vcl_hrd_parameters_present_flag`.
        public var vclHrdParametersPresentFlag = false
        /// The elements for decoding units, if `sub_pic_hrd_params_present_flag` is one.
        public var subPicture: SubPicture?
        /// `bit_rate_scale`, 0...15.
        public var bitRateScale: UInt32 = 0
        /// `cpb_size_scale`, 0...15.
        public var cpbSizeScale: UInt32 = 0
        /// `initial_cpb_removal_delay_length_minus1`, 0...31, in bits.
        public var initialCpbRemovalDelayLengthMinus1: UInt32 = 23
        /// `au_cpb_removal_delay_length_minus1`, 0...31, in bits.
        public var auCpbRemovalDelayLengthMinus1: UInt32 = 23
        /// `dpb_output_delay_length_minus1`, 0...31, in bits.
        public var dpbOutputDelayLengthMinus1: UInt32 = 23

        /// Makes common elements without schedules.
        public init() {}
    }

    /// The elements for decoding units smaller than pictures; they are coded only with schedules.
    public struct SubPicture: Hashable, Sendable {
        /// `tick_divisor_minus2`, 0...255.
        public var tickDivisorMinus2: UInt32 = 0
        /// `du_cpb_removal_delay_increment_length_minus1`, 0...31, in bits.
        public var duCpbRemovalDelayIncrementLengthMinus1: UInt32 = 0
        /// `sub_pic_cpb_params_in_pic_timing_sei_flag`.
        public var subPicCpbParamsInPicTimingSeiFlag = false
        /// `dpb_output_delay_du_length_minus1`, 0...31, in bits.
        public var dpbOutputDelayDuLengthMinus1: UInt32 = 0
        /// `cpb_size_du_scale`, 0...15.
        public var cpbSizeDuScale: UInt32 = 0

        /// Makes elements that are all zero.
        public init() {}
    }

    /// The elements of one sub-layer.
    public struct SubLayer: Hashable, Sendable {
        /// `fixed_pic_rate_general_flag`.
        public var fixedPicRateGeneralFlag = false
        /// `fixed_pic_rate_within_cvs_flag`; true if the rate is fixed in general.
        public var fixedPicRateWithinCvsFlag = false
        /// `elemental_duration_in_tc_minus1`, 0...2047, coded if the rate is fixed.
        public var elementalDurationInTcMinus1: UInt32 = 0
        /// `low_delay_hrd_flag`, coded if the rate is not fixed.
        public var lowDelayHrdFlag = false
        /// `cpb_cnt_minus1`, 0...31; zero with low delay.
        public var cpbCntMinus1: UInt32 = 0
        /// The schedules for all NAL units: `cpbCntMinus1` + 1, or none.
        public var nalSchedules: [Schedule] = []
        /// The schedules for VCL NAL units: `cpbCntMinus1` + 1, or none.
        public var vclSchedules: [Schedule] = []

        /// Makes a sub-layer of variable rate without schedules.
        public init() {}
    }

    /// One delivery schedule: clause E.2.3.
    public struct Schedule: Hashable, Sendable {
        /// `bit_rate_value_minus1`, 0...2^32-2.
        public var bitRateValueMinus1: UInt32 = 0
        /// `cpb_size_value_minus1`, 0...2^32-2.
        public var cpbSizeValueMinus1: UInt32 = 0
        /// `cpb_size_du_value_minus1`, 0...2^32-2, coded for decoding units only.
        public var cpbSizeDuValueMinus1: UInt32 = 0
        /// `bit_rate_du_value_minus1`, 0...2^32-2, coded for decoding units only.
        public var bitRateDuValueMinus1: UInt32 = 0
        /// `cbr_flag`: whether the rate is constant.
        public var cbrFlag = false

        /// Makes the schedule with the smallest rate and buffer.
        public init() {}
    }

    /// The common part; nil in a VPS that reuses that of the previous decoder (`cprms_present_flag` zero).
    public var common: Common? = Common()
    /// The sub-layers: `sps_max_sub_layers_minus1` + 1.
    public var subLayers = [SubLayer()]

    /// Makes a decoder for one sub-layer.
    public init() {}

    /// Visits the parameters.
    ///
    /// - Returns: The effective common part, for a following decoder that reuses it.
    // HEVC E.2.2
    mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        maxSubLayersMinus1: UInt32,
        inherited: Common = Common()
    ) throws(BitstreamError) -> Common {
        try common?.visit(&visitor)
        let common = common ?? inherited
        try visitor.resize("sub_layer", &subLayers, to: Int(maxSubLayersMinus1) + 1, with: SubLayer())
        for index in subLayers.indices {
            try subLayers[index].visit(&visitor, index: index, common: common)
        }
        return common
    }
}

extension HEVCReferenceDecoder.Common {
    fileprivate mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.flag("nal_hrd_parameters_present_flag", &nalHrdParametersPresentFlag)
        try visitor.flag("vcl_hrd_parameters_present_flag", &vclHrdParametersPresentFlag)
        guard nalHrdParametersPresentFlag || vclHrdParametersPresentFlag else {
            return try visitor.inferAbsent("sub_pic_hrd_params_present_flag", &subPicture)
        }
        try visitor.presence(
            "sub_pic_hrd_params_present_flag",
            of: &subPicture,
            HEVCReferenceDecoder.SubPicture()
        )
        try subPicture?.visit(&visitor)
        try visitor.u("bit_rate_scale", bits: 4, &bitRateScale)
        try visitor.u("cpb_size_scale", bits: 4, &cpbSizeScale)
        try subPicture?.visitScale(&visitor)
        try visitor.u("initial_cpb_removal_delay_length_minus1", bits: 5, &initialCpbRemovalDelayLengthMinus1)
        try visitor.u("au_cpb_removal_delay_length_minus1", bits: 5, &auCpbRemovalDelayLengthMinus1)
        try visitor.u("dpb_output_delay_length_minus1", bits: 5, &dpbOutputDelayLengthMinus1)
    }
}

extension HEVCReferenceDecoder.SubPicture {
    fileprivate mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.u("tick_divisor_minus2", bits: 8, &tickDivisorMinus2)
        try visitor.u(
            "du_cpb_removal_delay_increment_length_minus1",
            bits: 5,
            &duCpbRemovalDelayIncrementLengthMinus1
        )
        try visitor.flag("sub_pic_cpb_params_in_pic_timing_sei_flag", &subPicCpbParamsInPicTimingSeiFlag)
        try visitor.u("dpb_output_delay_du_length_minus1", bits: 5, &dpbOutputDelayDuLengthMinus1)
    }

    fileprivate mutating func visitScale(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.u("cpb_size_du_scale", bits: 4, &cpbSizeDuScale)
    }
}

extension HEVCReferenceDecoder.SubLayer {
    fileprivate mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        index: Int,
        common: HEVCReferenceDecoder.Common
    ) throws(BitstreamError) {
        try visitor.flag("fixed_pic_rate_general_flag[\(index)]", &fixedPicRateGeneralFlag)
        if fixedPicRateGeneralFlag {
            try visitor.infer("fixed_pic_rate_within_cvs_flag[\(index)]", &fixedPicRateWithinCvsFlag, true)
        } else {
            try visitor.flag("fixed_pic_rate_within_cvs_flag[\(index)]", &fixedPicRateWithinCvsFlag)
        }
        if fixedPicRateWithinCvsFlag {
            let name = "elemental_duration_in_tc_minus1[\(index)]"
            try visitor.ue(name, &elementalDurationInTcMinus1, in: 0...2047)
            try visitor.infer("low_delay_hrd_flag[\(index)]", &lowDelayHrdFlag, false)
        } else {
            try visitor.flag("low_delay_hrd_flag[\(index)]", &lowDelayHrdFlag)
        }
        if lowDelayHrdFlag {
            try visitor.infer("cpb_cnt_minus1[\(index)]", &cpbCntMinus1, 0)
        } else {
            try visitor.ue("cpb_cnt_minus1[\(index)]", &cpbCntMinus1, in: 0...31)
        }
        let count = Int(cpbCntMinus1) + 1
        let hasUnits = common.subPicture != nil
        let nalCount = common.nalHrdParametersPresentFlag ? count : 0
        try Self.visit(&nalSchedules, count: nalCount, decodingUnits: hasUnits, &visitor)
        let vclCount = common.vclHrdParametersPresentFlag ? count : 0
        try Self.visit(&vclSchedules, count: vclCount, decodingUnits: hasUnits, &visitor)
    }

    // HEVC E.2.3
    private static func visit(
        _ schedules: inout [HEVCReferenceDecoder.Schedule],
        count: Int,
        decodingUnits: Bool,
        _ visitor: inout some SyntaxVisitor
    ) throws(BitstreamError) {
        try visitor.resize("sub_layer_hrd_parameters", &schedules, to: count, with: HEVCReferenceDecoder.Schedule())
        for index in schedules.indices {
            try visitor.ue("bit_rate_value_minus1[\(index)]", &schedules[index].bitRateValueMinus1)
            try visitor.ue("cpb_size_value_minus1[\(index)]", &schedules[index].cpbSizeValueMinus1)
            if decodingUnits {
                try visitor.ue("cpb_size_du_value_minus1[\(index)]", &schedules[index].cpbSizeDuValueMinus1)
                try visitor.ue("bit_rate_du_value_minus1[\(index)]", &schedules[index].bitRateDuValueMinus1)
            }
            try visitor.flag("cbr_flag[\(index)]", &schedules[index].cbrFlag)
        }
    }
}
