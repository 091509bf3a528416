// SPDX-License-Identifier: GPL-2.0-or-later

package import ArgumentParser
package import ServiceAPI

/// `vatoolbox submit`.
package struct SubmitCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "submit",
        abstract: "Send files to the encoding service, and on request wait for the results.",
        discussion: """
            Prints the ID of each job. With --wait, the exit status is that of `vatoolbox encode`: 0 if all jobs \
            succeed, 3 if damage of an input was accepted, 1 if one fails. It is 2 if the command line is not valid, an input cannot \
            be read or an output exists. Ctrl-C cancels the jobs, and the status is 130.
            """
    )

    @Argument(
        help:
            "Files on this machine, URLs that the service fetches, and s3://BUCKET/KEY. Each becomes a job.",
        completion: .file()
    )
    package var files: [String] = []

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The name of a result: a video file, .m3u8 (with --ladder), .png with %d (thumbnails) or .vtt (sprite). {name} "
                + "is the name of the input without extension. May be repeated.",
            valueName: "name"
        )
    )
    package var output: [String] = []

    @OptionGroup(title: "Input options") package var source: SubmitInputOptions
    @OptionGroup(title: "Video options") package var video: SubmitVideoOptions
    @OptionGroup(title: "Audio options") package var audio: SubmitAudioOptions
    @OptionGroup(title: "Output options") package var outputs: SubmitOutputOptions
    @OptionGroup(title: "Job options") package var job: SubmitJobOptions
    @OptionGroup(title: "Result options") package var results: SubmitResultOptions
    @OptionGroup(title: "Service options") package var connection: ConnectionOptions

    package init() {}
}

/// Inputs that are not on this machine, and how inputs are read.
package struct SubmitInputOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "A file that the service has: ROOT/relative/path, below its media root ROOT. May be repeated.",
            valueName: "path"
        )
    )
    package var inputPath: [String] = []

    @Option(help: ArgumentHelp("A file that the service fetches. May be repeated.", valueName: "url"))
    package var inputUrl: [String] = []

    @Option(help: ArgumentHelp("Where to begin: seconds or [HH:]MM:SS[.fff].", valueName: "time"))
    package var start: TimeArgument?

    @Option(help: ArgumentHelp("How much to encode: seconds or [HH:]MM:SS[.fff].", valueName: "time"))
    package var duration: TimeArgument?

    @Option(help: "Interlaced video: auto makes one frame from two fields, off keeps them (default: auto).")
    package var deinterlace: Deinterlacing?

    @Flag(help: "Publish the result even if part of the input cannot be read; with --wait, the exit status is then 3.")
    package var acceptDamage = false

    package init() {}
}

/// How the video of all outputs is encoded, by the names of `vatoolbox encode`.
package struct SubmitVideoOptions: ParsableArguments, Sendable {
    @Option(help: "Codec; auto is HEVC on a GPU that encodes it, otherwise H.264 (default: auto).")
    package var codec: VideoCodecChoice?

    @Option(help: ArgumentHelp("Constant quality: 0 to 51, lower is better.", valueName: "quality"))
    package var crf: Double?

    @Option(
        help: ArgumentHelp(
            "Quality to reach with the smallest file, instead of a bitrate: ssim:0.98, psnr:42 or vmaf:95; not for playlists.",
            valueName: "metric:score"
        )
    )
    package var target: TargetArgument?

    @Option(help: "If no quality reaches the target: fail, or best for the best one (default: fail).")
    package var targetShortfall: TargetShortfall?

    @Option(help: ArgumentHelp("Average bitrate in bit/s, such as 5M or 800k.", valueName: "rate"))
    package var bitrate: RateArgument?

    @Option(help: ArgumentHelp("Highest bitrate in bit/s.", valueName: "rate"))
    package var peakBitrate: RateArgument?

    @Option(help: ArgumentHelp("Size in pixels, such as 1280x720 (default: the input's).", valueName: "WxH"))
    package var size: SizeArgument?

    @Option(help: "How to fit an input of another aspect ratio (default: letterbox).")
    package var fit: FitArgument?

    @Option(help: ArgumentHelp("Constant frame rate, such as 25 or 30000/1001.", valueName: "rate"))
    package var fps: String?

    @Option(help: "Speed of software encoders.")
    package var preset: EncoderPreset?

    @Option(help: "What software encoders are tuned for.")
    package var tune: EncoderTuning?

    @Option(help: "Profile of the codec.")
    package var profile: VideoProfile?

    @Option(
        name: .customLong("keyframe-interval"),
        help: ArgumentHelp("Seconds between key frames, such as 5s.", valueName: "seconds")
    )
    package var keyFrameInterval: IntervalArgument?

    @Option(help: ArgumentHelp("Most consecutive B-frames: 0 to 16.", valueName: "count"))
    package var bFrames: Int?

    @Option(help: "Bits per sample.")
    package var bitDepth: BitDepthChoice?

    @Option(help: "Chroma format.")
    package var chroma: ChromaChoice?

    package init() {}

    package mutating func validate() throws {
        guard let targetShortfall, target == nil else { return }
        throw ValidationError("--target-shortfall needs --target (given \(targetShortfall.rawValue))")
    }
}

