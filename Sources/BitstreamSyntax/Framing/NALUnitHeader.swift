// SPDX-License-Identifier: GPL-2.0-or-later

/// The header of a NAL unit, for code that supports both codecs.
public protocol NALUnitHeader: Hashable, Sendable {
    /// Parses the header at the start of a NAL unit.
    ///
    /// - Throws: `BitstreamError` if the unit is shorter than a header or the header violates a rule.
    init(nalUnit: some Collection<UInt8>) throws(BitstreamError)

    /// Whether the unit carries coded picture data (a slice, a slice data partition or a slice segment).
    var isVideoCodingLayer: Bool { get }
    /// Whether it is a VPS, SPS or PPS (for H.264 also an SPS extension or subset SPS).
    var isParameterSet: Bool { get }
    /// Whether it is a slice of a picture at which decoding can start: IDR for H.264, IRAP for HEVC.
    var isKeyFrame: Bool { get }
    /// Whether it is a slice of an IDR picture.
    var isIDR: Bool { get }
    /// Whether it is supplemental enhancement information (SEI) that precedes slices.
    var isPrefixSEI: Bool { get }
    /// Whether it is an access unit delimiter.
    var isAccessUnitDelimiter: Bool { get }
    /// The size of the header in bytes.
    var byteCount: Int { get }
}

extension VideoCodec {
    /// Parses the header at the start of a NAL unit of this codec.
    ///
    /// - Throws: The errors of the initializers of ``H264NALUnitHeader`` and ``HEVCNALUnitHeader``.
    public func nalUnitHeader(of nalUnit: some Collection<UInt8>) throws(BitstreamError) -> any NALUnitHeader {
        switch self {
        case .h264: try H264NALUnitHeader(nalUnit: nalUnit)
        case .hevc: try HEVCNALUnitHeader(nalUnit: nalUnit)
        }
    }
}

/// The one-byte header of an H.264 NAL unit: clause 7.3.1.
public struct H264NALUnitHeader: NALUnitHeader {
    /// `nal_unit_type`, 0...31: H.264 table 7-1.
    public struct UnitType: RawRepresentable, Hashable, Sendable {
        /// The number in the bitstream.
        public var rawValue: UInt32

        /// Makes the type with the given number.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// A slice of a non-IDR picture.
        public static let slice = UnitType(rawValue: 1)
        /// A slice of an IDR picture.
        public static let idrSlice = UnitType(rawValue: 5)
        /// Supplemental enhancement information.
        public static let sei = UnitType(rawValue: 6)
        /// Sequence parameter set.
        public static let sequenceParameterSet = UnitType(rawValue: 7)
        /// Picture parameter set.
        public static let pictureParameterSet = UnitType(rawValue: 8)
        /// Access unit delimiter.
        public static let accessUnitDelimiter = UnitType(rawValue: 9)
        /// End of sequence.
        public static let endOfSequence = UnitType(rawValue: 10)
        /// End of stream.
        public static let endOfStream = UnitType(rawValue: 11)
        /// Filler data.
        public static let fillerData = UnitType(rawValue: 12)
        /// Sequence parameter set extension.
        public static let sequenceParameterSetExtension = UnitType(rawValue: 13)
        /// Subset sequence parameter set.
        public static let subsetSequenceParameterSet = UnitType(rawValue: 15)
    }

    /// `nal_ref_idc`, 0...3: zero if no picture refers to the unit's picture.
    public var nalRefIdc: UInt32
    /// `nal_unit_type`.
    public var nalUnitType: UnitType

    /// Makes a header; values out of range are rejected when it is written.
    public init(nalRefIdc: UInt32, nalUnitType: UnitType) {
        self.nalRefIdc = nalRefIdc
        self.nalUnitType = nalUnitType
    }

