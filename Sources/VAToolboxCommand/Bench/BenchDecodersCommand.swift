// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport
import EncodingBenchmark
import MediaTypes

/// `vatoolbox bench decoders`.
struct BenchDecodersCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: name,
        abstract: "Measure decoders: GPUs and the CPU, with the video of a file.",
        usage: "vatoolbox bench decoders <input> [options]",
        discussion: """
            The samples of the input's main video are read into memory first. Each GPU is measured twice: with its pictures \
            copied to memory (download), and with pictures that stay on the device (zero-copy). The frames of every decoder \
            are compared with those of the CPU. Exit status: 0 success; 1 failure, or the frames of a GPU differ; 2 invalid \
            command line; 130 interrupted.
            """,
        version: VAToolboxCommand.version
    )

    @Argument(
        help: "A file or URL with H.264 or HEVC that FFmpeg can read, or - for standard input.",
        completion: .file()
    )
    var input: String

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "auto: all GPUs; software: none; or a render node such as /dev/dri/renderD128, or its PCI address "
                + "(0000:03:00.0), which must decode the input. Repeat the option for several nodes (default: auto).",
            valueName: "device"
        )
    )
    var device: [ArgumentText<DeviceChoice>] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Samples to decode in each run, at most (default: 300).", valueName: "count")
    )
    var frames: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Measured runs of each decoder, after one that is not counted (default: 6).",
            valueName: "count"
        )
    )
    var repeats: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Threads of the software decoder, 0 to 64; 0 is one per processor (default: 0).",
            valueName: "count"
        )
    )
    var decoderThreads: ArgumentText<WholeNumber>?

    @OptionGroup(title: "Report options") var report: ReportArguments

    static let name = "decoders"
}

extension BenchDecodersCommand {
    /// Parses a command line of `bench decoders`, without `vatoolbox`; `nil` if it is one of another command.
    ///
    /// The parser would give options that `bench` has as well, such as `--frames`, to `bench`, wherever they stand.
    ///
    /// - Throws: The error of the parser.
    init?(commandLine words: [String]) throws {
        guard words.count > 1, words[0] == BenchCommand.configuration.commandName, words[1] == Self.name else {
            return nil
        }
        do {
            self = try Self.parse(Array(words.dropFirst(2)))
        } catch {
            // The text that was asked for, such as help, is that of this command.
            guard Self.exitCode(for: error) == .success else { throw error }
            throw CleanExit.message(Self.fullMessage(for: error))
        }
    }

    /// Returns what is to be measured.
    ///
    /// - Throws: `invalidArgument` for invalid values and contradictory options.
    func options() throws(MediaError) -> DecodersBenchmark.Options {
        try report.validateFlags()
        var options = DecodersBenchmark.Options(input: input, program: "vatoolbox \(VAToolboxCommand.version)")
        options.devices = try device.policy(requiringHardware: nil)
        if let frames { options.samples = try frames.value(of: "--frames", in: 1...1_000_000) }
        if let repeats { options.repeats = try repeats.value(of: "--repeats", in: 1...1000) }
        if let decoderThreads { options.threadCount = try decoderThreads.value(of: "--decoder-threads", in: 0...64) }
        return options
    }
}
