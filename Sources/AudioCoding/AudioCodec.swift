// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

/// A codec that an ``AudioEncoder`` produces.
public enum AudioCodec: String, Sendable, Hashable, CaseIterable {
    /// AAC-LC (ISO/IEC 14496-3). HE-AAC is not supported: its encoder, libfdk-aac, has an incompatible license.
    case aac
    /// Opus (RFC 6716), by libopus.
    case opus
    /// FLAC (RFC 9639).
    case flac
    /// Uncompressed, little-endian.
    case pcm

    /// The sample rates that the codec supports, in Hz, from the lowest; `nil` if practically any rate is supported.
    public var sampleRates: [Int]? {
        switch self {
        case .aac: AudioSpecificConfig.sampleRates.sorted()
        // Opus decodes to 48 kHz whatever the input was (RFC 7845 5.1).
        case .opus: [48000]
        case .flac, .pcm: nil
        }
    }

    /// Returns the sample rate of the codec that is nearest to a rate in ``AudioFormat/allowedSampleRates``; if two
    /// are equally near, the higher one.
    public func nearestSampleRate(to rate: Int) -> Int {
        if let sampleRates {
            return sampleRates.min { (abs($0 - rate), -$0) < (abs($1 - rate), -$1) } ?? rate
        }
        // A frame header states rates below 65535 Hz exactly, others in units of 10 Hz: RFC 9639 9.1.2.
        guard self == .flac, rate > 65534 else { return rate }
        return min((rate + 5) / 10 * 10, 655_340)
    }

    /// The layouts that the codec supports, from the fewest channels; `nil` if any layout is supported.
    ///
    /// AAC: the channel configurations 1 to 7 (ISO/IEC 14496-3 table 1.19), of which 7 is used as 7.1 by practically
    /// all encoders. Opus and FLAC: RFC 7845 5.1.1.2 and RFC 9639 9.1.3.
    public var layouts: [ChannelLayout]? {
        switch self {
        case .aac: [.mono, .stereo, .front3, .surround4, .surround5, .surround5Point1, .surround7Point1]
        case .opus, .flac:
            [.mono, .stereo, .front3, .quad, .surround5, .surround5Point1, .surround6Point1, .surround7Point1]
        case .pcm: nil
        }
    }

    /// Whether a bitrate can be set.
    public var hasBitRate: Bool { self == .aac || self == .opus }

    /// The types of samples that it stores.
    var sampleTypes: [AudioFormat.SampleType] {
        switch self {
        case .aac, .opus: [.float32]
        case .flac: [.int16, .int24]
        case .pcm: AudioFormat.SampleType.allCases
        }
    }

    /// Returns the default bitrate in bit/s; `nil` if the codec has none.
    func defaultBitRate(sampleRate: Int, channelCount: Int) -> Int? {
        switch self {
        // Lower rates have a lower bandwidth.
        case .aac: min(64000, 3 * sampleRate) * channelCount
        case .opus: 64000 * channelCount
        case .flac, .pcm: nil
        }
    }

    /// Returns the possible bitrates in bit/s; `nil` if the codec has none.
    func bitRates(sampleRate: Int, channelCount: Int) -> ClosedRange<Int>? {
        switch self {
        // A channel has at most 6144 bits per frame of 1024 samples: ISO/IEC 14496-3 4.5.3.
        case .aac: min(8000, 6 * sampleRate) * channelCount...6 * sampleRate * channelCount
        // OPUS_SET_BITRATE.
        case .opus: 6000 * channelCount...256_000 * channelCount
        case .flac, .pcm: nil
        }
    }
}

/// The settings of an ``AudioEncoder``.
public struct AudioEncoderSettings: Sendable, Hashable {
    /// The codec.
    public var codec: AudioCodec
    /// The average bitrate in bit/s; `nil` means 64 kbit/s per channel, or less for AAC below 22 kHz. FLAC and PCM have
    /// none.
    public var bitRate: Int?
    /// The sample rate in Hz; `nil` means that of the input. If the codec does not support it, the nearest rate is used,
    /// and ``AudioEncoder/adjustments`` lists the change.
    public var sampleRate: Int?
    /// The channels; `nil` means those of the input. If the codec does not support the layout, the smallest one that
    /// contains it is used, otherwise the largest one, and ``AudioEncoder/adjustments`` lists the change.
    public var layout: ChannelLayout?
    /// The gain in dB, in ``allowedGain``. Sound above full scale is clipped by codecs that store integers, and by
    /// players.
    public var gain = 0.0

    /// The possible gains in dB.
    public static let allowedGain = -100.0...100.0

    /// Makes settings with the default bitrate and the rate and channels of the input.
    public init(_ codec: AudioCodec, bitRate: Int? = nil, sampleRate: Int? = nil, layout: ChannelLayout? = nil) {
        self.codec = codec
        self.bitRate = bitRate
        self.sampleRate = sampleRate
        self.layout = layout
    }