    /// Parses the header at the start of a NAL unit.
    ///
    /// - Throws: `BitstreamError` if the unit is shorter than the header or `forbidden_zero_bit` is one.
    public init(nalUnit: some Collection<UInt8>) throws(BitstreamError) {
        if let byte = nalUnit.first, byte & 0x80 == 0 {
            self.init(nalRefIdc: UInt32(byte >> 5), nalUnitType: UnitType(rawValue: UInt32(byte & 0x1F)))
            return
        }
        // The reader of bits describes what is wrong.
        self.init(nalRefIdc: 0, nalUnitType: UnitType(rawValue: 0))
        var reader = SyntaxReader(BitReader(Array(nalUnit.prefix(1))))
        try visit(&reader)
    }

    /// Whether the unit carries coded picture data.
    public var isVideoCodingLayer: Bool { (1...5).contains(nalUnitType.rawValue) }
    /// Whether it is an SPS, PPS, SPS extension or subset SPS.
    public var isParameterSet: Bool { [7, 8, 13, 15].contains(nalUnitType.rawValue) }
    /// Whether it is a slice of an IDR picture (data partitions never are).
    public var isKeyFrame: Bool { nalUnitType == .idrSlice }
    /// Whether it is a slice of an IDR picture.
    public var isIDR: Bool { isKeyFrame }
    /// Whether it is SEI.
    public var isPrefixSEI: Bool { nalUnitType == .sei }
    /// Whether it is an access unit delimiter.
    public var isAccessUnitDelimiter: Bool { nalUnitType == .accessUnitDelimiter }
    /// 1.
    public var byteCount: Int { 1 }

    // H.264 7.3.1
    mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        types: ClosedRange<UInt32> = 0...31
    ) throws(BitstreamError) {
        try visitor.fixed("forbidden_zero_bit", bits: 1, 0)
        try visitor.u("nal_ref_idc", bits: 2, &nalRefIdc)
        try visitor.u("nal_unit_type", bits: 5, &nalUnitType.rawValue, in: types)
    }
}

/// The two-byte header of an HEVC NAL unit: clause 7.3.1.2.
public struct HEVCNALUnitHeader: NALUnitHeader {
    /// `nal_unit_type`, 0...63: HEVC table 7-1.
    public struct UnitType: RawRepresentable, Hashable, Sendable {
        /// The number in the bitstream.
        public var rawValue: UInt32

        /// Makes the type with the given number.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// TRAIL_N: a slice segment of a picture to which no picture of its sub-layer refers.
        public static let trailing = UnitType(rawValue: 0)
        /// TRAIL_R: a slice segment of a picture to which other pictures may refer.
        public static let trailingReference = UnitType(rawValue: 1)
        /// TSA_N: a slice segment of a picture at which a decoder can switch up to its temporal sub-layer; no picture
        /// of that sub-layer refers to it.
        public static let temporalSubLayerAccess = UnitType(rawValue: 2)
        /// TSA_R: like TSA_N, but other pictures may refer to it.
        public static let temporalSubLayerAccessReference = UnitType(rawValue: 3)
        /// RADL_N: a leading picture that is decodable after its random access point; no other picture refers to it.
        public static let decodableLeading = UnitType(rawValue: 6)
        /// RADL_R: like RADL_N, but other pictures may refer to it.
        public static let decodableLeadingReference = UnitType(rawValue: 7)
        /// RASL_N: a leading picture that is skipped when decoding begins at its random access point; no other picture
        /// refers to it.
        public static let skippedLeading = UnitType(rawValue: 8)
        /// RASL_R: like RASL_N, but other pictures may refer to it.
        public static let skippedLeadingReference = UnitType(rawValue: 9)
        /// A slice segment of an IDR picture that may have decodable leading pictures.
        public static let idrWithRADL = UnitType(rawValue: 19)
        /// A slice segment of an IDR picture without leading pictures.
        public static let idrWithoutLeadingPictures = UnitType(rawValue: 20)
        /// A slice segment of a clean random access picture, the start of an open GOP.
        public static let cleanRandomAccess = UnitType(rawValue: 21)
        /// Video parameter set.
        public static let videoParameterSet = UnitType(rawValue: 32)
        /// Sequence parameter set.
        public static let sequenceParameterSet = UnitType(rawValue: 33)
        /// Picture parameter set.
        public static let pictureParameterSet = UnitType(rawValue: 34)
        /// Access unit delimiter.
        public static let accessUnitDelimiter = UnitType(rawValue: 35)
        /// End of sequence.
        public static let endOfSequence = UnitType(rawValue: 36)
        /// End of bitstream.
        public static let endOfBitstream = UnitType(rawValue: 37)
        /// Filler data.
        public static let fillerData = UnitType(rawValue: 38)
        /// Supplemental enhancement information before the slices to which it applies.
        public static let prefixSEI = UnitType(rawValue: 39)
        /// Supplemental enhancement information after the slices to which it applies.
        public static let suffixSEI = UnitType(rawValue: 40)
    }

