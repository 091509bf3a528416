// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
internal import CFFmpeg
public import MediaTypes
internal import VideoDecoding

extension MediaSource {
    /// The options for reading an input.
    public struct Options: Sendable, Hashable {
        /// FFmpeg's name of the format, for example `mpegts`; `nil` to detect it.
        public var format: String?
        /// The format of raw video; required for raw video, not allowed otherwise.
        public var rawVideo: RawVideo?
        /// The start of the part to read, from the start of the input, zero or positive. It becomes time zero of the
        /// output.
        public var start: MediaTime?
        /// The duration of the part to read; must be positive.
        public var duration: MediaTime?
        /// How much audio before ``start`` is returned as well, with times before zero, for decoders that need some
        /// packets before their output is exact; zero or positive.
        public var audioPreroll = MediaTime.zero
        /// The handling of interlaced video.
        public var deinterlacing: Deinterlacing
        /// The number of threads of the decoder and of the filters; 0 for one per processor.
        public var threads: Int
        /// The chroma format of luma and chroma pictures: 4:2:0, 4:2:2 or 4:4:4; `nil` for the smallest one that holds
        /// all colour of the input. Pictures of 8-bit red, green and blue (unless 4:2:2 is set), and of YUY2, are
        /// returned unchanged.
        public var chromaFormat: ChromaFormat? = .yuv420
        /// The maximum bit depth of the pictures: 10 or 12. Sources of 9 or 10 bits are decoded to 10 bits, deeper ones
        /// to this bit depth.
        public var maximumBitDepth = 10

        /// What the input may have at most.
        public var limits = InputLimits()

        /// Whether ``MediaSource/decode(with:)`` may be called: samples are kept until the first call of
        /// ``MediaSource/next()``.
        package var allowsOtherDecoder = false

        /// Makes options; the defaults read everything and deinterlace interlaced video.
        public init(
            format: String? = nil,
            rawVideo: RawVideo? = nil,
            start: MediaTime? = nil,
            duration: MediaTime? = nil,
            deinterlacing: Deinterlacing = .automatic,
            threads: Int = 0
        ) {
            self.format = format
            self.rawVideo = rawVideo
            self.start = start
            self.duration = duration
            self.deinterlacing = deinterlacing
            self.threads = threads
        }

        var demand: PictureDemand { PictureDemand(chromaFormat: chromaFormat, maximumBitDepth: maximumBitDepth) }

        /// Checks the ranges of the options.
        ///
        /// - Throws: `invalidArgument` if one is out of range.
        package func validate() throws(MediaError) {
            try limits.validate()
            if chromaFormat == .monochrome {
                throw MediaError(
                    .invalidArgument,
                    "the chroma format of the source is out of range",
                    given: "4:0:0",
                    allowed: "4:2:0, 4:2:2, 4:4:4"
                )
            }
            if ![10, 12].contains(maximumBitDepth) {
                throw MediaError(
                    .invalidArgument,
                    "the highest bit depth of the source is out of range",
                    given: "\(maximumBitDepth)",
                    allowed: "10, 12"
                )
            }
            if let start, !start.isValid || start < .zero {
                throw MediaError(
                    .invalidArgument,
                    "the start time is out of range",
                    given: "\(start)",
                    allowed: "zero or above"
                )
            }
            if let duration, !duration.isValid || duration <= .zero {
                throw MediaError(
                    .invalidArgument,
                    "the duration is out of range",
                    given: "\(duration)",
                    allowed: "above zero"
                )
            }
            if !(0...64).contains(threads) {
                throw MediaError(
                    .invalidArgument,
                    "the number of decoder threads is out of range",
                    given: "\(threads)",
                    allowed: "0 to 64"
                )
            }
        }
    }

    /// The handling of interlaced video.
    public enum Deinterlacing: String, Sendable, Hashable, CaseIterable {
        /// Makes one progressive frame from each interlaced one (libavfilter's `bwdif`); progressive frames are not
        /// changed.
        case automatic = "auto"
        /// Keeps the lines of both fields in the picture.
        case off
    }

    /// The format of raw video, which has no header.
    public struct RawVideo: Sendable, Hashable {
        /// FFmpeg's name of the pixel format, for example `yuv420p`, or a raw value of ``MediaTypes/PixelFormat``.
        public var pixelFormat: String
        /// The width in pixels.
        public var width: Int
        /// The height in pixels.
        public var height: Int
        /// The frame rate in frames per second.
        public var frameRate: Rational

        /// Makes a raw video format.
        public init(pixelFormat: String, width: Int, height: Int, frameRate: Rational) {
            self.pixelFormat = pixelFormat
            self.width = width
            self.height = height
            self.frameRate = frameRate
        }

        /// Returns the options for libavformat's `rawvideo` demuxer.
        ///
        /// - Throws: `invalidArgument` if a value is not allowed.
        func settings() throws(MediaError) -> [(String, String)] {
            let name = PixelFormat(rawValue: pixelFormat)?.ffmpegName ?? pixelFormat
            guard av_get_pix_fmt(name) != AV_PIX_FMT_NONE else {
                throw MediaError(
                    .invalidArgument,
                    "unknown pixel format of raw video",
                    given: pixelFormat,
                    allowed: "a name that `ffmpeg -pix_fmts` lists, such as yuv420p, nv12 or p010le"
                )
            }
            let sizes = 1...PixelBuffer.maximumDimension
            guard sizes.contains(width), sizes.contains(height) else {
                throw MediaError(
                    .invalidArgument,
                    "the size of raw video is out of range",
                    given: "\(width)x\(height)",
                    allowed: "1x1 to \(sizes.upperBound)x\(sizes.upperBound)"
                )
            }
            guard frameRate.isPositive else {
                throw MediaError(
                    .invalidArgument,
                    "the frame rate of raw video is out of range",
                    given: "\(frameRate)",
                    allowed: "above zero, such as 25 or 30000/1001"
                )
            }
            return [
                ("pixel_format", name), ("video_size", "\(width)x\(height)"),
                ("framerate", "\(frameRate.numerator)/\(frameRate.denominator)"),
            ]
        }
    }
}
