// SPDX-License-Identifier: GPL-2.0-or-later

/// `AudioSpecificConfig`, the decoder configuration of an MPEG-4 audio stream, as MP4 files, Matroska files and RTMP
/// carry it: ISO/IEC 14496-3 1.6.2.1.
///
/// The object types 1 to 4 are parsed (AAC Main, LC, SSR and LTP), with or without explicit SBR; what follows `extensionFlag`, such as a program configuration
/// element or the signalling of SBR at the end, is preserved as ``remainder``.
public struct AudioSpecificConfig: Hashable, Sendable {
    /// `audioObjectType` of AAC-LC, the only one that an encoder of this package produces.
    public static let lowComplexity: UInt32 = 2
    /// The sample rates with an index, `samplingFrequencyIndex` 0 to 12, in Hz: table 1.18.
    public static let sampleRates = [
        96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350,
    ]

    /// A sample rate, as an index of ``sampleRates`` or, with the index 15, as a number.
    public struct SamplingFrequency: Hashable, Sendable {
        /// `samplingFrequencyIndex`, 0...12 or 15.
        public var index: UInt32
        /// `samplingFrequency` in Hz, coded only if ``index`` is 15.
        public var explicit: UInt32

        /// Uses the index of a sample rate in Hz if it has one, otherwise 24 explicit bits.
        public init(_ sampleRate: Int) {
            let known = AudioSpecificConfig.sampleRates.firstIndex(of: sampleRate)
            index = known.map { UInt32($0) } ?? Self.escape
            explicit = known == nil ? UInt32(clamping: sampleRate) : 0
        }

        /// The sample rate in Hz.
        public var sampleRate: Int {
            index == Self.escape
                ? Int(explicit) : index < UInt32(sampleRates.count) ? AudioSpecificConfig.sampleRates[Int(index)] : 0
        }

        static let escape: UInt32 = 15
        private var sampleRates: [Int] { AudioSpecificConfig.sampleRates }

        mutating func visit(_ visitor: inout some SyntaxVisitor, _ name: String) throws(BitstreamError) {
            let start = visitor.bitPosition
            try visitor.u("\(name)Index", bits: 4, &index)
            if index == Self.escape {
                try visitor.u(name, bits: 24, &explicit, in: 1...0xFFFFFF)
            } else {
                try visitor.infer(name, &explicit, 0)
                guard index < UInt32(sampleRates.count) else {
                    throw .outOfRange("\(name)Index", at: start, value: index, allowed: 0...12)
                }
            }
        }
    }

    /// The signalling of spectral band replication in front of the core's configuration.
    public struct BandReplication: Hashable, Sendable {
        /// Whether parametric stereo is used, too (object type 29 instead of 5).
        public var hasParametricStereo: Bool
        /// The sample rate of the output.
        public var samplingFrequency: SamplingFrequency

        /// Makes the signalling.
        public init(hasParametricStereo: Bool, samplingFrequency: SamplingFrequency) {
            self.hasParametricStereo = hasParametricStereo
            self.samplingFrequency = samplingFrequency
        }
    }

    /// `audioObjectType` of the core; 2 is AAC-LC.
    public var audioObjectType: UInt32 = lowComplexity
    /// The sample rate of the core.
    public var samplingFrequency: SamplingFrequency
    /// `channelConfiguration`, table 1.19: 1 to 6 for as many channels, 7 for eight; 0 if a program configuration
    /// element follows.
    public var channelConfiguration: UInt32
    /// SBR or PS, if it is signalled explicitly and hierarchically (1.6.5.2).
    public var bandReplication: BandReplication?
    /// `frameLengthFlag`: frames of 960 samples rather than 1024.
    public var frameLengthFlag = false
    /// `coreCoderDelay`, if the stream depends on another one (`dependsOnCoreCoder`).
    public var coreCoderDelay: UInt32?
    /// `extensionFlag`.
    public var extensionFlag = false
    /// The bits after `extensionFlag`.
    public var remainder = RawBits()

