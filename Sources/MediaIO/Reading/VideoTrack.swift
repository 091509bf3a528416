// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
public import MediaTypes

/// The video of a ``MediaSource``. It describes the frames as they are returned: upright and in a pixel format of this
/// package.
public struct VideoTrack: Sendable, Hashable {
    /// The index of the stream in the input.
    public var index: Int
    /// The display width in pixels; the size of later frames may differ.
    public var width: Int
    /// The display height in pixels.
    public var height: Int
    /// The pixel format of the returned frames.
    public var pixelFormat: PixelFormat
    /// FFmpeg's name of the codec, for example `h264`.
    public var codecName: String
    /// FFmpeg's name of the decoder's pixel format, for example `yuv422p10le`.
    public var pixelFormatName: String
    /// The bit depth of the decoder's samples. The returned frames have 8, 10 or 12 bits.
    public var bitDepth: Int
    /// The smallest chroma format that holds all colour of the decoder's pictures: monochrome for grey, 4:4:4 for red,
    /// green and blue.
    public var chromaFormat: ChromaFormat
    /// The colour description of the returned frames.
    public var color: ColorDescription
    /// The pixel aspect ratio (width to height) of the upright picture.
    public var pixelAspectRatio: Rational
    /// The HDR metadata of the stream or of its first frame; captions belong to frames and are not included.
    public var attachments: PixelAttachments
    /// The average frame rate in frames per second; `nil` if the input does not indicate it.
    public var nominalFrameRate: Rational?
    /// Whether frames have irregular times, according to headers, index and first packets.
    public var isVariableFrameRate: Bool
    /// The total duration of the returned frames; `nil` if not known.
    public var duration: MediaTime?
    /// The approximate number of returned frames; exact if the container states it and the whole input is read.
    public var estimatedFrameCount: Int?
    /// The orientation of the stored pictures. The returned frames are upright.
    public var orientation: Orientation
    /// Whether the stream or its first frame is interlaced.
    public var isInterlaced: Bool
    /// The language as stored in the input (mostly ISO 639-2), if there is one.
    public var language: String?
    /// The title as stored in the input, if there is one.
    public var title: String?
    /// The metadata of the stream or its first frame that the returned frames lack: Dolby Vision, HDR10+.
    public var lostMetadata: [String]
}

extension VideoTrack {
    /// Returns the even length of one side that keeps the shape of pictures.
    ///
    /// - Parameters:
    ///   - side: Its length now.
    ///   - other: The length of the other side now.
    ///   - new: The new length of the other side.
    package static func evenSide(_ side: Int, scalingFrom other: Int, to new: Int) -> Int {
        guard other > 0, new > 0 else { return side }
        let exact = Double(side) * Double(new) / Double(other)
        return max(Int(exactly: (exact / 2).rounded() * 2) ?? side, 2)
    }
}

/// A decoded picture with its times.
public struct VideoFrame: Sendable {
    /// The picture.
    public var buffer: PixelBuffer
    /// The presentation time on the timeline of the output, later than that of the previous frame.
    public var presentationTime: MediaTime
    /// The display duration, as far as the input indicates it; otherwise ``MediaTypes/MediaTime/invalid``.
    public var duration: MediaTime

    /// Makes a frame.
    public init(buffer: PixelBuffer, presentationTime: MediaTime, duration: MediaTime) {
        self.buffer = buffer
        self.presentationTime = presentationTime
        self.duration = duration
    }
}

/// A stream of the input that is ignored.
public struct IgnoredStream: Sendable, Hashable {
    /// The index of the stream in the input.
    public var index: Int
    /// FFmpeg's name of the media type, for example `video`.
    public var kind: String
    /// FFmpeg's name of the codec.
    public var codecName: String
    /// The reason, worded for users.
    public var reason: String
}

/// The problems of an input that could nevertheless be read.
public struct SourceProblems: Sendable, Hashable {
    /// The maximum number of descriptions.
    public static let describedCount = 8

    /// The number of packets that could not be decoded, and of pictures that could not be used.
    public internal(set) var decodeErrors = 0
    /// The number of frames with damage that the decoder has concealed.
    public internal(set) var damagedFrames = 0
    /// The number of failed reads, and of packets that the container marks as incomplete.
    public internal(set) var readErrors = 0
    /// The number of times that were replaced: missing or unordered times of frames, and times of packets that were far
    /// ahead of their neighbours. No data is lost.
    public internal(set) var repairedTimes = 0
    /// The number of clock jumps of the input that were removed.
    public internal(set) var discontinuities = 0
    /// The number of packets of other tracks that are too damaged to be written or, if they are encoded again, to be
    /// decoded. The reader does not count them.
    public private(set) var lostPackets = 0
    /// The first problems, described for users.
    public internal(set) var descriptions: [String] = []

    /// No problems.
    public init() {}

    /// Whether pictures or packets may be missing or damaged. Replaced times alone are no loss.
    public var isLossy: Bool { decodeErrors + damagedFrames + readErrors + lostPackets > 0 }

    /// Registers a packet that the output refused as damaged.
    public mutating func noteLostPacket(_ error: MediaError) {
        lostPackets += 1
        describe("a packet cannot be copied: \(error)")
    }

    /// Registers packets of audio that cannot be decoded.
    ///
    /// - Parameters:
    ///   - count: The number of packets.
    ///   - error: The reason of the first one.
    public mutating func noteUndecodableAudio(_ count: Int, _ error: MediaError) {
        guard count > 0 else { return }
        lostPackets += count
        describe("\(count == 1 ? "a packet" : "\(count) packets") of audio cannot be decoded: \(error)")
    }

    /// Adds the problems that another component found.
    public mutating func add(_ other: SourceProblems) {
        decodeErrors += other.decodeErrors
        damagedFrames += other.damagedFrames
        readErrors += other.readErrors
        repairedTimes += other.repairedTimes
        discontinuities += other.discontinuities
        lostPackets += other.lostPackets
        for text in other.descriptions { describe(text) }
    }

    mutating func describe(_ text: @autoclosure () -> String) {
        if descriptions.count < Self.describedCount { descriptions.append(text()) }
    }
}
