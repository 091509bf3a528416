// SPDX-License-Identifier: GPL-2.0-or-later

/// The coefficients with which channels are mixed into those of another layout.
///
/// A channel whose loudspeaker the output has keeps its level. The others are distributed as in ITU-R BS.775-3, annex 4:
///
/// | Channel | To | Level |
/// |---|---|---|
/// | center | left and right | -3 dB each |
/// | left, right | center, for mono | -3 dB |
/// | back, side | side, back | 0 dB; -3 dB if the input has both |
/// | | back center | -3 dB |
/// | | left, right | -3 dB |
/// | | center, for mono | -6 dB |
/// | back center | back or side, both | -3 dB each |
/// | | left and right | -6 dB each |
/// | | center, for mono | -3 dB |
/// | low-frequency effects | nowhere | |
///
/// Then all coefficients are multiplied by one factor, so that those of no output channel add up to more than 1: full scale
/// in all channels cannot exceed full scale. Stereo to mono is therefore half of each, and 5.1 to stereo has left and right
/// at -7.66 dB, center and surround at -10.67 dB.
///
/// Other loudspeakers, such as those at the ceiling, count as left, right or center by their position.
public struct ChannelMix: Sendable, Hashable {
    /// The layout of the input.
    public let input: ChannelLayout
    /// The layout of the output.
    public let output: ChannelLayout
    /// For each channel of the output, the factors of the channels of the input.
    public let coefficients: [[Double]]

    /// Makes the mix of one layout into another.
    public init(from input: ChannelLayout, to output: ChannelLayout) {
        self.input = input
        self.output = output
        let sources = input.positions
        var rows = Array(
            repeating: Array(repeating: 0.0, count: sources.count),
            count: output.channelCount
        )
        for (channel, speaker) in sources.enumerated() {
            for (target, level) in Self.targets(of: speaker, from: input.speakers, to: output.speakers) {
                guard let row = output.positions.firstIndex(of: target) else { continue }
                rows[row][channel] += level
            }
        }
        let largest = rows.map { $0.reduce(0, +) }.max() ?? 0
        coefficients = largest > 1 ? rows.map { row in row.map { $0 / largest } } : rows
    }

    /// Whether the channels stay as they are.
    public var isIdentity: Bool { input == output }

    private typealias Speakers = ChannelLayout.Speakers

    /// -3 dB: the same power.
    private static let minus3 = 0.5.squareRoot()
    private static let minus6 = 0.5

    /// Returns where a channel goes, and how loud.
    private static func targets(
        of speaker: Speakers,
        from input: Speakers,
        to output: Speakers
    ) -> [(Speakers, Double)] {
        if output.contains(speaker) { return [(speaker, 1)] }
        switch speaker {
        case .frontCenter: return front(minus3, minus3, 1, output)
        case .frontLeft: return front(1, 0, minus3, output)
        case .frontRight: return front(0, 1, minus3, output)
        case .backLeft: return surround(.sideLeft, .left, input, output)
        case .backRight: return surround(.sideRight, .right, input, output)
        case .sideLeft: return surround(.backLeft, .left, input, output)
        case .sideRight: return surround(.backRight, .right, input, output)
        case .backCenter:
            for pair in [(Speakers.backLeft, Speakers.backRight), (.sideLeft, .sideRight)]
            where output.contains(pair.0) && output.contains(pair.1) {
                return [(pair.0, minus3), (pair.1, minus3)]
            }
            return front(minus6, minus6, minus3, output)
        case .lowFrequency, .secondLowFrequency: return []
        case _ where Speakers.otherLeft.contains(speaker): return front(minus3, 0, minus6, output)
        case _ where Speakers.otherRight.contains(speaker): return front(0, minus3, minus6, output)
        default: return front(minus6, minus6, minus3, output)
        }
    }

    private enum Side { case left, right }

    private static func surround(
        _ other: Speakers,
        _ side: Side,
        _ input: Speakers,
        _ output: Speakers
    ) -> [(Speakers, Double)] {
        if output.contains(other) { return [(other, input.contains(other) ? minus3 : 1)] }
        if output.contains(.backCenter) { return [(.backCenter, minus3)] }
        return side == .left ? front(minus3, 0, minus6, output) : front(0, minus3, minus6, output)
    }

    /// Returns levels for left and right if the output has both, otherwise for the center.
    private static func front(
        _ left: Double,
        _ right: Double,
        _ center: Double,
        _ output: Speakers
    ) -> [(Speakers, Double)] {
        if output.contains([.frontLeft, .frontRight]) { return [(.frontLeft, left), (.frontRight, right)] }
        return output.contains(.frontCenter) ? [(.frontCenter, center)] : []
    }
}

extension ChannelLayout {
    /// The loudspeakers in the order of the channels.
    var positions: [Speakers] {
        (0..<64).map { Speakers(rawValue: 1 << UInt64($0)) }.filter(speakers.contains)
    }
}

extension ChannelLayout.Speakers {
    // FFmpeg's bits beyond those with names: AV_CHAN_LOW_FREQUENCY_2, and positions at one side.
    fileprivate static let secondLowFrequency = Self(rawValue: 1 << 35)
    fileprivate static let otherLeft = Self(bits: [6, 12, 15, 29, 31, 33, 36, 39])
    fileprivate static let otherRight = Self(bits: [7, 14, 17, 30, 32, 34, 37, 40])

    private init(bits: [UInt64]) { self.init(rawValue: bits.reduce(0) { $0 | 1 << $1 }) }
}
