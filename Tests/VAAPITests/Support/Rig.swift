// SPDX-License-Identifier: GPL-2.0-or-later

import TestSupport
import Testing

typealias Scratch = ScratchFolder

/// Runs scenarios on drivers.
enum Rig {
    /// What the reference driver pretends to be.
    static let personas = ["intel", "amd", "low-power"]

    /// Runs a scenario on the reference driver.
    static func run(
        _ scenario: String...,
        persona: String = "intel",
        faults: String = "",
        limits: String = "",
        effort: String = "truthful"
    ) throws -> DriverRig.Outcome {
        try DriverRig.run(
            "VAAPIScenarios",
            scenario,
            persona: persona,
            faults: faults,
            limits: limits,
            effort: effort
        )
    }

    /// Runs a scenario on the driver that the distribution has for a chip, whose device completes nothing if it hangs.
    static func run(_ scenario: String..., chip: String, hangs: Bool = false) throws -> DriverRig.Outcome {
        try DriverRig.run("VAAPIScenarios", scenario, chip: chip, hangs: hangs)
    }

    /// The tables of what the distributions' drivers list, one for each release, as one text.
    static func vendorTables() throws -> String {
        try ["vendor-drivers.txt", "vendor-drivers-debian-13.txt"]
            .map { try DriverRig.text(at: "Tests/Drivers/node/\($0)") }
            .joined()
    }
}

extension DriverRig.Outcome {
    /// Expects that the scenario came to its end, that the judge found nothing and that nothing is left.
    func expectClean(sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(status == 0 && lines.last == "done", "\(lines.suffix(3))", sourceLocation: sourceLocation)
        #expect(findings == [], sourceLocation: sourceLocation)
        #expect(unended == 0 && !journal.isEmpty, sourceLocation: sourceLocation)
    }
}
