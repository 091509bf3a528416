// SPDX-License-Identifier: GPL-2.0-or-later

/// The format of uncompressed audio (PCM): the counterpart of `AudioStreamBasicDescription`.
///
/// A *frame* is one sample of each channel, as in Core Audio.
public struct AudioFormat: Sendable, Hashable {
    /// The type of a sample, in the byte order of the machine.
    public enum SampleType: String, Sendable, Hashable, CaseIterable {
        /// Signed integers of 16 bits.
        case int16
        /// Signed integers of 24 bits in three bytes.
        case int24
        /// Signed integers of 32 bits.
        case int32
        /// Floating-point numbers of 32 bits, nominally between -1 and 1.
        case float32

        /// The size of a sample in bytes.
        public var byteCount: Int {
            switch self {
            case .int16: 2
            case .int24: 3
            case .int32, .float32: 4
            }
        }
    }

    /// The sample rates that are accepted, in Hz.
    public static let allowedSampleRates = 1000...768_000

    /// The type of the samples.
    public var sampleType: SampleType
    /// The sample rate in Hz, in ``allowedSampleRates``.
    public var sampleRate: Int
    /// The channels.
    public var layout: ChannelLayout
    /// Whether the samples of a frame are next to each other; if not, each channel has a plane of its own.
    public var isInterleaved: Bool

    /// Makes a format.
    public init(sampleType: SampleType, sampleRate: Int, layout: ChannelLayout, isInterleaved: Bool = true) {
        self.sampleType = sampleType
        self.sampleRate = sampleRate
        self.layout = layout
        self.isInterleaved = isInterleaved
    }

    /// The number of planes: 1 if interleaved, otherwise the number of channels.
    public var planeCount: Int { isInterleaved ? 1 : layout.channelCount }

    /// The size of a frame in one plane, in bytes.
    public var bytesPerPlaneFrame: Int { sampleType.byteCount * (isInterleaved ? layout.channelCount : 1) }
}

extension AudioFormat: CustomStringConvertible {
    /// For example `int16 48000 Hz stereo`.
    public var description: String {
        "\(sampleType.rawValue) \(sampleRate) Hz \(layout)\(isInterleaved ? "" : " planar")"
    }
}