    /// Speech: mono AAC at 48 kHz and 64 kbit/s.
    public static let voice = AudioEncoderSettings(.aac, bitRate: 64000, sampleRate: 48000, layout: .mono)
}

extension AudioEncoderSettings {
    /// Returns the layout that an encoder uses for a layout of the input.
    package func outputLayout(for input: ChannelLayout) -> ChannelLayout {
        EncoderSetup.layout(containing: layout ?? input, of: codec.layouts)
    }
}

/// The values that an encoder uses, derived from settings and input.
struct EncoderSetup: Equatable {
    var sampleRate: Int
    var layout: ChannelLayout
    var sampleType: AudioFormat.SampleType
    var bitRate: Int?
    /// The factor of the samples.
    var gain: Double
    var adjustments: [Adjustment] = []

    /// - Throws: `invalidArgument` if a value is out of range, with the allowed values.
    init(_ settings: AudioEncoderSettings, input: AudioFormat) throws(MediaError) {
        let codec = settings.codec
        let wantedRate = settings.sampleRate ?? input.sampleRate
        for rate in [wantedRate, input.sampleRate] where !AudioFormat.allowedSampleRates.contains(rate) {
            throw .outOfRange("sample rate", rate, AudioFormat.allowedSampleRates, unit: "Hz")
        }
        sampleRate = codec.nearestSampleRate(to: wantedRate)
        let wantedLayout = settings.layout ?? input.layout
        layout = settings.outputLayout(for: input.layout)
        sampleType =
            codec.sampleTypes.contains(input.sampleType) ? input.sampleType : codec.sampleTypes.last ?? .float32
        bitRate = try Self.bitRate(settings, sampleRate, layout.channelCount)
        try AudioEncoderSettings.allowedGain.check(settings.gain, "audio gain", unit: "dB")
        gain = Decibels.factor(settings.gain)
        if sampleRate != wantedRate {
            note("audio sample rate", "\(wantedRate) Hz", "\(sampleRate) Hz", codec)
        }
        if layout != wantedLayout { note("audio channels", "\(wantedLayout)", "\(layout)", codec) }
    }

    private mutating func note(_ property: String, _ requested: String, _ used: String, _ codec: AudioCodec) {
        adjustments.append(
            Adjustment(
                property: property,
                requested: requested,
                used: used,
                reason: "\(codec.rawValue) does not support it"
            )
        )
    }

    /// Returns the smallest layout with all loudspeakers, or the largest one if none has all. Side and back
    /// loudspeakers replace each other.
    fileprivate static func layout(containing wanted: ChannelLayout, of layouts: [ChannelLayout]?) -> ChannelLayout {
        guard let layouts, !layouts.contains(wanted) else { return wanted }
        let enough = layouts.first { layout in
            var speakers = wanted.speakers
            let sides: ChannelLayout.Speakers = [.sideLeft, .sideRight]
            let backs: ChannelLayout.Speakers = [.backLeft, .backRight]
            if speakers.isSuperset(of: sides), speakers.isDisjoint(with: backs), layout.speakers.isDisjoint(with: sides)
            {
                speakers = speakers.subtracting(sides).union(backs)
            }
            // The back center is divided between the back loudspeakers.
            if speakers.contains(.backCenter), layout.speakers.isSuperset(of: backs.union(sides)) {
                speakers.remove(.backCenter)
            }
            return layout.speakers.isSuperset(of: speakers)
        }
        return enough ?? layouts.last ?? wanted
    }

    private static func bitRate(
        _ settings: AudioEncoderSettings,
        _ sampleRate: Int,
        _ channelCount: Int
    ) throws(MediaError) -> Int? {
        let codec = settings.codec
        guard let allowed = codec.bitRates(sampleRate: sampleRate, channelCount: channelCount) else {
            guard let given = settings.bitRate else { return nil }
            throw MediaError(
                .invalidArgument,
                "\(codec.rawValue) has no audio bitrate",
                given: "\(given) bit/s",
                allowed: "none"
            )
        }
        let bitRate = settings.bitRate ?? codec.defaultBitRate(sampleRate: sampleRate, channelCount: channelCount) ?? 0
        guard allowed.contains(bitRate) else {
            throw .outOfRange(
                "bitrate of \(codec.rawValue) with \(sampleRate) Hz and \(channelCount) channels",
                bitRate,
                allowed,
                unit: "bit/s"
            )
        }
        return bitRate
    }
}

extension MediaError {
    static func outOfRange(
        _ name: String,
        _ value: Int,
        _ range: ClosedRange<Int>,
        unit: String
    ) -> MediaError {
        MediaError(
            .invalidArgument,
            "the \(name) is out of range",
            given: "\(value) \(unit)",
            allowed: "\(range.lowerBound) to \(range.upperBound) \(unit)"
        )
    }
}
