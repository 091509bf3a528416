// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import EncodingBenchmark
import Glibc
import MediaTypes

/// `vatoolbox bench compare`.
struct BenchCompareCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract: "Tell what changed from one report to another, beyond noise.",
        discussion: """
            Repeats of the same point are paired; a figure has changed if the interval of their ratio's median excludes 1 and \
            the change exceeds the tolerance. Exit status: 0 nothing got worse; 1 something did; 2 the reports cannot be read, \
            or are not to be compared.
            """
    )

    @Argument(help: ArgumentHelp("The report.json from before.", valueName: "before"))
    var before: String

    @Argument(help: ArgumentHelp("The report.json from after.", valueName: "after"))
    var after: String

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Per cent below which a change is none.", valueName: "percent")
    )
    var tolerance: ArgumentText<PlainNumber>?

    @Option(
        help: ArgumentHelp("Compare although these differ, divided by commas: \(Self.obstacles).", valueName: "what")
    )
    var despite: [String] = []

    @Flag(help: "Also show what stayed the same or cannot be told.")
    var all = false

    private static var obstacles: String {
        ReportComparison.Obstacle.allCases.map(\.rawValue).joined(separator: ", ")
    }

    /// Compares, prints, and says what came of it.
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
                    console.error("the reports differ in \(obstacle.rawValue): \(difference)")
                }
                let refused = Set(comparison.obstacles.map(\.obstacle)).union(accepted).map(\.rawValue).sorted()
                console.remedies(["compare all the same: --despite \(refused.joined(separator: ","))"])
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
                    "--despite does not know this",
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
        abstract: "Show a report again, and make its files anew."
    )

    @Argument(help: ArgumentHelp("A report.json.", valueName: "report"))
    var path: String

    // No option: `bench` itself has --output, and takes it wherever it stands.
    @Argument(
        help: ArgumentHelp("An existing folder for report.json, report.csv and report.html.", valueName: "folder")
    )
    var folder: String?

    /// Prints, writes, and says what came of it.
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
    /// How many columns tables on standard output may have: as many as they like where nobody watches.
    static var outputWidth: Int { isTerminal(STDOUT_FILENO) ? (width(STDOUT_FILENO) ?? 80) : 400 }
}
