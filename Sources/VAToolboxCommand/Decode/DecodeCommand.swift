// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport
import MediaIO
import MediaTypes
import Transcoding
import VAToolbox

/// `vatoolbox decode`.
struct DecodeCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "decode",
        abstract: "Decode H.264 or HEVC to uncompressed pictures, or only to see whether it can be decoded.",
        usage: "vatoolbox decode <input> -o <output> [options]",
        discussion: """
            The pictures are those of the input's main video, in presentation order. YUV4MPEG2 holds them as they are decoded; \
            PNG files hold them upright, in red, green and blue or in grey levels. Exit status: 0 success; 1 failure; \
            2 invalid command line; 3 success, but part of the input is damaged or was lost because a GPU failed; 130 interrupted, the output contains what \
            was decoded until then.
            """
    )

    @Argument(
        help: "A file or URL that FFmpeg can read, or - for standard input.",
        completion: .file()
    )
    var input: String

    @OptionGroup(title: "Output options") var output: DecodeOutputArguments
    @OptionGroup(title: "Decoder options") var decoder: DecoderArguments
    @OptionGroup(title: "Input options") var source: DecodeInputArguments
    @OptionGroup(title: "Report options") var report: ReportArguments
}

/// The output.
struct DecodeOutputArguments: ParsableArguments, Sendable {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The YUV4MPEG2 file to write (.y4m), - for standard output, or null to discard the pictures; or PNG files such "
                + "as frames-%04d.png, numbered from 1 on, or one .png file for the first picture.",
            valueName: "path"
        ),
        completion: .file()
    )
    var output: String

    @Flag(help: "Overwrite existing output files.")
    var overwrite = false
}

/// How it is decoded.
struct DecoderArguments: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "auto: a GPU if one decodes the input, otherwise the CPU; hardware: a GPU; software: the CPU (default: auto).",
            valueName: "decoder"
        )
    )
    var decoder: ArgumentText<DecoderChoice>?

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "auto, software, a render node such as /dev/dri/renderD128, or its PCI address (0000:03:00.0). Repeat the "
                + "option to try several nodes in that order (default: auto).",
            valueName: "device"
        )
    )
    var device: [ArgumentText<DeviceChoice>] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Threads on the CPU, 0 to 64; 0 is one per processor (default: 0).",
            valueName: "count"
        )
    )
    var decoderThreads: ArgumentText<WholeNumber>?

    @Flag(help: "Leave out the pictures to which no other refers, for an overview in less time.")
    var skipDisposable = false
}

extension DecoderArguments {
    /// Returns the decoders that may be used.
    func policy() throws(MediaError) -> DevicePolicy {
        let choice = try decoder?.value(of: "--decoder") ?? .auto
        let policy = try device.policy(requiringHardware: choice == .hardware ? "--decoder hardware" : nil)
        guard choice == .software else { return policy }
        if case .devices = policy, let node = device.first {
            throw contradiction("--decoder software", "--device \(node.text)")
        }
        return .requireSoftware
    }
}

/// The input and the part of it that is decoded.
struct DecodeInputArguments: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The time of the first picture: seconds or [HH:]MM:SS[.fff]. Decoding begins at the key frame before it.",
            valueName: "time"
        )
    )
    var start: ArgumentText<ClockTime>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How much to decode from --start on: seconds or [HH:]MM:SS[.fff].", valueName: "time")
    )
    var duration: ArgumentText<ClockTime>?

    @Option(help: ArgumentHelp("FFmpeg's name of the input format (default: detected).", valueName: "name"))
    var inputFormat: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Raw H.264 and HEVC: frames per second, such as 25 or 30000/1001 (default: that of the SPS).",
            valueName: "rate"
        )
    )
    var inputFps: ArgumentText<Rational>?
}

extension DecodeCommand {
    /// Returns the request of the command line.
    ///
    /// - Throws: `invalidArgument` for invalid values and contradictory options.
    func request() throws(MediaError) -> DecodeRequest {
        try report.validateFlags()
        var request = DecodeRequest(input: input, output: try requestedOutput())
        request.inputFormat = source.inputFormat
        request.inputFrameRate = try source.inputFps?.value(of: "--input-fps")
        request.start = try source.start?.value(of: "--start").time
        request.duration = try source.duration?.value(of: "--duration").time
        request.options.policy = try decoder.policy()
        request.options.threadCount = try decoder.decoderThreads?.value(of: "--decoder-threads").value ?? 0
        request.options.skipsDisposableSamples = decoder.skipDisposable
        return request
    }

    private func requestedOutput() throws(MediaError) -> DecodeRequest.Output {
        if output.output == ContainerFormat.null.rawValue { return .discarded }
        if output.output.lowercased().hasSuffix(".png") {
            _ = try FileNamePattern(output.output)
            return .png(path: output.output, overwrite: output.overwrite)
        }
        if output.output != ContainerFormat.standardOutput, !output.output.lowercased().hasSuffix(".y4m") {
            throw MediaError(
                .invalidArgument,
                "the format of the output is not known",
                given: output.output,
                allowed: "a name that ends with .y4m or .png, - or null"
            )
        }
        return .y4m(path: output.output, overwrite: output.overwrite)
    }
}
