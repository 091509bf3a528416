// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport
import EncodingBenchmark
import Glibc
import MediaTypes

/// `vatoolbox bench compare`.
struct BenchCompareCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract: "Show the significant changes between two reports.",
        discussion: """
            Repeats of the same point are paired. A figure has changed if the confidence interval of the median ratio excludes 1 \
            and the change exceeds the tolerance. Exit status: 0 nothing got worse; 1 something got worse; 2 the reports cannot \
            be read or compared.
            """
    )

    @Argument(help: ArgumentHelp("The earlier report.json.", valueName: "before"))
    var before: String

    @Argument(help: ArgumentHelp("The later report.json.", valueName: "after"))
    var after: String

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Ignore changes up to this many percent (default: 2).", valueName: "percent")
    )
    var tolerance: ArgumentText<PlainNumber>?

    @Option(
        help: ArgumentHelp("Compare although these differ, separated by commas: \(Self.obstacles).", valueName: "what")
    )
    var despite: [String] = []

    @Flag(help: "Also show unchanged and unclear figures.")
    var all = false

    private static var obstacles: String {
        ReportComparison.Obstacle.allCases.map(\.rawValue).joined(separator: ", ")
    }

    /// Compares the reports, prints the result and returns the exit status.
    func compare() -> ExitStatus {
        let console = Console(detail: .notes)
        do throws(MediaError) {
            let accepted = try accepted()
            var rule = ReportComparison.Rule()
            if let tolerance { rule.tolerance = try tolerance.value(of: "--tolerance").value / 100 }
            let comparison = ReportComparison(
                try BenchmarkReport(path: before),
                try BenchmarkReport(path: after),
                rule: rule,
                accepting: accepted
            )
            if comparison.isRefused(accepting: accepted) {
                for (obstacle, difference) in comparison.obstacles where !accepted.contains(obstacle) {
                    console.error("the reports cannot be compared: they differ in \(obstacle.rawValue): \(difference)")
                }
                let refused = Set(comparison.obstacles.map(\.obstacle)).union(accepted).map(\.rawValue).sorted()
                console.remedies(["compare anyway: --despite \(refused.joined(separator: ","))"])
                return .usage
            }
            let text = comparison.text(width: Terminal.outputWidth, all: all)
            guard Terminal.write(text, to: STDOUT_FILENO) else { return .usage }
            return comparison.hasRegressions ? .failed : .done
        } catch {
            console.error(error.readable)
            return .usage
        }
    }

    private func accepted() throws(MediaError) -> Set<ReportComparison.Obstacle> {
        var accepted: Set<ReportComparison.Obstacle> = []
        for word in despite.flatMap({ $0.split(separator: ",").map(String.init) }) {
            guard let obstacle = ReportComparison.Obstacle(rawValue: word) else {
                throw MediaError(
                    .invalidArgument,
                    "unknown value of --despite",
                    given: word,
                    allowed: Self.obstacles
                )
            }
            accepted.insert(obstacle)
        }
        return accepted
    }
}

/// `vatoolbox bench report`.
struct BenchReportCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Print a report, and write its files again if a folder is given."
    )

    @Argument(help: ArgumentHelp("A report.json.", valueName: "report"))
    var path: String

    // Not an option, because `bench` itself has --output and accepts it in any position.
    @Argument(
        help: ArgumentHelp("An existing folder for report.json, report.csv and report.html.", valueName: "folder")
    )
    var folder: String?

    /// Prints or writes the report and returns the exit status.
    func show() -> ExitStatus {
        do throws(MediaError) {
            let report = try BenchmarkReport(path: path)
            if let folder { try report.write(toFolder: folder) }
            return Terminal.write(report.text(width: Terminal.outputWidth), to: STDOUT_FILENO) ? .done : .failed
        } catch {
            Console(detail: .errors).error(error.readable)
            return .usage
        }
    }
}

extension Terminal {
    /// The width of tables on standard output; practically unlimited if it is not a terminal.
    static var outputWidth: Int { isTerminal(STDOUT_FILENO) ? (width(STDOUT_FILENO) ?? 80) : 400 }
}
