// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import MediaTypes
import RenderNodes
import VAAPI
import VAToolbox

/// The report for people.
extension ProbeReport {
    /// Returns the report in lines of at most `width` columns, except for commands, which are never wrapped.
    ///
    /// - Parameter isVerbose: Whether all encoding capabilities of drivers are included.
    func text(width: Int, isVerbose: Bool = false) -> String {
        var page = TextPage(width: width)
        page.line("VAToolbox \(VAToolboxCommand.version)")
        page.line("")
        page.line("GPU")
        if let absence {
            page.entry("cause", absence.cause.rawValue, indentation: 2)
            page.paragraph("None. \(absence.explanation)", indentation: 2)
            page.list(absence.remedies, indentation: 2)
        }
        for (index, node) in nodes.enumerated() {
            if index > 0 { page.line("") }
            page.add(node, isVerbose: isVerbose)
        }
        page.line("")
        page.paragraph(conclusion, indentation: 2)
        page.line("")
        page.line("Software")
        for encoder in software {
            let depths = Readable.list(encoder.bitDepths.map(String.init))
            let formats = Readable.list(encoder.chromaFormats)
            page.entry(encoder.codec, "\(encoder.name); \(depths) bits; \(formats)", indentation: 2)
        }
        page.entry("files", "FFmpeg \(ffmpegVersion)", indentation: 2)
        return page.text
    }

    private var conclusion: String {
        let answering = nodes.contains { if case .answers = $0.driver { true } else { false } }
        guard answering else { return "`vatoolbox encode` uses the CPU." }
        if nodes.contains(where: { $0.trials != nil }) {
            return "Each combination was tested with \(Trial.frameCount) frames in a separate process."
        }
        if nodes.contains(where: { $0.standing?.verdict != nil }) {
            return "Encoders are shown as the drivers list them; `vatoolbox probe --exhaustive` tests them all."
        }
        return
            "Encoders are shown as the drivers list them, without a test encode; `vatoolbox probe --exhaustive` tests them all."
    }
}

extension TextPage {
    fileprivate mutating func add(_ entry: ProbeReport.Node, isVerbose: Bool) {
        let node = entry.node
        line("\(node.path)", indentation: 2)
        if let pci = node.pci {
            let vendor = pci.vendorName.map { "\($0) " } ?? ""
            self.entry("device", "\(vendor)\(pci.identifier) at \(pci.address)", indentation: 4)
        }
        if let driver = node.kernelDriver { self.entry("kernel", driver, indentation: 4) }
        switch entry.driver {
        case .outOfReach(let refusal):
            self.entry("access", "refused", indentation: 4)
            self.entry("cause", refusal.cause.rawValue, indentation: 4)
            paragraph(refusal.explanation, indentation: 4)
            list(refusal.remedies, indentation: 4)
        case .failed(let trouble):
            self.entry("access", "accessible; " + (node.permissionText ?? ""), indentation: 4)
            self.entry("driver", trouble.headline, indentation: 4)
            if let file = trouble.file, !trouble.isAbsence { self.entry("file", file, indentation: 4) }
            add(trouble)
            add(entry.standing)
        case .answers(let driver, let trouble):
            self.entry("access", "accessible; " + (node.permissionText ?? ""), indentation: 4)
            self.entry("driver", Readable.shortened(driver.description.vendor), indentation: 4)
            if let file = driver.description.file { self.entry("file", file, indentation: 4) }
            self.entry("libva", "VA-API \(driver.description.version)", indentation: 4)
            addSummary(of: driver, indentation: 4)
            addDecoders(of: driver, indentation: 4)
            add(entry.standing)
            for limitation in entry.limitations {
                self.entry("but", limitation.cause.rawValue, indentation: 4)
                paragraph(limitation.explanation, indentation: 4)
                list(limitation.remedies, indentation: 4)
            }
            if let trouble {
                self.entry("trouble", trouble.headline, indentation: 4)
                add(trouble)
            }
            if isVerbose { addDetails(of: driver, indentation: 4) }
            if let trials = entry.trials { add(trials, indentation: 4) }
        }
    }

    /// Adds the stage, the failure and the remedies.
    private mutating func add(_ trouble: DriverTrouble) {
        if !trouble.isAbsence, let stage = trouble.stageText { entry("while", stage, indentation: 4) }
        if !trouble.isAbsence { entry("reason", trouble.reason, indentation: 4) }
        for (index, line) in trouble.spokenLines.enumerated() {
            entry(index == 0 ? "it said" : "", line, indentation: 4)
        }
        entry("cause", trouble.diagnosis.cause.rawValue, indentation: 4)
        if let conclusion = trouble.conclusion { paragraph(conclusion, indentation: 4) }
        list(trouble.diagnosis.remedies, indentation: 4)
    }
}
