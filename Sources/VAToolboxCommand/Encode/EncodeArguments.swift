// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport
import MediaIO
import MediaTypes
import Transcoding
import VAToolbox

/// The input and how it is read.
struct InputArguments: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Where to begin: seconds or [HH:]MM:SS[.fff].", valueName: "time")
    )
    var start: ArgumentText<ClockTime>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How much to encode: seconds or [HH:]MM:SS[.fff].", valueName: "time")
    )
    var duration: ArgumentText<ClockTime>?

    @Option(
        parsing: .unconditional,
        help: "Interlaced video: auto makes one frame from two fields, off keeps them (default: auto)."
    )
    var deinterlace: ArgumentText<MediaSource.Deinterlacing>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "auto: the GPU that encodes, if it decodes the input, otherwise the CPU; hardware: a GPU; software: the CPU "
                + "(default: auto).",
            valueName: "decoder"
        )
    )
    var decoder: ArgumentText<DecoderChoice>?

    @Option(help: ArgumentHelp("FFmpeg's name of the input format (default: detected).", valueName: "name"))
    var inputFormat: String?

    @Option(parsing: .unconditional, help: ArgumentHelp("Raw video: frame size in pixels.", valueName: "WxH"))
    var inputSize: ArgumentText<PictureSize>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Raw video: frames per second, such as 25 or 30000/1001.", valueName: "rate")
    )
    var inputFps: ArgumentText<Rational>?

    @Option(help: ArgumentHelp("Raw video: pixel format, such as yuv420p, nv12 or p010.", valueName: "name"))
    var inputPixelFormat: String?

    @OptionGroup var limits: InputLimitArguments
}

/// The output and its container.
struct OutputArguments: ParsableArguments, Sendable {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The file to write (\(OutputArguments.extensions)), .m3u8 for HTTP Live Streaming, - for standard output, or null "
                + "to discard it.",
            valueName: "path"
        ),
        completion: .file()
    )
    var output: String

    @Option(
        help: ArgumentHelp(
            "The name of a variant, if several outputs are the same playlist (default: video).",
            valueName: "name"
        )
    )
    var variant: String?

    @Option(
        help: ArgumentHelp(
            "A YAML file with a list of outputs, each with its options, in place of -o.",
            valueName: "file"
        ),
        completion: .file()
    )
    var outputs: String?

    @Option(
        help: ArgumentHelp(
            "The container: \(OutputArguments.formats) (default: from the extension).",
            valueName: "name"
        ),
        completion: .list(ContainerFormat.allCases.map(\.rawValue))
    )
    var format: String?

    @Flag(help: "Write fragmented MP4 or MOV, which can be played while it grows.")
    var fragmented = false

    @Flag(help: "Write fragmented MP4 or MOV, and copy it into an ordinary file at the end. Needs its size twice.")
    var fragmentedUntilEnd = false

    @Flag(help: "Overwrite an existing output file.")
    var overwrite = false

    @Flag(help: "Decode the output and compare it with the encoded pictures before it appears under its name.")
    var verify = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Verify, and fail if the luma PSNR of a frame against the input is lower: 1 to 100. Up to 32 frames are measured.",
            valueName: "dB"
        )
    )
    var verifyPsnr: ArgumentText<PlainNumber>?

    /// Whether the output is a presentation for HTTP Live Streaming.
    var isPlaylist: Bool { format == nil && StreamOptions.isPlaylist(output) }

    static let formats = ContainerFormat.allCases.map(\.rawValue).joined(separator: ", ")
    static let extensions =
        ContainerFormat.allCases.compactMap(\.fileExtensions.first).map { ".\($0)" }.joined(separator: " ")
}

