// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
public import Logging
public import MediaIO
internal import MediaTypes
public import VAToolbox

/// What becomes of an output whose encoder is replaced by one with other parameter sets.
public enum EncoderChange: Sendable, Hashable {
    /// The next encoder continues; the container carries the new parameter sets as far as it can.
    case continues
    /// The output is encoded again from the beginning by a software encoder, so that it has the same parameter sets
    /// throughout. The input must be a regular file.
    case restarts
}

/// One output of a transcode, with its settings.
public struct OutputRequest: Sendable {
    /// The output: a path, `-` for standard output, or `null`.
    public var path: String
    /// The options for writing the output.
    public var sink: MediaSink.Options
    /// The settings for encoding the video.
    public var video: VideoSettings
    /// What happens to the audio tracks.
    public var audio: AudioSettings
    /// The options of the session.
    public var session: SessionOptions
    /// Whether the output is decoded and compared with what was encoded, before it appears under its name; see
    /// ``OutputVerification``. Only for regular files.
    public var isVerified = false
    /// The peak signal-to-noise ratio in dB, in `OutputVerification.PSNR.allowed`, that the luma of the output must reach
    /// against the input, for it to pass the verification; `nil` measures nothing. Up to 32 pictures are measured, evenly
    /// spread over the output, each against the input's picture in the size of the output. It needs ``isVerified``.
    public var leastPSNR: Double?
    /// The quality that the output must reach with as few bytes as possible; `nil` for the rate control of ``video``.
    /// The input must be a regular file. Of the rate control of ``video``, only the peak limit of a constant quality
    /// applies.
    public var target: QualityTarget?
    /// Measures ``target`` if this package does not.
    package var judge: QualityJudgeFactory?
    /// What happens if another encoder takes over.
    public var encoderChange = EncoderChange.continues

    /// If this output is a part of a longer one: the configuration of the whole. Then only the video is written.
    var configurationOfWhole: EncoderConfiguration?

    /// Makes the request of an output.
    public init(
        path: String,
        sink: MediaSink.Options = .init(),
        video: VideoSettings = .init(),
        audio: AudioSettings = .init(),
        session: SessionOptions = .init()
    ) {
        self.path = path
        self.sink = sink
        self.video = video
        self.audio = audio
        self.session = session
    }
}

/// The input, the outputs and the settings of a transcode.
///
/// The video is decoded once, whatever the number of outputs; audio that is encoded is decoded for each. The properties ``output``, ``sink``, ``video``, ``audio``
/// and ``session`` are those of the first output.
public struct TranscodeRequest: Sendable {
    /// The input: a path, or `-` for standard input.
    public var input: String
    /// The options for reading the input.
    public var source: MediaSource.Options
    /// The first output.
    public var first: OutputRequest
    /// Further outputs of the same input, such as the rungs of a ladder. Each has its own session, audio encoders and
    /// file; if one fails, the others go on.
    public var others: [OutputRequest] = []
    /// Where the video is decoded; see ``DecodingReport/reason`` for the reason of a choice.
    public var decoder = DecoderChoice.auto
    /// The presentation for HTTP Live Streaming whose variants the outputs are; `nil` if they are files.
    public var stream: StreamOptions?
    /// Whether frames are read in real time, no faster than they are shown, as from a live source.
    public var isPaced = false
    /// Receives the messages of libraries, drivers and helper processes for this job, so that each job of a process has
    /// its own log; see `SessionOptions.logger`, which takes precedence for encoders. FFmpeg's errors are warnings
    /// here, and its warnings are debug messages. `nil` leaves FFmpeg's messages to `MediaLog.logger`.
    public var logger: Logger?
    /// The loudness of the input, if it was measured for an earlier run.
    var levels: SoundLevels?

    /// Makes a request with one output.
    public init(
        input: String,
        source: MediaSource.Options = .init(),
        output: String,
        sink: MediaSink.Options = .init(),
        video: VideoSettings = .init(),
        session: SessionOptions = .init()
    ) {
        self.input = input
        self.source = source
        first = OutputRequest(path: output, sink: sink, video: video, session: session)
    }

