// SPDX-License-Identifier: GPL-2.0-or-later

/// The content of an `hvcC` box with the parameter sets of an HEVC track: ISO/IEC 14496-15 8.3.3.1.
public struct HEVCDecoderConfigurationRecord: Hashable, Sendable {
    /// The NAL units of one type.
    public struct NALUnitArray: Hashable, Sendable {
        /// `array_completeness`: whether all units of this type are here and none in the samples, as `hvc1` requires
        /// for parameter sets.
        public var isComplete: Bool
        /// `NAL_unit_type`: a parameter set or SEI.
        public var nalUnitType: HEVCNALUnitHeader.UnitType
        /// The NAL units without start code or length, at most 65535.
        public var nalUnits: [[UInt8]]

        /// Makes an array.
        public init(isComplete: Bool, nalUnitType: HEVCNALUnitHeader.UnitType, nalUnits: [[UInt8]]) {
            self.isComplete = isComplete
            self.nalUnitType = nalUnitType
            self.nalUnits = nalUnits
        }
    }

    /// `general_profile_space` to `general_constraint_indicator_flags`.
    public var profile = HEVCProfile()
    /// `general_level_idc`, 0...255: thirty times the level.
    public var generalLevelIdc: UInt32 = 0
    /// `min_spatial_segmentation_idc`, 0...4095.
    public var minSpatialSegmentationIdc: UInt32 = 0
    /// `parallelismType`, 0...3: unknown or mixed, slices, tiles, wavefronts.
    public var parallelismType: UInt32 = 0
    /// `chroma_format_idc`.
    public var chromaFormatIdc = ChromaFormat.yuv420
    /// `bit_depth_luma_minus8`, 0...7.
    public var bitDepthLumaMinus8: UInt32 = 0
    /// `bit_depth_chroma_minus8`, 0...7.
    public var bitDepthChromaMinus8: UInt32 = 0
    /// `avgFrameRate`, 0...65535, in frames per 256 seconds; zero is unspecified.
    public var avgFrameRate: UInt32 = 0
    /// `constantFrameRate`, 0...3: unknown, constant, constant in each sub-layer.
    public var constantFrameRate: UInt32 = 0
    /// `numTemporalLayers`, 0...7; zero is unknown.
    public var numTemporalLayers: UInt32 = 0
    /// `temporalIdNested`.
    public var temporalIdNested = false
    /// The size of the length prefixes in the track's samples.
    public var lengthSize = NALUnitFraming.LengthSize.four
    /// The NAL units by type, at most 255 arrays; the recommended order is VPS, SPS, PPS, SEI.
    public var arrays: [NALUnitArray] = []
    /// The data after the known elements.
    public var unknownData = RawBits()

    /// Makes an empty record.
    public init() {}

    /// Makes the record of a stream.
    ///
    /// - Parameters:
    ///   - nalUnits: NAL units without start code or length; only VPS, SPS and PPS are used.
    ///   - isComplete: Whether the samples carry no parameter sets: true for `hvc1`, false for `hev1`.
    ///   - lengthSize: The size of the length prefixes in the track's samples.
    /// - Throws: `BitstreamError` if an SPS or PPS cannot be parsed, or there is no SPS.
    public init(
        nalUnits: [[UInt8]],
        isComplete: Bool,
        lengthSize: NALUnitFraming.LengthSize = .four
    ) throws(BitstreamError) {
        self.lengthSize = lengthSize
        var sets: [HEVCNALUnitHeader.UnitType: [[UInt8]]] = [:]
        for unit in nalUnits {
            let header = try HEVCNALUnitHeader(nalUnit: unit)
            if header.isParameterSet { sets[header.nalUnitType, default: []].append(unit) }
        }
        for type in [HEVCNALUnitHeader.UnitType.videoParameterSet, .sequenceParameterSet, .pictureParameterSet] {
            guard let units = sets[type] else { continue }
            arrays.append(NALUnitArray(isComplete: isComplete, nalUnitType: type, nalUnits: units))
        }
        guard let first = sets[.sequenceParameterSet]?.first else {
            throw .outOfRange("numNalus", at: 0, value: 0, allowed: 1...65535)
        }
        let sps = try HEVCSequenceParameterSet(nalUnit: first)
        describe(sps)
        if minSpatialSegmentationIdc > 0, let unit = sets[.pictureParameterSet]?.first {
            parallelismType = Self.parallelismType(of: try HEVCPictureParameterSet(nalUnit: unit))
        }
    }