/// Rate control.
struct RateControlArguments: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "cqp (uses --qp), cbr (--bitrate), vbr (--bitrate and --peak-bitrate), avbr (--bitrate without a peak), icq "
                + "(--crf) or qvbr (--crf and --peak-bitrate). Missing options default to --qp 23, --crf 23 and a peak of "
                + "1.5 times the bitrate (default: the mode that the other options imply).",
            valueName: "mode"
        )
    )
    var rateControl: ArgumentText<RateControlMode>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Average bitrate in bit/s, such as 5M or 800k; 1k to 1000M (default: 5.12M).",
            valueName: "rate"
        )
    )
    var bitrate: ArgumentText<BitRate>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Peak bitrate in bit/s (default: unlimited; for vbr, and for H.264 without B-frames, 1.5 times the "
                + "bitrate; for qvbr 7.68M).",
            valueName: "rate"
        )
    )
    var peakBitrate: ArgumentText<BitRate>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Window over which a peak or constant bitrate is measured, in seconds: 0.01 to 60 (default: 1).",
            valueName: "seconds"
        )
    )
    var peakWindow: ArgumentText<PlainNumber>?

    @Flag(help: "Constant bitrate, with padding where needed.")
    var cbr = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Constant quality instead of a bitrate: 0 to 51, lower is better.", valueName: "quality")
    )
    var crf: ArgumentText<PlainNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Quality to reach with the smallest file, instead of a bitrate: ssim:0.98, psnr:42 or vmaf:95. Encodes samples of "
                + "the input to find the highest --crf that reaches it. --peak-bitrate may limit it.",
            valueName: "metric:score"
        )
    )
    var target: ArgumentText<QualityTarget>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "If no quality reaches the target: fail, or best to encode with the best one (default: fail).",
            valueName: "choice"
        )
    )
    var targetShortfall: ArgumentText<QualityTarget.Shortfall>?

    @Flag(help: "Only predict the quality, size and time with --target; -o is not written.")
    var targetOnly = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Constant quantizer instead of a bitrate: 0 to 51, lower is better.", valueName: "quantizer")
    )
    var qp: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Lowest quantizer: 0 to 51 (default: the encoder's).", valueName: "quantizer")
    )
    var minQp: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Highest quantizer: 0 to 51 (default: the encoder's).", valueName: "quantizer")
    )
    var maxQp: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Largest coded frame in bytes, such as 200k or 1.5M; only GPUs that support it (default: unlimited).",
            valueName: "bytes"
        )
    )
    var maxFrameSize: ArgumentText<ByteCount>?
}

/// Size, frame rate and bit depth of the pictures.
struct PictureArguments: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Output size in pixels, such as 1280x720; 1280x or x720 keeps the shape; odd numbers are rounded down (default: the input's).",
            valueName: "WxH"
        )
    )
    var size: ArgumentText<OutputSize>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How to fit an input of another aspect ratio: letterbox, aspect-fill or stretch (default: letterbox).",
            valueName: "mode"
        )
    )
    var fit: ArgumentText<ScalingMode>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Constant frame rate, such as 25 or 30000/1001; 0.01 to 1000 (default: the input's timestamps).",
            valueName: "rate"
        )
    )
    var fps: ArgumentText<Rational>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Bits per sample: 8, 10, 12 (HEVC), or source to keep up to 12 bits (default: the profile's, otherwise 8; HEVC "
                + "keeps a 10-bit input at 10).",
            valueName: "bits"
        )
    )
    var bitDepth: ArgumentText<BitDepthChoice>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Chroma format: 4:2:0, or of HEVC 4:2:2, 4:4:4 or source, which keeps the input's (default: the profile's, "
                + "else 4:2:0).",
            valueName: "format"
        )
    )
    var chroma: ArgumentText<ChromaChoice>?

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Region of interest, in pixels of the input as displayed. The offset, -51 to 51, is added to its quantizer; "
                + "negative values improve quality. Can be repeated; where regions overlap, the first one applies.",
            valueName: "x,y,width,height,offset"
        )
    )
    var roi: [ArgumentText<RegionOfInterest>] = []
}

