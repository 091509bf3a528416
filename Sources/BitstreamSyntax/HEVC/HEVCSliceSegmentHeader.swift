// SPDX-License-Identifier: GPL-2.0-or-later

/// An HEVC slice segment header of the base layer: clause 7.3.6.1.
///
/// Property names are those of the specification; properties hold the coded values. Values that are out of range, or
/// contradict another element, are rejected when the header is written.
public struct HEVCSliceSegmentHeader: Hashable, Sendable {
    /// `slice_type`: HEVC table 7-7.
    public enum Kind: UInt32, Sendable, Hashable, CaseIterable {
        /// Predicted from one or two pictures.
        case b = 0
        /// Predicted from one picture.
        case p = 1
        /// Not predicted from other pictures.
        case i = 2
    }

    /// The header of the NAL unit.
    public var header = HEVCNALUnitHeader(nalUnitType: .trailing)
    /// `no_output_of_prior_pics_flag`, for pictures at which decoding can start.
    public var noOutputOfPriorPicsFlag = false
    /// `slice_pic_parameter_set_id`, 0...63.
    public var slicePicParameterSetId: UInt32 = 0
    /// `dependent_slice_segment_flag`: whether most of the header is that of the preceding slice segment.
    public var dependentSliceSegmentFlag = false
    /// `slice_segment_address`: the first coding tree block; zero is the first of the picture
    /// (`first_slice_segment_in_pic_flag`).
    public var sliceSegmentAddress: UInt32 = 0
    /// The elements of an independent slice segment; nil for a dependent one.
    public var slice: HEVCSliceHeader? = HEVCSliceHeader()
    /// `entry_point_offset_minus1` and the length of its numbers, with tiles or wavefronts.
    public var entryPoints = HEVCEntryPoints()
    /// `slice_segment_header_extension_data_byte`, at most 256.
    public var extensionData: [UInt8] = []

    /// Makes the header of an I slice of a non-reference picture.
    public init() {}

    /// Parses a header; the data after it is ignored.
    ///
    /// - Parameters:
    ///   - nalUnit: A slice segment without start code or length.
    ///   - sps: The SPS that the PPS refers to.
    ///   - pps: The PPS that the slice refers to.
    /// - Throws: `BitstreamError` at the first element that is out of range or missing.
    public init(
        nalUnit: some Collection<UInt8>,
        sps: HEVCSequenceParameterSet,
        pps: HEVCPictureParameterSet
    ) throws(BitstreamError) {
        // Longer than any header without entry points, of which a picture may have hundreds.
        let start = EmulationPrevention.removed(from: nalUnit.prefix(8192))
        var reader = SyntaxReader(BitReader(start))
        try visit(&reader, sps: sps, pps: pps)
    }

    /// Serializes the header, for a driver that appends the slice data.
    ///
    /// - Returns: The NAL unit header and the slice segment header with its alignment, without emulation prevention,
    ///   and the number of bits that they occupy in these bytes, which is all of them.
    /// - Throws: `BitstreamError` at the first element that is out of range or contradicts another.
    public func written(
        sps: HEVCSequenceParameterSet,
        pps: HEVCPictureParameterSet
    ) throws(BitstreamError) -> (bytes: [UInt8], bitCount: Int) {
        var writer = SyntaxWriter()
        var copy = self
        try copy.visit(&writer, sps: sps, pps: pps)
        return (writer.writer.bytes, writer.bitPosition)
    }

