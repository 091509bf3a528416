// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaIO
public import MediaTypes
public import VAToolbox

/// What a ``FileDecoder`` decodes, and where the pictures go.
public struct DecodeRequest: Sendable {
    /// What becomes of the pictures.
    public enum Output: Sendable, Hashable {
        /// They are written as YUV4MPEG2 to a file, or to standard output if the path is `-`.
        case y4m(path: String, overwrite: Bool)
        /// They are written as PNG files, upright and in red, green and blue. In the file name, `%d` or `%04d` stands for the
        /// number, from 1 on, and `%%` for a percent sign. A path without a number takes the first picture, with which
        /// decoding ends. All files get their names at the end.
        case png(path: String, overwrite: Bool)
        /// They are counted.
        case discarded
    }

    /// The file or URL to read.
    public var input: String
    /// What becomes of the pictures.
    public var output: Output
    /// FFmpeg's name of the input's format; `nil` to detect it.
    public var inputFormat: String?
    /// The frame rate of a raw H.264 or HEVC stream in frames per second; `nil` for the one that its SPS states.
    public var inputFrameRate: Rational?
    /// The first picture to return is presented at or after this time, from the start of the input.
    public var start: MediaTime?
    /// Pictures are presented before ``start`` plus this time.
    public var duration: MediaTime?
    /// How the session behaves. Its start is set by ``start``.
    public var options = DecompressionOptions()

    /// Makes a request.
    public init(input: String, output: Output) {
        self.input = input
        self.output = output
    }

    var sourceOptions: PacketSource.Options {
        var options = PacketSource.Options()
        options.format = inputFormat
        options.frameRate = inputFrameRate
        options.start = start
        options.duration = duration
        // As in a file with edit lists, what precedes the start is read and hidden.
        options.output = .mp4
        return options
    }
}

/// The progress of a ``FileDecoder``.
public struct DecodeProgress: Sendable, Hashable {
    /// The number of pictures that were written or counted.
    public var pictures = 0
    /// The presentation time of the last one.
    public var time = MediaTime.zero
    /// The expected duration, if the input states it.
    public var expectedDuration: MediaTime?

    /// Makes the progress of a run that has not begun.
    public init() {}
}

/// The result of a ``FileDecoder``.
public struct DecodeReport: Sendable {
    /// FFmpeg's name of the input's format.
    public var inputFormat: String
    /// The codec, and the size of the first pictures.
    public var format: FormatDescription
    /// The decoder that was used last.
    public var decoder: DecoderDescription?
    /// The pixel format of the first picture.
    public var pixelFormat: PixelFormat?
    /// The number of pictures that were written or counted.
    public var pictures: Int
    /// The number of those that are damaged.
    public var damagedPictures: Int
    /// The end of the last picture.
    public var duration: MediaTime
    /// The size of the output in bytes.
    public var byteCount: Int64
    /// FFmpeg's name of the pixel format of the first PNG file: `rgb24`, `rgb48be`, `gray` or `gray16be`; `nil` if none was
    /// written.
    public var samples: String?
    /// The matrix with which PNG pictures were converted although the input states none; `nil` if it does.
    public var assumedMatrix: ColorDescription.Matrix?
    /// The frame rate that YUV4MPEG2 states although the input states none; `nil` if it does.
    public var assumedFrameRate: Rational?
    /// The counters of the session.
    public var statistics: DecompressionStatistics
    /// The failures of decoders, in order.
    public var failures: [MediaError]
    /// What is wrong with the input.
    public var problems: SourceProblems
    /// Whether the run was ended by ``FileDecoder/stop()``.
    public var wasStopped: Bool
}
