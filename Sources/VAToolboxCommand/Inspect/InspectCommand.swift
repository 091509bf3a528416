// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport
import Glibc
import MediaIO
import MediaTypes

/// `vatoolbox inspect`.
struct InspectCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Show what a media file has: container, tracks, colour, chapters, and what is wrong with it.",
        usage: "vatoolbox inspect <input> [options]",
        discussion: """
            Only headers, the index and the beginning are read, and the first pictures decoded, so that it takes as long for a \
            film as for a clip. Exit status: 0 success; 1 failure, also if the input is no media file; 2 invalid command line; \
            3 success, but part of the input is missing or damaged; 130 interrupted.
            """
    )

    @Argument(
        help: "A file or URL that FFmpeg can read, or - for standard input.",
        completion: .file()
    )
    var input: String

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

    @OptionGroup var limits: InputLimitArguments

    @Flag(help: "Print the report as one JSON document.")
    var json = false
}

/// One run of `vatoolbox inspect`, from the command line to the exit status.
final class InspectJob: Sendable {
    private let command: InspectCommand
    /// The console, the document and the signals.
    let base: FileJob

    init(_ command: InspectCommand) {
        self.command = command
        var report = ReportArguments()
        (report.json, report.quiet, report.verbose, report.progress) = (command.json, false, false, nil)
        base = FileJob([report], usesStandardOutput: false, ending: "ending the inspection")
    }

    /// Inspects the input and prints the report on standard output.
    func run() -> ExitStatus {
        let cancellation = Cancellation()
        base.begin { cancellation.cancel() }
        do throws(MediaError) {
            var options = MediaInspector.Options()
            options.format = command.inputFormat
            options.limits = try command.limits.limits()
            options.frameRate = try command.inputFps?.value(of: "--input-fps")
            if let rate = options.frameRate, !rate.isPositive {
                throw MediaError(
                    .invalidArgument,
                    "--input-fps is out of range",
                    given: command.inputFps?.text,
                    allowed: "above zero, such as 25 or 30000/1001"
                )
            }
            let report = try MediaInspector.report(on: command.input, options: options, cancellation: cancellation)
            let outcome = InspectOutcome(input: command.input, report: report)
            if command.json { return base.deliver(outcome.document, outcome.status) }
            let width = min(max(Terminal.width(STDOUT_FILENO) ?? 80, 40), 100)
            return Terminal.write(outcome.text(width: width), to: STDOUT_FILENO) ? outcome.status : .failed
        } catch {
            return base.fail(error)
        }
    }
}
