// SPDX-License-Identifier: GPL-2.0-or-later

/// The loudspeakers of audio channels, in their order: the counterpart of `AudioChannelLayout`.
///
/// Channels are in the order of ``Speakers``' bits, which is that of WAVE files and of FFmpeg.
public struct ChannelLayout: Sendable, Hashable {
    /// A set of loudspeaker positions, with the bits of `dwChannelMask` in `WAVEFORMATEXTENSIBLE`, which FFmpeg uses
    /// too (`AV_CH_FRONT_LEFT` and others).
    public struct Speakers: OptionSet, Sendable, Hashable {
        /// The bits.
        public let rawValue: UInt64
        /// Makes a set.
        public init(rawValue: UInt64) { self.rawValue = rawValue }
        /// Front left.
        public static let frontLeft = Speakers(rawValue: 1 << 0)
        /// Front right.
        public static let frontRight = Speakers(rawValue: 1 << 1)
        /// Front center.
        public static let frontCenter = Speakers(rawValue: 1 << 2)
        /// Low-frequency effects.
        public static let lowFrequency = Speakers(rawValue: 1 << 3)
        /// Back left.
        public static let backLeft = Speakers(rawValue: 1 << 4)
        /// Back right.
        public static let backRight = Speakers(rawValue: 1 << 5)
        /// Back center.
        public static let backCenter = Speakers(rawValue: 1 << 8)
        /// Side left.
        public static let sideLeft = Speakers(rawValue: 1 << 9)
        /// Side right.
        public static let sideRight = Speakers(rawValue: 1 << 10)
    }

    /// The loudspeakers.
    public let speakers: Speakers

    /// Makes a layout; `nil` for an empty set.
    public init?(speakers: Speakers) {
        guard !speakers.isEmpty else { return nil }
        self.speakers = speakers
    }

    private init(_ speakers: Speakers) { self.speakers = speakers }

    /// The number of channels.
    public var channelCount: Int { speakers.rawValue.nonzeroBitCount }

    /// One channel.
    public static let mono = ChannelLayout([.frontCenter])
    /// Left and right.
    public static let stereo = ChannelLayout([.frontLeft, .frontRight])
    /// Left, right and a subwoofer.
    public static let stereoWithSubwoofer = ChannelLayout([.frontLeft, .frontRight, .lowFrequency])
    /// Left, right and center: 3.0.
    public static let front3 = ChannelLayout([.frontLeft, .frontRight, .frontCenter])
    /// 3.0 with back center: 4.0.
    public static let surround4 = ChannelLayout([.frontLeft, .frontRight, .frontCenter, .backCenter])
    /// Left, right, back left and back right.
    public static let quad = ChannelLayout([.frontLeft, .frontRight, .backLeft, .backRight])
    /// 3.0 with back left and back right: 5.0.
    public static let surround5 = ChannelLayout([.frontLeft, .frontRight, .frontCenter, .backLeft, .backRight])
    /// 5.0 with a subwoofer: 5.1.
    public static let surround5Point1 = ChannelLayout(
        [.frontLeft, .frontRight, .frontCenter, .lowFrequency, .backLeft, .backRight]
    )
    /// 5.1 with the surround channels at the sides.
    public static let surround5Point1Side = ChannelLayout(
        [.frontLeft, .frontRight, .frontCenter, .lowFrequency, .sideLeft, .sideRight]
    )
    /// 5.1(side) with back center: 6.1.
    public static let surround6Point1 = ChannelLayout(
        [.frontLeft, .frontRight, .frontCenter, .lowFrequency, .backCenter, .sideLeft, .sideRight]
    )
    /// 5.1 with side channels in addition: 7.1.
    public static let surround7Point1 = ChannelLayout(
        [.frontLeft, .frontRight, .frontCenter, .lowFrequency, .backLeft, .backRight, .sideLeft, .sideRight]
    )

    /// The numbers of channels for which ``standard(channelCount:)`` has a layout.
    public static let standardChannelCounts = 1...8

    /// Returns the usual layout of a number of channels; `nil` outside of ``standardChannelCounts``.
    public static func standard(channelCount: Int) -> ChannelLayout? {
        standardChannelCounts.contains(channelCount) ? standards[channelCount - 1] : nil
    }

    private static let standards: [ChannelLayout] = [
        mono, stereo, front3, surround4, surround5, surround5Point1, surround6Point1, surround7Point1,
    ]

    /// The layouts with a name, from the fewest channels.
    public static let named: [(name: String, layout: ChannelLayout)] = [
        ("mono", mono), ("stereo", stereo), ("2.1", stereoWithSubwoofer), ("3.0", front3), ("4.0", surround4),
        ("quad", quad), ("5.0", surround5), ("5.1", surround5Point1), ("5.1(side)", surround5Point1Side),
        ("6.1", surround6Point1), ("7.1", surround7Point1),
    ]

    /// Makes the layout with one of FFmpeg's names; see ``named``.
    public init?(name: String) {
        guard let found = Self.named.first(where: { $0.name == name }) else { return nil }
        self = found.layout
    }
}

extension ChannelLayout: CustomStringConvertible {
    /// FFmpeg's name, such as `5.1`; for a layout without a name, the number of channels.
    public var description: String {
        Self.named.first { $0.layout == self }?.name ?? "\(channelCount) channels"
    }
}
