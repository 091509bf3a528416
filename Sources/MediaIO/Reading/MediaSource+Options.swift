// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
public import MediaTypes

extension MediaSource {
    /// How to read an input.
    public struct Options: Sendable, Hashable {
        /// FFmpeg's name of the format, for example `mpegts`; `nil` to find out.
        public var format: String?
        /// What raw video holds; needed for it, and not allowed for anything else.
        public var rawVideo: RawVideo?
        /// Where to begin, from the start of the input, zero or above; zero of the output is here.
        public var start: MediaTime?
        /// How much to read, above zero.
        public var duration: MediaTime?
        /// What to do with interlaced video.
        public var deinterlacing: Deinterlacing
        /// Threads of the decoder and of the filters; 0 for as many as there are processors.
        public var threads: Int

        /// Everything from start to end, interlaced video deinterlaced, unless stated otherwise.
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

        /// - Throws: `invalidArgument`.
        func validate() throws(MediaError) {
            if let start, !start.isValid || start < .zero {
                throw MediaError(.invalidArgument, "start time", given: "\(start)", allowed: "zero or above")
            }
            if let duration, !duration.isValid || duration <= .zero {
                throw MediaError(.invalidArgument, "duration", given: "\(duration)", allowed: "above zero")
            }
            if !(0...64).contains(threads) {
                throw MediaError(.invalidArgument, "number of decoder threads", given: "\(threads)", allowed: "0 to 64")
            }
        }
    }

    /// What to do with interlaced video.
    public enum Deinterlacing: String, Sendable, Hashable, CaseIterable {
        /// Makes one progressive frame of each interlaced one (libavfilter's `bwdif`); progressive frames stay.
        case automatic = "auto"
        /// Leaves the lines of both fields in the picture.
        case off
    }

    /// What raw video holds, which has no header to say it.
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
                    "pixel format of raw video",
                    given: pixelFormat,
                    allowed: "a name that `ffmpeg -pix_fmts` lists, such as yuv420p, nv12 or p010le"
                )
            }
            let sizes = 1...PixelBuffer.maximumDimension
            guard sizes.contains(width), sizes.contains(height) else {
                throw MediaError(
                    .invalidArgument,
                    "size of raw video",
                    given: "\(width)x\(height)",
                    allowed: "1x1 to \(sizes.upperBound)x\(sizes.upperBound)"
                )
            }
            guard frameRate.isPositive else {
                throw MediaError(
                    .invalidArgument,
                    "frame rate of raw video",
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
