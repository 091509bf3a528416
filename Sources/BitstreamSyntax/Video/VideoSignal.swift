// SPDX-License-Identifier: GPL-2.0-or-later

/// The first part of the VUI, which H.264 and HEVC share: information for displaying decoded pictures.
public struct VideoSignal: Hashable, Sendable {
    /// `aspect_ratio_idc` and the elements that belong to it.
    public struct AspectRatio: Hashable, Sendable {
        /// `aspect_ratio_idc`: 1...16 select a ratio of table E-1, 255 an explicit one, 0 is unspecified.
        public var aspectRatioIdc: UInt32 = 0
        /// `sar_width`, 0...65535, coded with `aspect_ratio_idc` 255 only.
        public var sarWidth: UInt32 = 0
        /// `sar_height`, 0...65535, coded with `aspect_ratio_idc` 255 only.
        public var sarHeight: UInt32 = 0

        /// Makes an unspecified ratio.
        public init() {}

        /// Makes a sample aspect ratio (width to height), as a number of table E-1 if it has one.
        ///
        /// - Parameter ratio: The ratio; terms above 65535 are rejected when the set is written.
        public init(_ ratio: PositiveRatio) {
            if let index = Self.table.firstIndex(where: { $0 == (ratio.numerator, ratio.denominator) }) {
                aspectRatioIdc = UInt32(index + 1)
            } else {
                aspectRatioIdc = Self.extended
                sarWidth = UInt32(clamping: ratio.numerator)
                sarHeight = UInt32(clamping: ratio.denominator)
            }
        }

        /// The sample aspect ratio (width to height); nil if it is unspecified.
        public var ratio: PositiveRatio? {
            switch aspectRatioIdc {
            case 1...UInt32(Self.table.count):
                PositiveRatio(Self.table[Int(aspectRatioIdc) - 1].0, Self.table[Int(aspectRatioIdc) - 1].1)
            case Self.extended: PositiveRatio(Int(sarWidth), Int(sarHeight))
            default: nil
            }
        }

        /// `Extended_SAR`.
        private static let extended: UInt32 = 255

        /// H.264 table E-1, HEVC table E.1.
        private static let table = [
            (1, 1), (12, 11), (10, 11), (16, 11), (40, 33), (24, 11), (20, 11), (32, 11),
            (80, 33), (18, 11), (15, 11), (64, 33), (160, 99), (4, 3), (3, 2), (2, 1),
        ]

        mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
            try visitor.u("aspect_ratio_idc", bits: 8, &aspectRatioIdc)
            if aspectRatioIdc == Self.extended {
                try visitor.u("sar_width", bits: 16, &sarWidth)
                try visitor.u("sar_height", bits: 16, &sarHeight)
            }
        }
    }

    /// `video_format` and the elements after it.
    public struct SignalType: Hashable, Sendable {
        /// `video_format`, 0...7: 5 is unspecified.
        public var videoFormat: UInt32 = 5
        /// `video_full_range_flag`: whether luma uses all values rather than 16...235 (times 2^(depth-8)).
        public var videoFullRangeFlag = false
        /// The colour description, if it is coded.
        public var colourDescription: ColourCodePoints?

        /// Makes an unspecified signal with limited range.
        public init() {}

        mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
            try visitor.u("video_format", bits: 3, &videoFormat)
            try visitor.flag("video_full_range_flag", &videoFullRangeFlag)
            try visitor.presence("colour_description_present_flag", of: &colourDescription, ColourCodePoints())
            try colourDescription?.visit(&visitor)
        }
    }

    /// The location of chroma samples relative to luma samples: `chroma_sample_loc_type_*`, 0...5.
    public struct ChromaLocation: Hashable, Sendable {
        /// `chroma_sample_loc_type_top_field`: 0 is left (MPEG-2), 2 is top left (BT.2020).
        public var topField: UInt32 = 0
        /// `chroma_sample_loc_type_bottom_field`; equal to that of the top field for progressive video.
        public var bottomField: UInt32 = 0

        /// Makes the location that is inferred if none is coded.
        public init() {}

        mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
            try visitor.ue("chroma_sample_loc_type_top_field", &topField, in: 0...5)
            try visitor.ue("chroma_sample_loc_type_bottom_field", &bottomField, in: 0...5)
        }
    }

    /// The sample aspect ratio, if `aspect_ratio_info_present_flag` is one.
    public var aspectRatio: AspectRatio?
    /// `overscan_appropriate_flag`, if `overscan_info_present_flag` is one.
    public var overscanAppropriateFlag: Bool?
    /// The format, range and colour, if `video_signal_type_present_flag` is one.
    public var signalType: SignalType?
    /// The location of chroma samples, if `chroma_loc_info_present_flag` is one.
    public var chromaLocation: ChromaLocation?

    /// Makes a signal without any information.
    public init() {}

    // H.264 E.1.1, HEVC E.2.1
    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.presence("aspect_ratio_info_present_flag", of: &aspectRatio, AspectRatio())
        try aspectRatio?.visit(&visitor)
        try visitor.presence("overscan_info_present_flag", of: &overscanAppropriateFlag, false)
        if var isAppropriate = overscanAppropriateFlag {
            try visitor.flag("overscan_appropriate_flag", &isAppropriate)
            overscanAppropriateFlag = isAppropriate
        }
        try visitor.presence("video_signal_type_present_flag", of: &signalType, SignalType())
        try signalType?.visit(&visitor)
        try visitor.presence("chroma_loc_info_present_flag", of: &chromaLocation, ChromaLocation())
        try chromaLocation?.visit(&visitor)
    }
}