    /// Makes the configuration of an AAC-LC stream with frames of 1024 samples.
    ///
    /// - Parameters:
    ///   - sampleRate: The sample rate in Hz.
    ///   - channelConfiguration: `channelConfiguration`, 1 to 7.
    public init(sampleRate: Int, channelConfiguration: Int) {
        samplingFrequency = SamplingFrequency(sampleRate)
        self.channelConfiguration = UInt32(clamping: channelConfiguration)
    }

    /// Parses a configuration.
    ///
    /// - Throws: `BitstreamError` at the first element that is missing, out of range, or of an object type
    ///   other than 1 to 4.
    public init(bytes: some Collection<UInt8>) throws(BitstreamError) {
        self.init(sampleRate: Self.sampleRates[0], channelConfiguration: 0)
        try read(box: bytes)
    }

    /// Returns the coded configuration; unused bits of the last byte are zero.
    ///
    /// - Throws: `BitstreamError` if a value does not fit its element.
    public func bytes() throws(BitstreamError) -> [UInt8] { try writtenBox() }

    /// The number of samples per channel that a frame of the core decodes to.
    public var samplesPerFrame: Int { frameLengthFlag ? 960 : 1024 }

    /// The number of channels; `nil` if a program configuration element states it, or the value is reserved.
    public var channelCount: Int? {
        switch channelConfiguration {
        case 1...6: Int(channelConfiguration)
        case 7, 12, 14: 8
        case 11: 7
        default: nil
        }
    }
}

extension AudioSpecificConfig: ConfigurationRecord {
    /// The object types with a `GASpecificConfig` that needs no further elements: AAC Main, LC, SSR and LTP.
    private static let generalAudio: ClosedRange<UInt32> = 1...4

    // ISO/IEC 14496-3 1.6.2.1 and 4.4.1
    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        let (replication, parametricStereo): (UInt32, UInt32) = (5, 29)
        var outer = bandReplication.map { $0.hasParametricStereo ? parametricStereo : replication } ?? audioObjectType
        let start = visitor.bitPosition
        try visitor.u("audioObjectType", bits: 5, &outer)
        let isReplicated = outer == replication || outer == parametricStereo
        try visitor.frequencyAndChannels(&samplingFrequency, &channelConfiguration)
        if isReplicated {
            var part =
                bandReplication
                ?? BandReplication(hasParametricStereo: false, samplingFrequency: samplingFrequency)
            part.hasParametricStereo = outer == parametricStereo
            try part.samplingFrequency.visit(&visitor, "extensionSamplingFrequency")
            bandReplication = part
            try visitor.u("audioObjectType", bits: 5, &audioObjectType, in: Self.generalAudio)
        } else {
            bandReplication = nil
            guard Self.generalAudio.contains(outer) else {
                throw .outOfRange("audioObjectType", at: start, value: outer, allowed: Self.generalAudio)
            }
            audioObjectType = outer
        }
        try visitor.flag("frameLengthFlag", &frameLengthFlag)
        try visitor.presence("dependsOnCoreCoder", of: &coreCoderDelay, 0)
        if var delay = coreCoderDelay {
            try visitor.u("coreCoderDelay", bits: 14, &delay)
            coreCoderDelay = delay
        }
        try visitor.flag("extensionFlag", &extensionFlag)
        try visitor.remainder("remainder", &remainder)
    }
}

extension SyntaxVisitor {
    /// `samplingFrequencyIndex`, `samplingFrequency` and `channelConfiguration`.
    fileprivate mutating func frequencyAndChannels(
        _ frequency: inout AudioSpecificConfig.SamplingFrequency,
        _ channels: inout UInt32
    ) throws(BitstreamError) {
        try frequency.visit(&self, "samplingFrequency")
        try u("channelConfiguration", bits: 4, &channels)
    }
}
