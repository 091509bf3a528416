// SPDX-License-Identifier: GPL-2.0-or-later

/// The division of a picture into tiles: the elements after `tiles_enabled_flag`.
public struct HEVCTiles: Hashable, Sendable {
    /// The sizes of non-uniform tiles, in coding tree blocks; the last column and row contain the remaining blocks.
    public struct Spacing: Hashable, Sendable {
        /// `column_width_minus1`: `numTileColumnsMinus1` values of 0...4095.
        public var columnWidthMinus1: [UInt32] = []
        /// `row_height_minus1`: `numTileRowsMinus1` values of 0...4095.
        public var rowHeightMinus1: [UInt32] = []

        /// Makes the spacing of one tile.
        public init() {}
    }

    /// The maximum number of coding tree blocks in a row or column of a picture of 65535 samples.
    private static let blocks: ClosedRange<UInt32> = 0...4095

    /// `num_tile_columns_minus1`, 0...4095.
    public var numTileColumnsMinus1: UInt32 = 0
    /// `num_tile_rows_minus1`, 0...4095.
    public var numTileRowsMinus1: UInt32 = 0
    /// The sizes, if `uniform_spacing_flag` is zero.
    public var spacing: Spacing?
    /// `loop_filter_across_tiles_enabled_flag`.
    public var loopFilterAcrossTilesEnabledFlag = true

    /// Makes one tile.
    public init() {}

    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.ue("num_tile_columns_minus1", &numTileColumnsMinus1, in: Self.blocks)
        try visitor.ue("num_tile_rows_minus1", &numTileRowsMinus1, in: Self.blocks)
        var isUniform = spacing == nil
        try visitor.flag("uniform_spacing_flag", &isUniform)
        if isUniform {
            spacing = nil
        } else {
            var sizes = spacing ?? Spacing()
            let (columns, rows) = (Int(numTileColumnsMinus1), Int(numTileRowsMinus1))
            try visitor.resize("column_width_minus1", &sizes.columnWidthMinus1, to: columns, with: 0)
            for index in sizes.columnWidthMinus1.indices {
                try visitor.ue("column_width_minus1[\(index)]", &sizes.columnWidthMinus1[index], in: Self.blocks)
            }
            try visitor.resize("row_height_minus1", &sizes.rowHeightMinus1, to: rows, with: 0)
            for index in sizes.rowHeightMinus1.indices {
                try visitor.ue("row_height_minus1[\(index)]", &sizes.rowHeightMinus1[index], in: Self.blocks)
            }
            spacing = sizes
        }
        try visitor.flag("loop_filter_across_tiles_enabled_flag", &loopFilterAcrossTilesEnabledFlag)
    }
}

/// The deblocking filter of a picture: the elements after `deblocking_filter_control_present_flag`.
public struct HEVCDeblocking: Hashable, Sendable {
    /// The strength of the filter.
    public struct Offsets: Hashable, Sendable {
        /// `pps_beta_offset_div2`, -6...6.
        public var ppsBetaOffsetDiv2: Int32 = 0
        /// `pps_tc_offset_div2`, -6...6.
        public var ppsTcOffsetDiv2: Int32 = 0

        /// Makes the strength that is inferred if none is coded.
        public init() {}
    }

    /// `deblocking_filter_override_enabled_flag`.
    public var deblockingFilterOverrideEnabledFlag = false
    /// The filter's strength; nil if `pps_deblocking_filter_disabled_flag` is one.
    public var offsets: Offsets? = Offsets()

    /// Makes the filter that is inferred if none is coded.
    public init() {}

    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.flag("deblocking_filter_override_enabled_flag", &deblockingFilterOverrideEnabledFlag)
        var isDisabled = offsets == nil
        try visitor.flag("pps_deblocking_filter_disabled_flag", &isDisabled)
        guard !isDisabled else {
            offsets = nil
            return
        }
        var strength = offsets ?? Offsets()
        try visitor.se("pps_beta_offset_div2", &strength.ppsBetaOffsetDiv2, in: -6...6)
        try visitor.se("pps_tc_offset_div2", &strength.ppsTcOffsetDiv2, in: -6...6)
        offsets = strength
    }
}

/// The elements after `pps_extension_present_flag`: HEVC 7.3.2.3.1.
public struct HEVCPictureParameterSetExtensions: Hashable, Sendable {
    /// `pps_range_extension( )`, if `pps_range_extension_flag` is one.
    public var range: HEVCPictureParameterSetRangeExtension?
    /// `pps_multilayer_extension_flag`.
    public var ppsMultilayerExtensionFlag = false
    /// `pps_3d_extension_flag`.
    public var pps3dExtensionFlag = false
    /// `pps_scc_extension_flag`.
    public var ppsSccExtensionFlag = false
    /// `pps_extension_4bits`, 0...15.
    public var ppsExtension4bits: UInt32 = 0
    /// The content of the extensions other than the range extension, preserved as found.
    public var otherData = RawBits()

