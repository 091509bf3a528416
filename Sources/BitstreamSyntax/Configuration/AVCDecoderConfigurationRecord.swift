// SPDX-License-Identifier: GPL-2.0-or-later

/// The content of an `avcC` box with the parameter sets of an H.264 track: ISO/IEC 14496-15 5.3.3.1.
public struct AVCDecoderConfigurationRecord: Hashable, Sendable {
    /// The elements after the parameter sets, present unless the profile is Baseline, Main or Extended. Old files lack
    /// them.
    public struct HighProfileElements: Hashable, Sendable {
        /// `chroma_format`.
        public var chromaFormat = ChromaFormat.yuv420
        /// `bit_depth_luma_minus8`, 0...7.
        public var bitDepthLumaMinus8: UInt32 = 0
        /// `bit_depth_chroma_minus8`, 0...7.
        public var bitDepthChromaMinus8: UInt32 = 0
        /// The SPS extensions, NAL units without start code or length, at most 255.
        public var sequenceParameterSetExtensions: [[UInt8]] = []

        /// Makes the elements of 8-bit 4:2:0 video.
        public init() {}

        mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
            try visitor.fixed("reserved", bits: 6, 0b111111)
            try visitor.recordChromaFormat("chroma_format", &chromaFormat)
            try visitor.fixed("reserved", bits: 5, 0b11111)
            try visitor.u("bit_depth_luma_minus8", bits: 3, &bitDepthLumaMinus8)
            try visitor.fixed("reserved", bits: 5, 0b11111)
            try visitor.u("bit_depth_chroma_minus8", bits: 3, &bitDepthChromaMinus8)
            try visitor.nalUnits(
                count: "numOfSequenceParameterSetExt",
                bits: 8,
                name: "sequenceParameterSetExtNALUnit",
                &sequenceParameterSetExtensions
            )
        }
    }

    /// `AVCProfileIndication`: `profile_idc` of the SPS.
    public var profileIndication: UInt32 = 0
    /// `profile_compatibility`: the byte between `profile_idc` and `level_idc`, with the bits that are set in all SPS.
    public var profileCompatibility: UInt32 = 0
    /// `AVCLevelIndication`: the highest `level_idc`.
    public var levelIndication: UInt32 = 0
    /// The size of the length prefixes in the track's samples.
    public var lengthSize = NALUnitFraming.LengthSize.four
    /// The SPS, NAL units without start code or length, at most 31.
    public var sequenceParameterSets: [[UInt8]] = []
    /// The PPS, NAL units without start code or length, at most 255.
    public var pictureParameterSets: [[UInt8]] = []
    /// The elements for the high profiles.
    public var high: HighProfileElements?
    /// The data after the known elements.
    public var unknownData = RawBits()

    /// Makes an empty record.
    public init() {}

    /// Makes the record of a stream.
    ///
    /// - Parameters:
    ///   - nalUnits: NAL units without start code or length; only SPS, PPS and SPS extensions are used.
    ///   - lengthSize: The size of the length prefixes in the track's samples.
    /// - Throws: `BitstreamError` if an SPS cannot be parsed, or there is none.
    public init(
        nalUnits: [[UInt8]],
        lengthSize: NALUnitFraming.LengthSize = .four
    ) throws(BitstreamError) {
        var extensions: [[UInt8]] = []
        for unit in nalUnits {
            switch try H264NALUnitHeader(nalUnit: unit).nalUnitType {
            case .sequenceParameterSet: sequenceParameterSets.append(unit)
            case .pictureParameterSet: pictureParameterSets.append(unit)
            case .sequenceParameterSetExtension: extensions.append(unit)
            default: break
            }
        }
        self.lengthSize = lengthSize
        guard let first = sequenceParameterSets.first else {
            throw .outOfRange("numOfSequenceParameterSets", at: 0, value: 0, allowed: 1...31)
        }
        let sps = try H264SequenceParameterSet(nalUnit: first)
        profileIndication = sps.profileIdc
        profileCompatibility = sequenceParameterSets.reduce(0xFF) { $0 & UInt32($1.dropFirst(2).first ?? 0) }
        levelIndication = sequenceParameterSets.reduce(0) { max($0, UInt32($1.dropFirst(3).first ?? 0)) }
        guard hasHighProfile else { return }
        var elements = HighProfileElements()
        elements.chromaFormat = sps.chromaFormatIdc
        elements.bitDepthLumaMinus8 = sps.bitDepthLumaMinus8
        elements.bitDepthChromaMinus8 = sps.bitDepthChromaMinus8
        elements.sequenceParameterSetExtensions = extensions
        high = elements
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
    /// - Throws: `BitstreamError` if there are too many parameter sets, or one has more than 65535 bytes.
    public func bytes() throws(BitstreamError) -> [UInt8] { try writtenBox() }
}

extension AVCDecoderConfigurationRecord: ConfigurationRecord {
    // ISO/IEC 14496-15 5.3.3.1.2
    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.fixed("configurationVersion", bits: 8, 1)
        try visitor.u("AVCProfileIndication", bits: 8, &profileIndication)
        try visitor.u("profile_compatibility", bits: 8, &profileCompatibility)
        try visitor.u("AVCLevelIndication", bits: 8, &levelIndication)
        try visitor.fixed("reserved", bits: 6, 0b111111)
        try visitor.lengthSize(&lengthSize)
        try visitor.fixed("reserved", bits: 3, 0b111)
        try visitor.nalUnits(
            count: "numOfSequenceParameterSets",
            bits: 5,
            name: "sequenceParameterSetNALUnit",
            &sequenceParameterSets
        )
        try visitor.nalUnits(
            count: "numOfPictureParameterSets",
            bits: 8,
            name: "pictureParameterSetNALUnit",
            &pictureParameterSets
        )
        if hasHighProfile {
            visitor.presentIfMoreData(&high, HighProfileElements())
            try high?.visit(&visitor)
        } else {
            try visitor.inferAbsent("chroma_format", &high)
        }
        try visitor.remainder("unknown_data", &unknownData)
    }

    private var hasHighProfile: Bool { ![66, 77, 88].contains(profileIndication) }
}
