// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import EncoderIPC
import Glibc
import MediaTypes
import VAToolbox

/// `vatoolbox probe`.
struct ProbeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "probe",
        abstract: "Tell which GPUs and encoders this machine has, and what stands in the way.",
        discussion: """
            Each driver is loaded in a process of its own, so that one which crashes or hangs is a line of the report, and \
            proves by a short encode that it does what it lists, unless it did lately. Exit status: 0, also without a GPU or with a driver that fails; \
            1 with --exhaustive, if something that a driver lists for H.264 and HEVC does not work; 2 the command line is wrong.
            """
    )

    @Flag(
        help: ArgumentHelp(
            "Try every way to encode H.264 and HEVC that a driver lists.",
            discussion: """
                A few frames are encoded with each combination of profile, entrypoint, rate control, B-frames and slices, \
                in processes of their own, and what comes out is read and decoded. The stages are reported one by one.
                """
        )
    )
    var exhaustive = false

    @Flag(help: "Encode nothing: report what drivers list, and what is known.")
    var noEncode = false

    @Flag(help: "Forget what is known of GPUs, proofs and failures, before anything else.")
    var reset = false

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: "Tell everything that drivers say of how they encode, as --json does.")
    var verbose = false

    @Flag(help: "Print a line for each node: whether it can be used, and what to do if not.")
    var brief = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long each driver, and each combination that is tried, may take, from 0.1 to 3600 (default: 10).",
            valueName: "seconds"
        )
    )
    var timeout: ArgumentText<PlainNumber>?

    /// Refuses kinds of output that exclude each other.
    func validate() throws {
        if brief, exhaustive || json || verbose {
            throw ValidationError("--brief excludes --exhaustive, --json and --verbose")
        }
    }

    /// How long a driver may take.
    ///
    /// - Throws: `invalidArgument`.
    func patience() throws(MediaError) -> Duration {
        guard let timeout else { return RemoteDriver.Options().deadline }
        return try timeout.patience()
    }

    /// Looks, and tells on standard output.
    ///
    /// - Throws: `invalidArgument` for a wrong option; nothing was done then.
    func probe() throws(MediaError) -> ExitStatus {
        let patience = try patience()
        prepare()
        return print(ProbeReport.ofThisMachine(patience: patience, encodes: !noEncode)) ? .done : .failed
    }

    /// What is to be done before anything is looked at.
    func prepare() {
        if reset { SelectionState.standard.reset() }
    }

    /// Prints a report on standard output.
    ///
    /// - Returns: Whether all of it could be written.
    func print(_ report: ProbeReport) -> Bool {
        let width = min(max(Terminal.width(STDOUT_FILENO) ?? 80, 40), 100)
        let text =
            if json { report.document.text + "\n" } else if brief { report.verdict } else {
                report.text(width: width, isVerbose: verbose)
            }
        return Terminal.write(text, to: STDOUT_FILENO)
    }
}
