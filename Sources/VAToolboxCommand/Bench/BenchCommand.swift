// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport
import EncodingBenchmark

/// `vatoolbox bench`.
struct BenchCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measure encoders (speed, latency, quality, cost) and decoders.",
        usage: "vatoolbox bench [--quick | --plan <file>] [options]",
        discussion: """
            Separate the items of a list by commas. Exit status: 0 success, even if some encoders failed; 1 failure; 2 invalid \
            command line or plan; 130 interrupted, continue with --resume.
            """,
        subcommands: [BenchDecodersCommand.self, BenchCompareCommand.self, BenchReportCommand.self]
    )

    @OptionGroup(title: "Plan options") var plan: BenchPlanArguments

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The folder for the results (default: a new one, named after the time).",
            valueName: "folder"
        ),
        completion: .directory
    )
    var output: String?

    @Flag(help: "Continue the interrupted benchmark in the output folder.")
    var resume = false

    @Flag(help: "List the runs without executing them.")
    var list = false

    @Flag(help: "Keep the coded streams in the output folder.")
    var keepStreams = false

    @Flag(name: .shortAndLong, help: "Do not print progress and notes.")
    var quiet = false
}

/// The plan of a benchmark.
struct BenchPlanArguments: ParsableArguments, Sendable {
    @Flag(help: "First impression in about a minute: one small clip, each point once.")
    var quick = false

    @Option(
        help: ArgumentHelp("A plan in YAML or JSON; other options override it.", valueName: "file"),
        completion: .file()
    )
    var plan: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "\(EncoderWord.allowedText) (default: \(BenchmarkPlan.usualEncoders.joined(separator: ","))).",
            valueName: "list"
        )
    )
    var encoders: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("\(BenchmarkClip.allowedText) (default: mixed).", valueName: "list")
    )
    var clips: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Frame sizes in pixels (default: 1280x720; with --quick 640x360).", valueName: "list")
    )
    var size: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Bitrates such as 2M, qualities such as crf=23, or quantizers such as qp=30 (default: four bitrates per size).",
            valueName: "list"
        )
    )
    var points: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("\(BenchmarkMode.allowedText) (default: throughput).", valueName: "list")
    )
    var modes: String?

    @Option(parsing: .unconditional, help: ArgumentHelp("Frames per second (default: 30).", valueName: "rate"))
    var fps: String?

    @Option(parsing: .unconditional, help: ArgumentHelp("Frames per run (default: 300).", valueName: "count"))
    var frames: ArgumentText<WholeNumber>?

    @Option(parsing: .unconditional, help: ArgumentHelp("Bits per sample: 8 or 10 (default: 8).", valueName: "bits"))
    var bitDepth: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Measured runs of each combination (default: 3).", valueName: "count")
    )
    var repeats: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Warm-up runs of each combination, which are not counted (default: 1).", valueName: "count")
    )
    var warmups: ArgumentText<WholeNumber>?

    @Flag(help: "Also find how many simultaneous streams each encoder sustains in real time.")
    var density = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Price of this machine per hour, in any currency, to compute the cost of a stream.",
            valueName: "price"
        )
    )
    var price: ArgumentText<PlainNumber>?
}

/// Performs one encode of a benchmark; started by `vatoolbox bench`.
struct BenchRunCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "bench-run",
        abstract: "Run one encode of a benchmark.",
        shouldDisplay: false
    )

    @Argument(help: "The file with the request.")
    var request: String

    @Argument(help: "The file for the result.")
    var record: String
}
