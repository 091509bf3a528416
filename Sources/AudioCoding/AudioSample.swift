// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// What a decoder needs to know about a coded audio stream: the counterpart of an audio `CMFormatDescription`.
public struct AudioStreamDescription: Sendable, Hashable {
    /// FFmpeg's name of the codec, for example `aac`.
    public var codecName: String
    /// The sample rate in Hz; 0 if it is not known before the first frame.
    public var sampleRate: Int
    /// The number of channels; 0 if it is not known before the first frame.
    public var channelCount: Int
    /// The channels, if their loudspeakers are known.
    public var layout: ChannelLayout?
    /// The decoder configuration, which Core Audio calls magic cookie: an `AudioSpecificConfig` of AAC, an `OpusHead`,
    /// the STREAMINFO block of FLAC; empty if the codec has none.
    public var configuration: [UInt8]
    /// The average bitrate in bit/s; 0 if it is not known.
    public var bitRate: Int
    /// The number of frames per packet; 0 if it varies.
    public var framesPerPacket: Int
    /// The number of frames that an encoder adds at the beginning, which are decoded but not part of the sound.
    public var priming: Int
    /// The number of bits of a sample, for PCM and lossless codecs; 0 if it does not matter.
    public var bitsPerSample: Int
    /// The size of a PCM frame, or of a packet of some older codecs, in bytes; 0 if it does not matter.
    public var blockByteCount: Int
    /// The codec tag of the container, for codecs that have variants under different tags; 0 if there is none.
    public var codecTag: UInt32
    /// FFmpeg's number of the profile; `nil` if it is not known.
    public var profile: Int32?
    /// The type of the decoded samples, if it is known.
    public var decodedType: AudioFormat.SampleType?

    /// Makes a description with the values that every stream has.
    public init(codecName: String, sampleRate: Int, layout: ChannelLayout?, configuration: [UInt8] = []) {
        self.codecName = codecName
        self.sampleRate = sampleRate
        self.layout = layout
        self.configuration = configuration
        channelCount = layout?.channelCount ?? 0
        (bitRate, framesPerPacket, priming, bitsPerSample, blockByteCount, codecTag) = (0, 0, 0, 0, 0, 0)
    }
}

extension AudioStreamDescription {
    /// The expected format of decoded audio, or the nearest one that ``AudioFormat`` has; `nil` if rate or channels are
    /// not known.
    public var decodedFormat: AudioFormat? {
        guard AudioFormat.allowedSampleRates.contains(sampleRate),
            let layout = layout ?? ChannelLayout.standard(channelCount: channelCount)
        else { return nil }
        return AudioFormat(sampleType: decodedType ?? .float32, sampleRate: sampleRate, layout: layout)
    }
}

/// A coded packet of audio with its times.
public struct AudioSample: Sendable {
    /// The coded bytes.
    public var data: CodedData
    /// The time of the first decoded frame, trimmed frames included; the priming of an encoder therefore has times before
    /// that of the audio. Invalid if it is not known.
    public var presentationTime: MediaTime
    /// The duration, including the frames that are trimmed; invalid if it is not known.
    public var duration: MediaTime
    /// The number of decoded frames to discard at the beginning.
    public var trimAtStart: Int
    /// The number of decoded frames to discard at the end.
    public var trimAtEnd: Int
    /// Whether the sample is preroll: all its decoded frames are discarded, as before the start of an edit list.
    public var isDiscarded = false
    /// The decoder configuration from this sample on, if it changes here.
    public var newConfiguration: [UInt8]?

    /// Makes a sample.
    public init(
        data: CodedData,
        presentationTime: MediaTime,
        duration: MediaTime = .invalid,
        trimAtStart: Int = 0,
        trimAtEnd: Int = 0
    ) {
        self.data = data
        self.presentationTime = presentationTime
        self.duration = duration
        self.trimAtStart = trimAtStart
        self.trimAtEnd = trimAtEnd
    }
}
