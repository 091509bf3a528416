// SPDX-License-Identifier: GPL-2.0-or-later

/// A video parameter set of HEVC: clause 7.3.2.1.
///
/// Property names are those of the specification; properties hold the coded values. Values out of range are rejected
/// when the set is written.
public struct HEVCVideoParameterSet: Hashable, Sendable {
    /// A hypothetical reference decoder and its layer set.
    public struct LayerSetDecoder: Hashable, Sendable {
        /// `hrd_layer_set_idx`, at most the index of the last layer set.
        public var hrdLayerSetIdx: UInt32 = 0
        /// The decoder; the first one contains a common part.
        public var decoder = HEVCReferenceDecoder()

        /// Makes a decoder without schedules for the first layer set.
        public init() {}
    }

    /// `nuh_temporal_id_plus1`, 1...7: 1 in every valid stream.
    public var nuhTemporalIdPlus1: UInt32 = 1
    /// `vps_video_parameter_set_id`, 0...15.
    public var vpsVideoParameterSetId: UInt32 = 0
    /// `vps_base_layer_internal_flag`.
    public var vpsBaseLayerInternalFlag = true
    /// `vps_base_layer_available_flag`.
    public var vpsBaseLayerAvailableFlag = true
    /// `vps_max_layers_minus1`, 0...63.
    public var vpsMaxLayersMinus1: UInt32 = 0
    /// `vps_max_sub_layers_minus1`, 0...6.
    public var vpsMaxSubLayersMinus1: UInt32 = 0
    /// `vps_temporal_id_nesting_flag`; must be true if there is one sub-layer.
    public var vpsTemporalIdNestingFlag = true
    /// The profile, tier and level.
    public var profileTierLevel = HEVCProfileTierLevel()
    /// The decoded picture buffer of each sub-layer, or only of the highest one.
    public var subLayerOrdering = HEVCSubLayerOrdering()
    /// `vps_max_layer_id`, 0...62.
    public var vpsMaxLayerId: UInt32 = 0
    /// The layer sets after the first, at most 1023: bit j of a number is `layer_id_included_flag[ i ][ j ]`.
    public var layerSets: [UInt64] = []
    /// The clock, if `vps_timing_info_present_flag` is one.
    public var timing: HEVCTiming?
    /// The hypothetical reference decoders, at most one more than ``layerSets``; none without a clock.
    public var decoders: [LayerSetDecoder] = []
    /// The extension, which is not parsed, if `vps_extension_flag` is one.
    public var extensionData: RawBits?

    /// Makes a set of the Main profile, level 1, with one layer.
    public init() {}

    /// Parses a parameter set.
    ///
    /// - Parameter nalUnit: A complete NAL unit without start code or length; zero bytes after its end are ignored.
    /// - Throws: `BitstreamError` at the first element that is out of range or missing.
    public init(nalUnit: some Collection<UInt8>) throws(BitstreamError) {
        try read(nalUnit)
    }

    /// Serializes the parameter set.
    ///
    /// - Returns: A NAL unit without start code or length; for a set that was parsed, the original bytes.
    /// - Throws: `BitstreamError` at the first element that is out of range or contradicts another.
    public func nalUnit() throws(BitstreamError) -> [UInt8] { try written() }

    /// Returns the elements in bitstream order, for debugging.
    ///
    /// - Throws: The errors of ``nalUnit()``.
    public func trace() throws(BitstreamError) -> [SyntaxElement] { try traced() }
}