    /// `nal_unit_type`.
    public var nalUnitType: UnitType
    /// `nuh_layer_id`, 0...63: zero for the base layer, the only one that this package encodes.
    public var nuhLayerId: UInt32
    /// `nuh_temporal_id_plus1`, 1...7.
    public var nuhTemporalIdPlus1: UInt32

    /// Makes a header; values out of range are rejected when it is written.
    public init(nalUnitType: UnitType, nuhLayerId: UInt32 = 0, nuhTemporalIdPlus1: UInt32 = 1) {
        self.nalUnitType = nalUnitType
        self.nuhLayerId = nuhLayerId
        self.nuhTemporalIdPlus1 = nuhTemporalIdPlus1
    }

    /// Parses the header at the start of a NAL unit.
    ///
    /// - Throws: `BitstreamError` if the unit is shorter than the header, `forbidden_zero_bit` is one or
    ///   `nuh_temporal_id_plus1` is zero.
    public init(nalUnit: some Collection<UInt8>) throws(BitstreamError) {
        var bytes = nalUnit.makeIterator()
        if let first = bytes.next(), let second = bytes.next(), first & 0x80 == 0, second & 7 != 0 {
            self.init(
                nalUnitType: UnitType(rawValue: UInt32(first >> 1)),
                nuhLayerId: UInt32(first & 1) << 5 | UInt32(second >> 3),
                nuhTemporalIdPlus1: UInt32(second & 7)
            )
            return
        }
        // The reader of bits describes what is wrong.
        self.init(nalUnitType: UnitType(rawValue: 0))
        var reader = SyntaxReader(BitReader(Array(nalUnit.prefix(2))))
        try visit(&reader)
    }

    /// `TemporalId`, 0...6: the temporal sub-layer of the unit.
    public var temporalId: Int { Int(nuhTemporalIdPlus1) - 1 }
    /// Whether the unit carries coded picture data.
    public var isVideoCodingLayer: Bool { nalUnitType.rawValue < 32 }
    /// Whether it is a VPS, SPS or PPS.
    public var isParameterSet: Bool { (32...34).contains(nalUnitType.rawValue) }
    /// Whether it is a slice segment of an intra random access point picture: types 16...23.
    public var isKeyFrame: Bool { (16...23).contains(nalUnitType.rawValue) }
    /// Whether it is a slice segment of an IDR picture.
    public var isIDR: Bool { [.idrWithRADL, .idrWithoutLeadingPictures].contains(nalUnitType) }
    /// Whether it is prefix SEI.
    public var isPrefixSEI: Bool { nalUnitType == .prefixSEI }
    /// Whether it is an access unit delimiter.
    public var isAccessUnitDelimiter: Bool { nalUnitType == .accessUnitDelimiter }
    /// 2.
    public var byteCount: Int { 2 }

    // HEVC 7.3.1.2
    mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        types: ClosedRange<UInt32> = 0...63,
        layers: ClosedRange<UInt32> = 0...63
    ) throws(BitstreamError) {
        try visitor.fixed("forbidden_zero_bit", bits: 1, 0)
        try visitor.u("nal_unit_type", bits: 6, &nalUnitType.rawValue, in: types)
        try visitor.u("nuh_layer_id", bits: 6, &nuhLayerId, in: layers)
        try visitor.u("nuh_temporal_id_plus1", bits: 3, &nuhTemporalIdPlus1, in: 1...7)
    }
}