    /// Makes extensions without content.
    public init() {}

    mutating func visit(_ visitor: inout some SyntaxVisitor, transformSkip: Bool) throws(BitstreamError) {
        try visitor.presence("pps_range_extension_flag", of: &range, HEVCPictureParameterSetRangeExtension())
        try visitor.flag("pps_multilayer_extension_flag", &ppsMultilayerExtensionFlag)
        try visitor.flag("pps_3d_extension_flag", &pps3dExtensionFlag)
        try visitor.flag("pps_scc_extension_flag", &ppsSccExtensionFlag)
        try visitor.u("pps_extension_4bits", bits: 4, &ppsExtension4bits)
        try range?.visit(&visitor, transformSkip: transformSkip)
        try visitor.remainder("pps_extension_data_flag", &otherData)
    }
}

/// `pps_range_extension( )`: HEVC 7.3.2.3.2.
public struct HEVCPictureParameterSetRangeExtension: Hashable, Sendable {
    /// The offsets that a coding unit may choose from.
    public struct ChromaQpOffsets: Hashable, Sendable {
        /// An entry for both chroma planes.
        public struct Entry: Hashable, Sendable {
            /// `cb_qp_offset_list`, -12...12.
            public var cb: Int32 = 0
            /// `cr_qp_offset_list`, -12...12.
            public var cr: Int32 = 0

            /// Makes an entry without offsets.
            public init() {}
        }

        /// `diff_cu_chroma_qp_offset_depth`, 0...3.
        public var diffCuChromaQpOffsetDepth: UInt32 = 0
        /// The entries, 1...6: `chroma_qp_offset_list_len_minus1` + 1.
        public var entries = [Entry()]

        /// Makes one entry without offsets.
        public init() {}
    }

    /// `log2_max_transform_skip_block_size_minus2`, 0...3, coded with `transformSkipEnabledFlag` only.
    public var log2MaxTransformSkipBlockSizeMinus2: UInt32 = 0
    /// `cross_component_prediction_enabled_flag`.
    public var crossComponentPredictionEnabledFlag = false
    /// The offsets, if `chroma_qp_offset_list_enabled_flag` is one.
    public var chromaQpOffsets: ChromaQpOffsets?
    /// `log2_sao_offset_scale_luma`, 0...6.
    public var log2SaoOffsetScaleLuma: UInt32 = 0
    /// `log2_sao_offset_scale_chroma`, 0...6.
    public var log2SaoOffsetScaleChroma: UInt32 = 0

    /// Makes an extension that enables nothing.
    public init() {}

    // HEVC 7.3.2.3.2
    mutating func visit(_ visitor: inout some SyntaxVisitor, transformSkip: Bool) throws(BitstreamError) {
        let skipName = "log2_max_transform_skip_block_size_minus2"
        if transformSkip {
            try visitor.ue(skipName, &log2MaxTransformSkipBlockSizeMinus2, in: 0...3)
        } else {
            try visitor.infer(skipName, &log2MaxTransformSkipBlockSizeMinus2, 0)
        }
        try visitor.flag("cross_component_prediction_enabled_flag", &crossComponentPredictionEnabledFlag)
        try visitor.presence("chroma_qp_offset_list_enabled_flag", of: &chromaQpOffsets, ChromaQpOffsets())
        try chromaQpOffsets?.visit(&visitor)
        try visitor.ue("log2_sao_offset_scale_luma", &log2SaoOffsetScaleLuma, in: 0...6)
        try visitor.ue("log2_sao_offset_scale_chroma", &log2SaoOffsetScaleChroma, in: 0...6)
    }
}

extension HEVCPictureParameterSetRangeExtension.ChromaQpOffsets {
    fileprivate mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.ue("diff_cu_chroma_qp_offset_depth", &diffCuChromaQpOffsetDepth, in: 0...3)
        try visitor.ueCount("chroma_qp_offset_list_len_minus1", of: &entries, minus: 1, in: 0...5, with: Entry())
        for index in entries.indices {
            try visitor.se("cb_qp_offset_list[\(index)]", &entries[index].cb, in: -12...12)
            try visitor.se("cr_qp_offset_list[\(index)]", &entries[index].cr, in: -12...12)
        }
    }
}