    // HEVC 7.3.6.1
    mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        sps: HEVCSequenceParameterSet,
        pps: HEVCPictureParameterSet
    ) throws(BitstreamError) {
        try header.visit(&visitor, types: 0...31, layers: 0...0)
        var isFirst = sliceSegmentAddress == 0
        try visitor.flag("first_slice_segment_in_pic_flag", &isFirst)
        if header.isKeyFrame {
            try visitor.flag("no_output_of_prior_pics_flag", &noOutputOfPriorPicsFlag)
        } else {
            try visitor.infer("no_output_of_prior_pics_flag", &noOutputOfPriorPicsFlag, false)
        }
        try visitor.ue("slice_pic_parameter_set_id", &slicePicParameterSetId, in: 0...63)
        try visitAddress(&visitor, isFirst: isFirst, sps: sps, pps: pps)
        if dependentSliceSegmentFlag {
            try visitor.inferAbsent("slice_type", &slice)
        } else {
            let unit = header
            try visitor.required("slice_type", &slice, HEVCSliceHeader())
            try slice?.visit(&visitor, unit: unit, sps: sps, pps: pps)
        }
        if pps.tiles != nil || pps.entropyCodingSyncEnabledFlag {
            try entryPoints.visit(&visitor)
        } else {
            try visitor.resize("num_entry_point_offsets", &entryPoints.offsetsMinus1, to: 0, with: 0)
        }
        if pps.sliceSegmentHeaderExtensionPresentFlag {
            var length = UInt32(clamping: extensionData.count)
            try visitor.ue("slice_segment_header_extension_length", &length, in: 0...256)
            try visitor.bytes("slice_segment_header_extension_data_byte", &extensionData, count: Int(length))
        } else {
            try visitor.resize("slice_segment_header_extension_length", &extensionData, to: 0, with: 0)
        }
        // HEVC 7.3.2.12
        try visitor.fixed("alignment_bit_equal_to_one", bits: 1, 1)
        while visitor.bitPosition % 8 != 0 { try visitor.fixed("alignment_bit_equal_to_zero", bits: 1, 0) }
    }

    private mutating func visitAddress(
        _ visitor: inout some SyntaxVisitor,
        isFirst: Bool,
        sps: HEVCSequenceParameterSet,
        pps: HEVCPictureParameterSet
    ) throws(BitstreamError) {
        if !isFirst, pps.dependentSliceSegmentsEnabledFlag {
            try visitor.flag("dependent_slice_segment_flag", &dependentSliceSegmentFlag)
        } else {
            try visitor.infer("dependent_slice_segment_flag", &dependentSliceSegmentFlag, false)
        }
        if isFirst {
            try visitor.infer("slice_segment_address", &sliceSegmentAddress, 0)
        } else {
            let count = sps.ctbCount
            let last = UInt32(clamping: max(count - 1, 1))
            let bits = bitCount(forValuesBelow: count)
            try visitor.u("slice_segment_address", bits: max(bits, 1), &sliceSegmentAddress, in: 1...last)
        }
    }
}

/// `num_entry_point_offsets` and the elements after it.
public struct HEVCEntryPoints: Hashable, Sendable {
    /// `offset_len_minus1`, 0...31, if there are offsets.
    public var offsetLenMinus1: UInt32 = 0
    /// `entry_point_offset_minus1`; at most as many as the number of coding tree blocks in the height of a picture.
    public var offsetsMinus1: [UInt32] = []

    /// Makes a list without entry points after the first.
    public init() {}

    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        // HEVC 7.4.7.1: 440 with tiles and wavefronts of the highest level; at most one per row of blocks.
        try visitor.ueCount("num_entry_point_offsets", of: &offsetsMinus1, in: 0...4096, with: 0)
        guard !offsetsMinus1.isEmpty else { return try visitor.infer("offset_len_minus1", &offsetLenMinus1, 0) }
        try visitor.ue("offset_len_minus1", &offsetLenMinus1, in: 0...31)
        for index in offsetsMinus1.indices {
            let bits = Int(offsetLenMinus1) + 1
            try visitor.u("entry_point_offset_minus1[\(index)]", bits: bits, &offsetsMinus1[index])
        }
    }
}

extension HEVCSequenceParameterSet {
    /// `PicSizeInCtbsY`: the number of coding tree blocks of a picture.
    public var ctbCount: Int {
        let size = 1 << ctbLog2Size
        return ((codedSize.width + size - 1) / size) * ((codedSize.height + size - 1) / size)
    }
}
