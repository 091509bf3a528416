// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import Glibc

/// `vatoolbox probe`.
struct ProbeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "probe",
        abstract: "Tell which GPUs and encoders this machine has, and what stands in the way.",
        discussion: "Nothing is encoded. Exit status: 0, also without a GPU; 2 the command line is wrong."
    )

    @Flag(help: "Print one JSON document.")
    var json = false

    /// Looks, and tells on standard output.
    func probe() -> ExitStatus {
        let report = ProbeReport.ofThisMachine()
        let width = min(max(Terminal.width(STDOUT_FILENO) ?? 80, 40), 100)
        let text = json ? report.document.text + "\n" : report.text(width: width)
        return Terminal.write(text, to: STDOUT_FILENO) ? .done : .failed
    }
}
