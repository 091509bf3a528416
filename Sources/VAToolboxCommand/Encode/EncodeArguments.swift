// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import MediaIO
import MediaTypes
import VAToolbox

/// Where the video comes from.
struct InputArguments: ParsableArguments, Sendable {
    @Option(parsing: .unconditional, help: ArgumentHelp("Begin here: seconds or [HH:]MM:SS[.fff].", valueName: "time"))
    var start: ArgumentText<ClockTime>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Encode this much: seconds or [HH:]MM:SS[.fff].", valueName: "time")
    )
    var duration: ArgumentText<ClockTime>?

    @Option(
        parsing: .unconditional,
        help: "Interlaced video: auto or off (default: auto, one frame of each two fields)."
    )
    var deinterlace: ArgumentText<MediaSource.Deinterlacing>?

    @Option(help: ArgumentHelp("The input's format by FFmpeg's name (default: found out).", valueName: "name"))
    var inputFormat: String?

    @Option(parsing: .unconditional, help: ArgumentHelp("Raw video: its size in pixels.", valueName: "WxH"))
    var inputSize: ArgumentText<PictureSize>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Raw video: frames per second, such as 25 or 30000/1001.", valueName: "rate")
    )
    var inputFps: ArgumentText<Rational>?

    @Option(help: ArgumentHelp("Raw video: pixel format, such as yuv420p, nv12 or p010.", valueName: "name"))
    var inputPixelFormat: String?
}

/// Where the video goes.
struct OutputArguments: ParsableArguments, Sendable {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The file to write (\(OutputArguments.extensions)), - for standard output, null for nothing.",
            valueName: "path"
        ),
        completion: .file()
    )
    var output: String

    @Option(
        help: ArgumentHelp("\(OutputArguments.formats) (default: by extension).", valueName: "name"),
        completion: .list(ContainerFormat.allCases.map(\.rawValue))
    )
    var format: String?

    @Flag(help: "Write MP4 and MOV in fragments, playable while they grow.")
    var fragmented = false

    @Flag(help: "Replace an existing output.")
    var overwrite = false

    private static let formats = ContainerFormat.allCases.map(\.rawValue).joined(separator: ", ")
    private static let extensions =
        ContainerFormat.allCases.compactMap(\.fileExtensions.first).map { ".\($0)" }.joined(separator: " ")
}

/// How bits are spent.
struct RateControlArguments: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The kind by the drivers' name: cqp (--qp), cbr, vbr (--bitrate with --peak-bitrate), avbr (--bitrate "
                + "without a limit on peaks), icq (--crf) or qvbr (--crf with --peak-bitrate). Of what is not given, "
                + "qp and crf are 23, and the peak is 1.5 times the bitrate (default: what the other options say).",
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
            "Limit on peaks in bit/s (default: none; 1.5 times the bitrate with --b-frames off).",
            valueName: "rate"
        )
    )
    var peakBitrate: ArgumentText<BitRate>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Seconds over which peaks, or a constant bitrate, are measured; 0.01 to 60 (default: 1).",
            valueName: "seconds"
        )
    )
    var peakWindow: ArgumentText<PlainNumber>?

    @Flag(help: "Keep to the bitrate all the time, padded where needed.")
    var cbr = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Constant quality instead: 0 to 51, lower is better.", valueName: "quality")
    )
    var crf: ArgumentText<PlainNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Constant quantizer instead: 0 to 51, lower is better.", valueName: "quantizer")
    )
    var qp: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The lowest quantizer to use: 0 to 51 (default: the encoder's).", valueName: "quantizer")
    )
    var minQp: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The highest quantizer to use: 0 to 51 (default: the encoder's).", valueName: "quantizer")
    )
    var maxQp: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The most bytes of a frame, such as 200k or 1.5M; GPUs that have such a limit (default: none).",
            valueName: "bytes"
        )
    )
    var maxFrameSize: ArgumentText<ByteCount>?
}

/// What the pictures look like.
struct PictureArguments: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Size in pixels; odd numbers are rounded down (default: the input's).", valueName: "WxH")
    )
    var size: ArgumentText<PictureSize>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Fit another shape into the size: letterbox, aspect-fill or stretch (default: letterbox).",
            valueName: "mode"
        )
    )
    var fit: ArgumentText<ScalingMode>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Constant frame rate, such as 25 or 30000/1001; 0.01 to 1000 (default: the input's times).",
            valueName: "rate"
        )
    )
    var fps: ArgumentText<Rational>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Bits per sample: 8 or 10 (default: the profile's; HEVC keeps ten bits of the input, else 8).",
            valueName: "bits"
        )
    )
    var bitDepth: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "A region whose quantizer differs by the offset, -51 to 51; below zero is better. In pixels of the input's "
                + "picture as it is shown. Can be repeated; where regions overlap, the first one counts.",
            valueName: "x,y,width,height,offset"
        )
    )
    var roi: [ArgumentText<RegionOfInterest>] = []
}

