// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
internal import CFFmpeg
public import MediaTypes

extension MediaSource {
    /// How to read an input.
    public struct Options: Sendable, Hashable {
        /// FFmpeg's name of the format, for example `mpegts`; `nil` to detect it.
        public var format: String?
        /// The format of raw video; required for raw video, not allowed otherwise.
        public var rawVideo: RawVideo?
        /// Where to begin, from the start of the input, zero or above; zero of the output is here.
        public var start: MediaTime?
        /// How much to read, above zero.
        public var duration: MediaTime?
        /// What to do with interlaced video.
        public var deinterlacing: Deinterlacing
        /// Threads of the decoder and of the filters; 0 for as many as there are processors.
        public var threads: Int
        /// What luma and chroma come out with: 4:2:0, 4:2:2 or 4:4:4; `nil` for the least that holds all colour of the input.
        /// Red, green and blue of 8 bits, and YUY2, come out as they are.
        public var chromaFormat: ChromaFormat? = .yuv420
        /// The most bits of each sample that pictures come out with, 10 or 12. Those of 9 to this many bits come out with 10
        /// or 12.
        public var maximumBitDepth = 10

        /// Creates options; by default, reads everything and deinterlaces interlaced video.
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

        /// - Throws: `invalidArgument`.
        func validate() throws(MediaError) {
            if chromaFormat == .monochrome {
                throw MediaError(.invalidArgument, "chroma format", given: "4:0:0", allowed: "4:2:0, 4:2:2, 4:4:4")
            }
            if ![10, 12].contains(maximumBitDepth) {
                let given = "\(maximumBitDepth)"
                throw MediaError(.invalidArgument, "most bits of a sample", given: given, allowed: "10, 12")
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
                throw MediaError(.invalidArgument, "duration", given: "\(duration)", allowed: "above zero")
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

    /// What to do with interlaced video.
    public enum Deinterlacing: String, Sendable, Hashable, CaseIterable {
        /// Makes one progressive frame from each interlaced one (libavfilter's `bwdif`); progressive frames are
        /// unchanged.
        case automatic = "auto"
        /// Keeps the lines of both fields in the picture.
        case off
    }

    /// The format of raw video, which has no header.
    public struct RawVideo: Sendable, Hashable {
        /// FFmpeg's name of the pixel format, for example `yuv420p`, or a raw value of ``MediaTypes/PixelFormat``.
        public var pixelFormat: String
        /// Width in pixels.
        public var width: Int
        /// Height in pixels.
        public var height: Int
        /// Frames per second.
        public var frameRate: Rational

        /// Describes raw video.
        public init(pixelFormat: String, width: Int, height: Int, frameRate: Rational) {
            self.pixelFormat = pixelFormat
            self.width = width
            self.height = height
            self.frameRate = frameRate
        }

        /// The options of libavformat's `rawvideo` demuxer.
        ///
        /// - Throws: `invalidArgument`.
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
