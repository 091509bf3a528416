// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
public import MediaTypes

/// The video of a ``MediaSource``, as its frames come out: turned upright and in one of our pixel formats.
public struct VideoTrack: Sendable, Hashable {
    /// The index of the stream in the input.
    public var index: Int
    /// Width as shown, in pixels; frames may change their size later on.
    public var width: Int
    /// Height as shown, in pixels.
    public var height: Int
    /// How the frames come out.
    public var pixelFormat: PixelFormat
    /// FFmpeg's name of the codec, for example `h264`.
    public var codecName: String
    /// FFmpeg's name of the format that the decoder gives, for example `yuv422p10le`.
    public var pixelFormatName: String
    /// Bits of each sample that the decoder gives. Frames come out with 8, 10 or 12.
    public var bitDepth: Int
    /// The least that holds all the colour that the decoder gives: monochrome for grey, 4:4:4 for red, green and blue.
    public var chromaFormat: ChromaFormat
    /// What the samples of the frames mean, as they come out.
    public var color: ColorDescription
    /// Width to height of one pixel, as shown.
    public var pixelAspectRatio: Rational
    /// HDR metadata of the stream or of its first frame; captions belong to frames and are empty here.
    public var attachments: PixelAttachments
    /// Frames per second on average; `nil` if the input gives no clue.
    public var nominalFrameRate: Rational?
    /// Whether frames come at irregular times, as far as headers, index and the first packets tell.
    public var isVariableFrameRate: Bool
    /// How long the frames that come out last in all; `nil` if not known.
    public var duration: MediaTime?
    /// About how many frames come out; exact where the container counts them and the whole is read.
    public var estimatedFrameCount: Int?
    /// How the stored pictures are turned to come out upright.
    public var orientation: Orientation
    /// Whether the stream or its first frame is interlaced.
    public var isInterlaced: Bool
    /// The language as in the input (mostly ISO 639-2), if it has one.
    public var language: String?
    /// The title as in the input, if it has one.
    public var title: String?
    /// Metadata of the stream or its first frame that frames come out without: Dolby Vision, HDR10+.
    public var lostMetadata: [String]
}

/// One decoded picture with its times.
public struct VideoFrame: Sendable {
    /// The picture.
    public var buffer: PixelBuffer
    /// When it is shown: after that of the frame before, on the time line of the output.
    public var presentationTime: MediaTime
    /// How long it is shown, as far as the input says; ``MediaTypes/MediaTime/invalid`` if it gives no clue.
    public var duration: MediaTime

    /// Makes a frame.
    public init(buffer: PixelBuffer, presentationTime: MediaTime, duration: MediaTime) {
        self.buffer = buffer
        self.presentationTime = presentationTime
        self.duration = duration
    }
}

/// A stream of the input that is left out.
public struct IgnoredStream: Sendable, Hashable {
    /// The index of the stream in the input.
    public var index: Int
    /// FFmpeg's name of what it carries, for example `video`.
    public var kind: String
    /// FFmpeg's name of its codec.
    public var codecName: String
    /// Why it is left out, in words for a person.
    public var reason: String
}

/// What was wrong with an input that could be read none the less.
public struct SourceProblems: Sendable, Hashable {
    /// How many problems are described.
    public static let describedCount = 8

    /// Packets that could not be decoded, and pictures that could not be used.
    public internal(set) var decodeErrors = 0
    /// Frames that came out with damage that the decoder has concealed.
    public internal(set) var damagedFrames = 0
    /// Failed reads, and packets that the container knows to be incomplete.
    public internal(set) var readErrors = 0
    /// Frames whose time was missing or out of order, and packets whose time was far ahead of all around it, so that it was
    /// made up. Nothing is lost by that.
    public internal(set) var repairedTimes = 0
    /// Jumps of the input's clock that were closed.
    public internal(set) var discontinuities = 0
    /// Packets of copied tracks that were read but are too damaged to be written. The reader does not count them.
    public private(set) var lostPackets = 0
    /// The first few, in words for a person.
    public internal(set) var descriptions: [String] = []

    /// No problems.
    public init() {}

    /// Whether pictures or packets may be missing or damaged. Repaired times alone are no loss.
    public var isLossy: Bool { decodeErrors + damagedFrames + readErrors + lostPackets > 0 }

    /// Takes note of a packet that the output refused as damaged.
    public mutating func noteLostPacket(_ error: MediaError) {
        lostPackets += 1
        describe("a packet cannot be copied: \(error)")
    }

    /// Adds what somebody else found.
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