/// How the stream is built.
struct StreamArguments: ParsableArguments, Sendable {
    @Option(parsing: .unconditional, help: "auto, h264 or hevc (default: auto: HEVC on a GPU that has it, else H.264).")
    var codec: ArgumentText<CodecSelection>?

    @Option(
        parsing: .unconditional,
        help: "baseline, main, high or high10; main or main10 of HEVC (default: what suits the other options)."
    )
    var profile: ArgumentText<VideoProfile>?

    @Option(
        parsing: .unconditional,
        help: "1, 1b, 1.1 to 6.2; of HEVC also 4-high to 6.2-high (default: the lowest that the stream keeps to)."
    )
    var level: ArgumentText<StreamLevel>?

    @Option(
        name: .customLong("keyframe-interval"),
        parsing: .unconditional,
        help: ArgumentHelp("At most this many frames, or seconds, such as 150 or 5s (default: 5s).", valueName: "count")
    )
    var keyFrameInterval: ArgumentText<KeyFrameInterval>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("auto, off or at most 1 to 16 in a row (default: auto).", valueName: "count")
    )
    var bFrames: ArgumentText<BFrames>?

    @Flag(help: "B-frames are no references.")
    var noBPyramid = false

    @Flag(help: "B-frames may refer across an I-frame, which then is no key frame to containers.")
    var openGop = false

    @Option(parsing: .unconditional, help: ArgumentHelp("auto, cavlc or cabac (default: auto).", valueName: "mode"))
    var entropy: ArgumentText<EntropyMode>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Slices of a picture: 1 to 256 (default: 1).", valueName: "count")
    )
    var slices: ArgumentText<WholeNumber>?

    @Flag(
        help: "A wave of intra blocks in each key-frame interval instead of key frames; without B-frames."
    )
    var intraRefresh = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "1 to 3 layers, of which the upper ones can be dropped; GPUs only (default: 1).",
            valueName: "count"
        )
    )
    var temporalLayers: ArgumentText<WholeNumber>?

    @Flag(help: "Begin every access unit with a delimiter.")
    var aud = false
}

/// Who encodes, and in which mode.
struct EncoderArguments: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "auto, software, or a render node such as /dev/dri/renderD128, or its PCI address (0000:03:00.0); several "
                + "nodes, each with the option, are tried in their order (default: auto).",
            valueName: "device"
        )
    )
    var device: [ArgumentText<DeviceChoice>] = []

    @Flag(help: "Of several GPUs take the one that has the least to do.")
    var spread = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Leave a GPU that works for as many sessions of this user to others: 1 to 1000 (default: no limit).",
            valueName: "count"
        )
    )
    var maxSessions: ArgumentText<WholeNumber>?

    @Flag(help: "Fail rather than encode on the CPU.")
    var requireHardware = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Where the encoder works: auto, in-process, or process, a helper that may crash or hang alone "
                + "(default: auto: software in process).",
            valueName: "mode"
        )
    )
    var isolation: ArgumentText<EncoderIsolation>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long an encoder may show no progress before another takes over, from 0.1 to 3600 (default: 60).",
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
        help: ArgumentHelp("Software: threads, 0 to 128 (default: 0, as suits the machine).", valueName: "count")
    )
    var threads: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Software: vector instructions to use at most: auto, avx2 or sse2 (default: auto). x264 with AVX-512 does "
                + "not always give the same stream twice.",
            valueName: "name"
        )
    )
    var asm: ArgumentText<SoftwareEncoderOptions.InstructionSet>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "GPU: speed against compression, from 1, the best, to the driver's highest number (default: the driver's).",
            valueName: "level"
        )
    )
    var qualityLevel: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "GPU: on for its low-power encoder or none, off for its full encoder or none, auto for the one that does "
                + "more of what was asked for (default: auto).",
            valueName: "choice"
        )
    )
    var lowPower: ArgumentText<HardwareEncoderOptions.LowPower>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "GPU: frames that it has at a time, 1 to 16 (default: 4; 1 with --low-latency, which takes no more).",
            valueName: "frames"
        )
    )
    var asyncDepth: ArgumentText<WholeNumber>?

    @Flag(help: "Code every frame at once: no lookahead, no B-frames.")
    var lowLatency = false

    @Flag(help: "Drop frames rather than fall behind; files are read at the pace of their times.")
    var realtime = false
}

/// What is said meanwhile and at the end.
struct ReportArguments: ParsableArguments, Sendable {
    @Flag(help: "Print the result as one JSON document on standard output.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print only warnings and errors.")
    var quiet = false

    @Flag(name: .shortAndLong, help: "Print also what the encoder and FFmpeg log.")
    var verbose = false
}
