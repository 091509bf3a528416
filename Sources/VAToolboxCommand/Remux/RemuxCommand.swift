// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport
import MediaIO
import MediaTypes
import Remuxing

/// `vatoolbox remux`.
struct RemuxCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "remux",
        abstract: "Copy the tracks of a file into another container, without decoding them.",
        usage: "vatoolbox remux <input> -o <output> [options]",
        discussion: """
            The summary lists everything that the output lacks. Exit status: 0 success; 1 failure; 2 invalid command line; \
            3 success, but part of the input could not be read; 130 interrupted, the output contains what was read until \
            then.
            """
    )

    @Argument(
        help: "A file or URL that FFmpeg can read, or - for standard input.",
        completion: .file()
    )
    var input: String

    @OptionGroup(title: "Output options") var output: RemuxOutputArguments
    @OptionGroup(title: "Input options") var source: RemuxInputArguments
    @OptionGroup(title: "Report options") var report: ReportArguments
}

/// The output and its container.
struct RemuxOutputArguments: ParsableArguments, Sendable {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The file to write (\(OutputArguments.extensions)), - for standard output, or null to discard it.",
            valueName: "path"
        ),
        completion: .file()
    )
    var output: String

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

    @Flag(help: "Overwrite an existing output file.")
    var overwrite = false
}

/// The input and the part of it that is copied.
struct RemuxInputArguments: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Where to begin: seconds or [HH:]MM:SS[.fff]. MP4 and MOV begin exactly there, others at the key frame before.",
            valueName: "time"
        )
    )
    var start: ArgumentText<ClockTime>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How much to copy from --start on: seconds or [HH:]MM:SS[.fff]. Only MP4 and MOV without fragments end exactly.",
            valueName: "time"
        )
    )
    var duration: ArgumentText<ClockTime>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The tracks to copy, by their numbers in the input from 0, in the order of the output, such as 0,2 (default: all).",
            valueName: "numbers"
        )
    )
    var tracks: ArgumentText<TrackNumbers>?

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

extension RemuxCommand {
    /// Returns the request of the command line.
    ///
    /// - Throws: `invalidArgument` for invalid values and contradictory options.
    func request() throws(MediaError) -> RemuxRequest {
        try report.validateFlags()
        var request = RemuxRequest(
            input: input,
            output: output.output,
            sink: try MediaSink.Options(
                path: output.output,
                format: output.format,
                isFragmented: output.fragmented,
                overwrite: output.overwrite
            )
        )
        request.inputFormat = source.inputFormat
        request.inputFrameRate = try source.inputFps?.value(of: "--input-fps")
        request.start = try source.start?.value(of: "--start").time
        request.duration = try source.duration?.value(of: "--duration").time
        request.tracks = try source.tracks?.value(of: "--tracks").numbers
        return request
    }
}