/// Codec, profile and structure of the stream.
struct StreamArguments: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: "auto, h264 or hevc. auto selects HEVC on a GPU that supports it, otherwise H.264 (default: auto)."
    )
    var codec: ArgumentText<CodecSelection>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "H.264: baseline, main, high or high10. HEVC: main, main10, main12, main422-10, main422-12, main444, "
                + "main444-10 or main444-12 (default: chosen by the other options)."
        )
    )
    var profile: ArgumentText<VideoProfile>?

    @Option(
        parsing: .unconditional,
        help: "1, 1b, 1.1 to 6.2; for HEVC also 4-high to 6.2-high (default: the lowest that allows the stream)."
    )
    var level: ArgumentText<StreamLevel>?

    @Option(
        name: .customLong("keyframe-interval"),
        parsing: .unconditional,
        help: ArgumentHelp(
            "Longest distance between key frames, in frames or seconds, such as 150 or 5s (default: 5s).",
            valueName: "count"
        )
    )
    var keyFrameInterval: ArgumentText<KeyFrameInterval>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Most consecutive B-frames: auto, off or 1 to 16 (default: auto).", valueName: "count")
    )
    var bFrames: ArgumentText<BFrames>?

    @Flag(help: "Do not use B-frames as references.")
    var noBPyramid = false

    @Flag(help: "Let B-frames refer across I-frames. Containers do not list such an I-frame as a key frame.")
    var openGop = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("H.264: auto, cavlc or cabac (default: auto).", valueName: "mode")
    )
    var entropy: ArgumentText<EntropyMode>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Slices per picture: 1 to 256 (default: 1).", valueName: "count")
    )
    var slices: ArgumentText<WholeNumber>?

    @Flag(
        help:
            "Refresh the picture by a wave of intra blocks in each key-frame interval, instead of by key frames. Disables B-frames."
    )
    var intraRefresh = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Temporal layers: 1 to 3. Receivers can drop the upper ones. GPUs only (default: 1).",
            valueName: "count"
        )
    )
    var temporalLayers: ArgumentText<WholeNumber>?

    @Flag(help: "Insert access unit delimiters.")
    var aud = false
}

/// The encoder and its settings.
struct EncoderArguments: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "auto, software, a render node such as /dev/dri/renderD128, or its PCI address (0000:03:00.0). Repeat the "
                + "option to try several nodes in that order (default: auto).",
            valueName: "device"
        )
    )
    var device: [ArgumentText<DeviceChoice>] = []

    @Flag(help: "Use the GPU with the lowest load.")
    var spread = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Do not use a GPU that already has this many sessions of this user: 1 to 1000 (default: unlimited).",
            valueName: "count"
        )
    )
    var maxSessions: ArgumentText<WholeNumber>?

    @Flag(help: "Fail instead of falling back to the CPU.")
    var requireHardware = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Where the encoder runs: in-process, process (in a helper, which can crash or hang without harm), or auto: "
                + "GPU encoders in a helper, software encoders in process (default: auto).",
            valueName: "mode"
        )
    )
    var isolation: ArgumentText<EncoderIsolation>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Replace an encoder that makes no progress for this many seconds: 0.1 to 3600 (default: 60).",
            valueName: "seconds"
        )
    )
    var timeout: ArgumentText<PlainNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Software: ultrafast, superfast, veryfast, faster, fast, medium, slow, slower, veryslow or placebo "
                + "(default: medium).",
            valueName: "name"
        )
    )
    var preset: ArgumentText<SoftwareEncoderOptions.Preset>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Software: film, animation, grain, stillimage, psnr, ssim, fastdecode or zerolatency (default: none).",
            valueName: "name"
        )
    )
    var tune: ArgumentText<SoftwareEncoderOptions.Tuning>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Software: number of threads, 0 to 128 (default: 0, automatic).", valueName: "count")
    )
    var threads: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Software: newest vector instructions to use: auto, avx2 or sse2 (default: auto). With AVX-512, x264 does not "
                + "always produce the same stream twice.",
            valueName: "name"
        )
    )
    var asm: ArgumentText<SoftwareEncoderOptions.InstructionSet>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "GPU: quality against speed, from 1 (best quality) to the driver's fastest level (default: the driver's).",
            valueName: "level"
        )
    )
    var qualityLevel: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "GPU: on requires the low-power encoder, off requires the full encoder, auto selects the one that supports "
                + "more of the request (default: auto).",
            valueName: "choice"
        )
    )
    var lowPower: ArgumentText<HardwareEncoderOptions.LowPower>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "GPU: frames in flight, 1 to 16 (default: 4; always 1 with --low-latency).",
            valueName: "frames"
        )
    )
    var asyncDepth: ArgumentText<WholeNumber>?

    @Flag(
        help: ArgumentHelp(
            "If another encoder must take over, encode again on the CPU from the beginning, so that the output has the "
                + "same parameter sets throughout."
        )
    )
    var singleEncoder = false

    @Flag(help: "Encode each frame without delay: no lookahead and no B-frames.")
    var lowLatency = false

    @Flag(help: "Drop frames instead of falling behind; files are read in real time.")
    var realtime = false
}