extension HEVCVideoParameterSet: SyntaxStructure {
    // HEVC 7.3.2.1
    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.baseLayerHeader(.videoParameterSet, temporalIdPlus1: &nuhTemporalIdPlus1)
        try visitor.u("vps_video_parameter_set_id", bits: 4, &vpsVideoParameterSetId)
        try visitor.flag("vps_base_layer_internal_flag", &vpsBaseLayerInternalFlag)
        try visitor.flag("vps_base_layer_available_flag", &vpsBaseLayerAvailableFlag)
        try visitor.u("vps_max_layers_minus1", bits: 6, &vpsMaxLayersMinus1)
        try visitor.u("vps_max_sub_layers_minus1", bits: 3, &vpsMaxSubLayersMinus1, in: 0...6)
        try visitor.flag("vps_temporal_id_nesting_flag", &vpsTemporalIdNestingFlag)
        try visitor.fixed("vps_reserved_0xffff_16bits", bits: 16, 0xFFFF)
        try profileTierLevel.visit(&visitor, maxSubLayersMinus1: vpsMaxSubLayersMinus1)
        try subLayerOrdering.visit(&visitor, prefix: "vps", maxSubLayersMinus1: vpsMaxSubLayersMinus1)
        try visitLayerSets(&visitor)
        try visitor.presence("vps_timing_info_present_flag", of: &timing, HEVCTiming())
        try timing?.visit(&visitor, prefix: "vps")
        try visitDecoders(&visitor)
        try visitor.presence("vps_extension_flag", of: &extensionData, RawBits())
        if var data = extensionData {
            try visitor.remainder("vps_extension_data_flag", &data)
            extensionData = data
        }
        try visitor.trailingBits()
    }

    private mutating func visitLayerSets(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.u("vps_max_layer_id", bits: 6, &vpsMaxLayerId, in: 0...62)
        try visitor.ueCount("vps_num_layer_sets_minus1", of: &layerSets, in: 0...1023, with: 0)
        for index in layerSets.indices {
            let (given, end) = (layerSets[index], UInt64(vpsMaxLayerId) + 1)
            try visitor.check("layer_id_included_flag[\(index + 1)]", given, in: 0...(1 << end - 1))
            var included: UInt64 = 0
            for layer in 0..<end {
                var isIncluded = given >> layer & 1 == 1
                try visitor.flag("layer_id_included_flag[\(index + 1)][\(layer)]", &isIncluded)
                included |= (isIncluded ? 1 : 0) << layer
            }
            layerSets[index] = included
        }
    }

    private mutating func visitDecoders(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        guard timing != nil else {
            return try visitor.resize("hrd_parameters", &decoders, to: 0, with: LayerSetDecoder())
        }
        let lastSet = UInt32(clamping: layerSets.count)
        try visitor.ueCount("vps_num_hrd_parameters", of: &decoders, in: 0...(lastSet + 1), with: LayerSetDecoder())
        var common = HEVCReferenceDecoder.Common()
        for index in decoders.indices {
            let firstSet: UInt32 = vpsBaseLayerInternalFlag ? 0 : min(1, lastSet)
            try visitor.ue("hrd_layer_set_idx[\(index)]", &decoders[index].hrdLayerSetIdx, in: firstSet...lastSet)
            if index == 0 {
                let isPresent = decoders[index].decoder.common != nil
                try visitor.check("cprms_present_flag[0]", isPresent ? 1 : 0, in: 1...1)
            } else {
                try visitor.presence(
                    "cprms_present_flag[\(index)]",
                    of: &decoders[index].decoder.common,
                    HEVCReferenceDecoder.Common()
                )
            }
            common = try decoders[index].decoder.visit(
                &visitor,
                maxSubLayersMinus1: vpsMaxSubLayersMinus1,
                inherited: common
            )
        }
    }
}

extension SyntaxVisitor {
    /// The header of a parameter set of the base layer.
    mutating func baseLayerHeader(
        _ type: HEVCNALUnitHeader.UnitType,
        temporalIdPlus1: inout UInt32
    ) throws(BitstreamError) {
        var header = HEVCNALUnitHeader(nalUnitType: type, nuhTemporalIdPlus1: temporalIdPlus1)
        try header.visit(&self, types: type.rawValue...type.rawValue, layers: 0...0)
        temporalIdPlus1 = header.nuhTemporalIdPlus1
    }
}
