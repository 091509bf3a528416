// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

extension BenchmarkReport.Environment {
    /// Warnings about the state of the machine.
    var warnings: [BenchmarkReport.Warning] {
        var warnings: [BenchmarkReport.Warning] = []
        if components.contains(where: { $0.detail == InstalledSoftware.withoutOptimisation }) {
            let message = "This is a debug build: its speeds and CPU times are worse than those of a release build."
            warnings.append(.init(.caution, message))
        }
        if let governor = processor.governor, governor != "performance" {
            let message =
                "The CPU's frequency governor is \(governor): speeds depend on the previous load. Set it to performance."
            warnings.append(.init(.caution, message))
        }
        if let load = loadAverage, load > 0.25 * processor.usableProcessors {
            let message = "The machine was not idle at the start: load \(Readable.number(load, places: 2))."
            warnings.append(.init(.caution, message))
        }
        if !containment.isEmpty {
            let message =
                "It ran inside \(containment.joined(separator: ", ")): others may have used the machine meanwhile."
            warnings.append(.init(.note, message))
        }
        return warnings
    }
}

extension BenchmarkReport.Warning {
    /// - Parameter kind: What runs on the driver: `encoder` or `decoder`.
    static func referenceDriver(_ kind: String, subject: String) -> Self {
        let message =
            "Reference driver: this \(kind) runs on the CPU and replaces a GPU in tests. Its figures say nothing about "
            + "any hardware."
        return Self(.banner, message, subject: subject)
    }

    static func fakeNode(subject: String) -> Self {
        let message = "Fake render node: the device is simulated. Its figures say nothing about any hardware."
        return Self(.banner, message, subject: subject)
    }

    /// - Parameter subject: What is repeated: `point` or `decoder`.
    static func fewRepeats(_ repeats: Int, per subject: String) -> Self {
        let message =
            "With \(Readable.count(repeats, "repeat")) per \(subject), confidence intervals span all measured values; 95 % "
            + "confidence needs 6 repeats."
        return Self(.note, message)
    }
}