    /// Parses a record.
    ///
    /// - Parameter bytes: The content of the box, without its size and type.
    /// - Throws: `BitstreamError` at the first element that is out of range or missing.
    public init(bytes: some Collection<UInt8>) throws(BitstreamError) {
        try read(box: bytes)
    }

    /// Returns the content of the box, without its size and type.
    ///
    /// - Throws: `BitstreamError` if an element is out of range, or a NAL unit has more than 65535 bytes.
    public func bytes() throws(BitstreamError) -> [UInt8] { try writtenBox() }

    /// Returns the NAL units of one type in all arrays.
    public func nalUnits(of type: HEVCNALUnitHeader.UnitType) -> [[UInt8]] {
        arrays.filter { $0.nalUnitType == type }.flatMap(\.nalUnits)
    }

    private mutating func describe(_ sps: HEVCSequenceParameterSet) {
        profile = sps.profileTierLevel.general
        generalLevelIdc = sps.profileTierLevel.generalLevelIdc
        minSpatialSegmentationIdc = sps.vui?.bitstreamRestriction?.minSpatialSegmentationIdc ?? 0
        chromaFormatIdc = sps.chromaFormatIdc
        bitDepthLumaMinus8 = sps.bitDepthLumaMinus8
        bitDepthChromaMinus8 = sps.bitDepthChromaMinus8
        numTemporalLayers = sps.spsMaxSubLayersMinus1 + 1
        temporalIdNested = sps.spsTemporalIdNestingFlag
    }

    private static func parallelismType(of pps: HEVCPictureParameterSet) -> UInt32 {
        switch (pps.tiles != nil, pps.entropyCodingSyncEnabledFlag) {
        case (true, true): 0
        case (false, false): 1
        case (true, false): 2
        case (false, true): 3
        }
    }
}

extension HEVCDecoderConfigurationRecord: ConfigurationRecord {
    // ISO/IEC 14496-15 8.3.3.1.2
    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.fixed("configurationVersion", bits: 8, 1)
        try profile.visit(&visitor, prefix: "general", index: "")
        try visitor.u("general_level_idc", bits: 8, &generalLevelIdc)
        try visitor.fixed("reserved", bits: 4, 0b1111)
        try visitor.u("min_spatial_segmentation_idc", bits: 12, &minSpatialSegmentationIdc)
        try visitor.fixed("reserved", bits: 6, 0b111111)
        try visitor.u("parallelismType", bits: 2, &parallelismType)
        try visitor.fixed("reserved", bits: 6, 0b111111)
        try visitor.recordChromaFormat("chroma_format_idc", &chromaFormatIdc)
        try visitor.fixed("reserved", bits: 5, 0b11111)
        try visitor.u("bit_depth_luma_minus8", bits: 3, &bitDepthLumaMinus8)
        try visitor.fixed("reserved", bits: 5, 0b11111)
        try visitor.u("bit_depth_chroma_minus8", bits: 3, &bitDepthChromaMinus8)
        try visitor.u("avgFrameRate", bits: 16, &avgFrameRate)
        try visitor.u("constantFrameRate", bits: 2, &constantFrameRate)
        try visitor.u("numTemporalLayers", bits: 3, &numTemporalLayers)
        try visitor.flag("temporalIdNested", &temporalIdNested)
        try visitor.lengthSize(&lengthSize)
        try visitArrays(&visitor)
        try visitor.remainder("unknown_data", &unknownData)
    }

    private mutating func visitArrays(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        var count = UInt32(clamping: arrays.count)
        try visitor.u("numOfArrays", bits: 8, &count)
        let empty = NALUnitArray(isComplete: false, nalUnitType: .init(rawValue: 0), nalUnits: [])
        try visitor.resize("arrays", &arrays, to: Int(count), with: empty)
        for index in arrays.indices {
            try visitor.flag("array_completeness[\(index)]", &arrays[index].isComplete)
            try visitor.fixed("reserved", bits: 1, 0)
            try visitor.u("NAL_unit_type[\(index)]", bits: 6, &arrays[index].nalUnitType.rawValue)
            let name = "nalUnit[\(index)]"
            try visitor.nalUnits(count: "numNalus[\(index)]", bits: 16, name: name, &arrays[index].nalUnits)
        }
    }
}
