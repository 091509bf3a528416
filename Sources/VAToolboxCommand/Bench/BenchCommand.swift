// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import EncodingBenchmark

/// `vatoolbox bench`.
struct BenchCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measure encoders: speed, latency, quality, cost.",
        usage: "vatoolbox bench [--quick | --plan <file>] [options]",
        discussion: """
            Lists are divided by commas. Exit status: 0 done, also where single encoders failed; 1 failed; 2 the command line \
            or the plan is wrong; 130 interrupted, and --resume goes on.
            """,
        subcommands: [BenchCompareCommand.self, BenchReportCommand.self]
    )

    @OptionGroup(title: "Plan options") var plan: BenchPlanArguments

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The folder for results (default: one named after the time).", valueName: "folder"),
        completion: .directory
    )
    var output: String?

    @Flag(help: "Go on with what the output folder has.")
    var resume = false

    @Flag(help: "Print the runs and do nothing else.")
    var list = false

    @Flag(help: "Keep the coded streams in the output folder.")
    var keepStreams = false

    @Flag(name: .shortAndLong, help: "No progress and no notes.")
    var quiet = false
}

/// What is measured.
struct BenchPlanArguments: ParsableArguments, Sendable {
    @Flag(help: "A look in a minute or so: one small clip, each point once.")
    var quick = false

    @Option(
        help: ArgumentHelp("A plan in YAML or JSON; other options change it.", valueName: "file"),
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
        help: ArgumentHelp("Sizes in pixels (default: 1280x720; 640x360 with --quick).", valueName: "list")
    )
    var size: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Bitrates such as 2M, or qualities as crf=23, or quantizers as qp=30 (default: four rates for each size).",
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

    @Option(parsing: .unconditional, help: ArgumentHelp("Frames of a run (default: 300).", valueName: "count"))
    var frames: ArgumentText<WholeNumber>?

    @Option(parsing: .unconditional, help: ArgumentHelp("Bits of a sample: 8 or 10 (default: 8).", valueName: "bits"))
    var bitDepth: ArgumentText<WholeNumber>?

    @Option(parsing: .unconditional, help: ArgumentHelp("How often each is measured (default: 3).", valueName: "count"))
    var repeats: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How often each runs before that (default: 1).", valueName: "count")
    )
    var warmups: ArgumentText<WholeNumber>?

    @Flag(help: "Find out how many streams each encoder keeps up with in real time.")
    var density = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("What an hour of this machine costs, for the cost of a stream.", valueName: "price")
    )
    var price: ArgumentText<PlainNumber>?
}

/// Carries out one encode of a benchmark; started by `vatoolbox bench`.
struct BenchRunCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "bench-run",
        abstract: "Carry out one encode of a benchmark.",
        shouldDisplay: false
    )

    @Argument(help: "The file that says what to do.")
    var request: String

    @Argument(help: "The file for what came of it.")
    var record: String
}