    /// All outputs.
    public var outputs: [OutputRequest] { [first] + others }

    /// The path of the first output, `-` for standard output, or `null`.
    public var output: String {
        get { first.path }
        set { first.path = newValue }
    }
    /// The options for writing the first output.
    public var sink: MediaSink.Options {
        get { first.sink }
        set { first.sink = newValue }
    }
    /// The settings for encoding the video of the first output.
    public var video: VideoSettings {
        get { first.video }
        set { first.video = newValue }
    }
    /// What happens to the audio tracks in the first output.
    public var audio: AudioSettings {
        get { first.audio }
        set { first.audio = newValue }
    }
    /// The options of the session of the first output.
    public var session: SessionOptions {
        get { first.session }
        set { first.session = newValue }
    }

    /// Checks what can be checked without the input.
    ///
    /// - Throws: `invalidArgument` if two outputs have the same path, regions of interest differ, or a value is out of
    ///   range.
    func validate() throws(MediaError) {
        try stream?.validate(outputs)
        guard inputIsFile || outputs.allSatisfy({ $0.encoderChange == .continues }) else {
            throw MediaError(
                .invalidArgument,
                "an output that may be encoded again needs an input that can be read again",
                given: input,
                allowed: "a regular file"
            )
        }
        guard inputIsFile || outputs.allSatisfy({ $0.target == nil }) else {
            throw MediaError(
                .invalidArgument,
                "a quality target needs an input from which samples can be read",
                given: input,
                allowed: "a regular file"
            )
        }
        var paths: Set<String> = []
        for output in outputs {
            try output.video.validate()
            try output.audio.validate(input: input, isFile: inputIsFile)
            try output.target?.validate()
            guard output.path == ContainerFormat.null.rawValue || paths.insert(Self.plain(output.path)).inserted else {
                throw MediaError(
                    .invalidArgument,
                    "two outputs have the same path",
                    given: output.path,
                    allowed: "a different path for each output"
                )
            }
            guard !output.isVerified || output.sink.format != .null, !output.isVerified || output.path != "-" else {
                throw MediaError(
                    .invalidArgument,
                    "only files can be verified",
                    given: output.path,
                    allowed: "the path of a file"
                )
            }
            if let least = output.leastPSNR, !OutputVerification.PSNR.allowed.contains(least) || !output.isVerified {
                throw MediaError(
                    .invalidArgument,
                    output.isVerified
                        ? "the least PSNR is out of range" : "a PSNR is measured by the verification only",
                    given: "\(least) dB",
                    allowed: "\(Int(OutputVerification.PSNR.allowed.lowerBound)) to "
                        + "\(Int(OutputVerification.PSNR.allowed.upperBound)) dB, with a verification"
                )
            }
            // They are attached to the pictures, which all outputs share.
            guard output.video.regionsOfInterest == first.video.regionsOfInterest else {
                throw MediaError(
                    .invalidArgument,
                    "the outputs have different regions of interest",
                    allowed: "the same regions for all outputs"
                )
            }
        }
    }

    var inputIsFile: Bool {
        var status = stat()
        return input != "-" && stat(input, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Returns a path without components that have no effect.
    private static func plain(_ path: String) -> String {
        let parts = path.split(separator: "/").filter { $0 != "." }
        return (path.hasPrefix("/") ? "/" : "") + parts.joined(separator: "/")
    }

    /// The options of a source whose pictures suffice for every output.
    var demandedSource: MediaSource.Options {
        var result = first.video.demand(of: source)
        for output in others {
            let other = output.video.demand(of: source)
            result.maximumBitDepth = max(result.maximumBitDepth, other.maximumBitDepth)
            // `nil` preserves all colour.
            if let one = result.chromaFormat { result.chromaFormat = other.chromaFormat.map { max($0, one) } }
        }
        let encodesAudio = outputs.contains { if case .encode = $0.audio.rule { true } else { false } }
        if encodesAudio { result.audioPreroll = AudioConverter.preroll }
        let allowsGPU = outputs.contains { $0.session.policy != .requireSoftware }
        result.allowsOtherDecoder = decoder == .hardware || decoder == .auto && allowsGPU
        return result
    }
}