/// How the audio of all outputs is encoded.
package struct SubmitAudioOptions: ParsableArguments, Sendable {
    @Option(help: "auto copies what the container supports, and encodes the rest as AAC (default: auto).")
    package var audio: AudioCodecChoice?

    @Option(help: ArgumentHelp("Bitrate of AAC or Opus, such as 128k.", valueName: "rate"))
    package var audioBitrate: RateArgument?

    @Option(help: ArgumentHelp("Sample rate in Hz.", valueName: "rate"))
    package var audioRate: Int?

    @Option(help: ArgumentHelp("Number of channels: 1 to 8.", valueName: "count"))
    package var audioChannels: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Loudness of each track in LUFS: -70 to 0, such as -23.", valueName: "LUFS")
    )
    package var audioLoudness: Double?

    package init() {}
}

/// Files, playlists and pictures.
package struct SubmitOutputOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "Variants of a playlist, or several files if their name contains {height}: heights with optional bitrates, "
                + "such as 1080p:5M,720p,480p.",
            valueName: "rungs"
        )
    )
    package var ladder: LadderArgument?

    @Option(help: ArgumentHelp("Seconds of a segment of a playlist (default: 6).", valueName: "seconds"))
    package var segmentDuration: Double?

    @Option(help: "Format of segments (default: fmp4).")
    package var segmentFormat: SegmentFormat?

    @Flag(help: "Also write a manifest for MPEG-DASH next to a playlist.")
    package var dash = false

    @Flag(help: "Write fragmented MP4 or MOV.")
    package var fragmented = false

    @Option(help: ArgumentHelp("Seconds between thumbnails, or between pictures of a sprite.", valueName: "seconds"))
    package var interval: Double?

    @Option(help: ArgumentHelp("Width of thumbnails, or of pictures of a sprite.", valueName: "pixels"))
    package var pictureWidth: Int?

    @Option(help: ArgumentHelp("Fail if the luma PSNR of a frame is lower: 1 to 100.", valueName: "dB"))
    package var verifyPsnr: Double?

    @Option(
        help: ArgumentHelp(
            "Split the encode of each output file into this many tasks for all free workers: 2 to 64 (default: one task).",
            valueName: "count"
        )
    )
    package var parts: Int?

    @Option(
        name: .customLong("use-preset"),
        help: ArgumentHelp("Outputs that are stored in the service, instead of -o.", valueName: "name[@version]")
    )
    package var storedPreset: String?

    package init() {}
}

/// Queue, priority and limits.
package struct SubmitJobOptions: ParsableArguments, Sendable {
    @Option(help: ArgumentHelp("The queue (default: default).", valueName: "name"))
    package var queue: String?

    @Option(help: ArgumentHelp("0 to 100; higher ones run first (default: 50).", valueName: "number"))
    package var priority: Int?

    @Option(help: ArgumentHelp("Whose job it is; shares take fair turns.", valueName: "name"))
    package var share: String?

    @Option(help: ArgumentHelp("A label, by which jobs are found. May be repeated.", valueName: "key=value"))
    package var label: [LabelArgument] = []

    @Option(
        help: ArgumentHelp("auto, software, a render node, or its PCI address (default: auto).", valueName: "device")
    )
    package var device: String?

    @Flag(help: "Fail instead of encoding on the CPU.")
    package var requireHardware = false

    @Option(help: ArgumentHelp("How long each attempt may take.", valueName: "seconds"))
    package var timeLimit: Double?

    @Option(help: ArgumentHelp("How long results are kept after the end (default: 30 days).", valueName: "seconds"))
    package var retention: Double?

    @Option(
        help: ArgumentHelp(
            "Where the service copies the results to: s3://BUCKET/PREFIX, or ROOT/folder below a writable media root.",
            valueName: "place"
        )
    )
    package var destination: String?

    @Flag(help: "Replace other files at the destination.")
    package var destinationOverwrite = false

    @Option(
        help: ArgumentHelp(
            "Name of the store for s3:// addresses, as the service's settings have it (default: default, or the only one).",
            valueName: "name"
        )
    )
    package var store: String?

    @Option(help: ArgumentHelp("How often the job is tried: 1 to 10 (default: 3).", valueName: "count"))
    package var attempts: Int?

    package init() {}
}

/// What the command does after the submission.
package struct SubmitResultOptions: ParsableArguments, Sendable {
    @Flag(help: "Wait until all jobs have ended, and show how far they are.")
    package var wait = false

    @Option(
        help: ArgumentHelp("Wait, and download the results into this folder.", valueName: "folder"),
        completion: .directory
    )
    package var download: String?

    @Flag(help: "Overwrite files in that folder.")
    package var overwrite = false

    @Flag(help: "Tell what the jobs would do, and submit none. Files are uploaded, and deleted again.")
    package var dryRun = false

    @Flag(help: "Print jobs or plans as JSON, one per line, instead of the IDs of jobs.")
    package var json = false

    @Flag(name: .shortAndLong, help: "Show no progress, and no messages but errors.")
    package var quiet = false

    package init() {}
}
