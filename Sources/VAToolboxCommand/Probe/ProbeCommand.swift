// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport
import Glibc
import HelperIPC
import MediaTypes
import VAToolbox

/// `vatoolbox probe`.
struct ProbeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "probe",
        abstract: "Show this machine's GPUs, drivers, encoders and decoders, and why any of them cannot be used.",
        discussion: """
            Each driver is loaded in its own helper process, so a crash or hang becomes a line of the report. A short test encode \
            and short test decodes verify each driver, unless recent results are known. Exit status: 0 success, even without a GPU or with a driver \
            that fails; 1 with --exhaustive, if something that a driver lists for H.264 or HEVC does not work; 2 invalid \
            command line.
            """
    )

    @Flag(
        help: ArgumentHelp(
            "Test-encode every H.264 and HEVC combination that the drivers list.",
            discussion: """
                Encodes 12 frames with each combination of profile, entrypoint, rate control, B-frames and slices, each in \
                its own helper process, then parses and decodes the output. The report shows the result of every stage.
                """
        )
    )
    var exhaustive = false

    @Flag(help: "Skip the test encode and test decodes: report what the drivers list and earlier results.")
    var noEncode = false

    @Flag(help: "First discard the stored results of test encodes and the recorded GPU failures.")
    var reset = false

    @Flag(help: "Print the report as one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print all encoding capabilities that the drivers report, as --json does.")
    var verbose = false

    @Flag(help: "Print one line per render node: whether it can be used and, if not, what to do.")
    var brief = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Time limit for each driver and each tested combination, in seconds: 0.1 to 3600 (default: 10).",
            valueName: "seconds"
        )
    )
    var timeout: ArgumentText<PlainNumber>?

    /// Rejects output options that exclude each other.
    func validate() throws {
        if brief, exhaustive || json || verbose {
            throw ValidationError("--brief cannot be combined with --exhaustive, --json or --verbose")
        }
    }

    /// Returns the deadline for a driver.
    ///
    /// - Throws: `invalidArgument`.
    func patience() throws(MediaError) -> Duration {
        guard let timeout else { return RemoteDriver.Options().deadline }
        return try timeout.patience()
    }

    /// Examines the machine and prints the report on standard output.
    ///
    /// - Throws: `invalidArgument` for an invalid option; nothing was done in this case.
    func probe() throws(MediaError) -> ExitStatus {
        let patience = try patience()
        prepare()
        return print(ProbeReport.ofThisMachine(patience: patience, encodes: !noEncode)) ? .done : .failed
    }

    /// Prepares the process before the examination.
    func prepare() {
        if reset { SelectionState.standard.reset() }
    }

    /// Prints a report on standard output.
    ///
    /// - Returns: Whether it was written completely.
    func print(_ report: ProbeReport) -> Bool {
        let width = min(max(Terminal.width(STDOUT_FILENO) ?? 80, 40), 100)
        let text =
            if json { report.document.text + "\n" } else if brief { report.verdict } else {
                report.text(width: width, isVerbose: verbose)
            }
        return Terminal.write(text, to: STDOUT_FILENO)
    }
}
