// SPDX-License-Identifier: GPL-2.0-or-later

/// The header of an AAC frame in an ADTS stream, as transport streams and `.aac` files carry it: `adts_fixed_header()`
/// and `adts_variable_header()` of ISO/IEC 14496-3 1.A.2.2.
///
/// Frames with several raw data blocks are not supported: their blocks can be told apart only with checksums.
public struct ADTSHeader: Hashable, Sendable {
    /// The size of a header without a checksum, in bytes.
    public static let byteCount = 7
    /// The size of a header with a checksum, in bytes.
    public static let byteCountWithChecksum = 9
    /// The maximum size of a frame with its header, in bytes.
    public static let largestFrame = 0x1FFF

    /// `ID`: MPEG-2 AAC rather than MPEG-4 AAC.
    public var isMPEG2 = false
    /// `crc_check`; `nil` if `protection_absent` is set.
    public var checksum: UInt32?
    /// `profile_ObjectType`: the audio object type less 1.
    public var profileObjectType: UInt32
    /// `sampling_frequency_index`, 0...12, of ``AudioSpecificConfig/sampleRates``.
    public var samplingFrequencyIndex: UInt32
    /// `private_bit`.
    public var privateBit = false
    /// `channel_configuration`, 0...7.
    public var channelConfiguration: UInt32
    /// `original_copy`.
    public var originalCopy = false
    /// `home`.
    public var home = false
    /// `copyright_identification_bit`.
    public var copyrightIdentificationBit = false
    /// `copyright_identification_start`.
    public var copyrightIdentificationStart = false
    /// `aac_frame_length`: the size of the frame with this header, in bytes.
    public var frameLength: UInt32
    /// `adts_buffer_fullness`; 0x7FF if the bitrate varies.
    public var bufferFullness: UInt32 = 0x7FF

    /// Makes the header of a frame, without a checksum.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of the stream.
    ///   - byteCount: The size of the frame without a header, in bytes.
    /// - Throws: `BitstreamError` if ADTS cannot express the configuration or the size: it has object types 1 to 4,
    ///   indexed sample rates, channel configurations up to 7, and frames of 1024 samples.
    public init(_ configuration: AudioSpecificConfig, byteCount: Int) throws(BitstreamError) {
        guard !configuration.frameLengthFlag else {
            throw .outOfRange("frameLengthFlag", at: 0, value: 1, allowed: 0...0)
        }
        profileObjectType = configuration.audioObjectType &- 1
        samplingFrequencyIndex = configuration.samplingFrequency.index
        channelConfiguration = configuration.channelConfiguration
        frameLength = UInt32(clamping: min(byteCount, Self.largestFrame) + Self.byteCount)
        _ = try bytes()
    }

    /// Parses the header at the beginning of a frame.
    ///
    /// - Throws: `BitstreamError` at the first element that is missing or out of range.
    public init(bytes: some Collection<UInt8>) throws(BitstreamError) {
        (profileObjectType, samplingFrequencyIndex, channelConfiguration) = (1, 0, 0)
        frameLength = UInt32(Self.byteCount)
        try read(box: bytes.prefix(Self.byteCountWithChecksum))
    }

    /// Returns the coded header.
    ///
    /// - Throws: `BitstreamError` if a value does not fit its element.
    public func bytes() throws(BitstreamError) -> [UInt8] { try writtenBox() }

    /// The size of the header in bytes.
    public var byteCount: Int { checksum == nil ? Self.byteCount : Self.byteCountWithChecksum }

    /// The configuration of the stream. In an ADTS stream, SBR is signalled only implicitly.
    public var configuration: AudioSpecificConfig {
        let rate = AudioSpecificConfig.sampleRates[Int(min(samplingFrequencyIndex, 12))]
        var configuration = AudioSpecificConfig(
            sampleRate: rate,
            channelConfiguration: Int(channelConfiguration)
        )
        configuration.audioObjectType = profileObjectType &+ 1
        return configuration
    }
}

extension ADTSHeader: ConfigurationRecord {
    // ISO/IEC 14496-3 1.A.2.2.1 to 1.A.2.2.3
    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.fixed("syncword", bits: 12, 0xFFF)
        try visitor.flag("ID", &isMPEG2)
        try visitor.fixed("layer", bits: 2, 0)
        var isUnprotected = checksum == nil
        try visitor.flag("protection_absent", &isUnprotected)
        try visitor.u("profile_ObjectType", bits: 2, &profileObjectType)
        try visitor.u("sampling_frequency_index", bits: 4, &samplingFrequencyIndex, in: 0...12)
        try visitor.flag("private_bit", &privateBit)
        try visitor.u("channel_configuration", bits: 3, &channelConfiguration)
        try visitor.flag("original_copy", &originalCopy)
        try visitor.flag("home", &home)
        try visitor.flag("copyright_identification_bit", &copyrightIdentificationBit)
        try visitor.flag("copyright_identification_start", &copyrightIdentificationStart)
        let header = isUnprotected ? Self.byteCount : Self.byteCountWithChecksum
        try visitor.u("aac_frame_length", bits: 13, &frameLength, in: UInt32(header)...UInt32(Self.largestFrame))
        try visitor.u("adts_buffer_fullness", bits: 11, &bufferFullness)
        try visitor.fixed("number_of_raw_data_blocks_in_frame", bits: 2, 0)
        checksum = isUnprotected ? nil : checksum ?? 0
        if var code = checksum {
            try visitor.u("crc_check", bits: 16, &code)
            checksum = code
        }
    }
}
