// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import HardwareEncoder
import MediaTypes
import RenderNodes
import VAAPI
import VAToolbox

/// The result in one line per node, for logs.
extension ProbeReport {
    /// Whether each node can be used, with the remedies if not, followed by the CPU encoders. Lines are not wrapped.
    var verdict: String {
        let absent = absence.map { Self.lines("no GPU: \($0.explanation)", $0.remedies) } ?? []
        let last = "on the CPU: " + software.map { "\($0.codec) by \($0.name)" }.joined(separator: ", ")
        return (absent + nodes.flatMap(\.verdict) + [last]).map { $0 + "\n" }.joined()
    }

    fileprivate static func lines(_ line: String, _ remedies: [String]) -> [String] {
        [line] + remedies.map { "  - \($0)" }
    }
}

extension ProbeReport.Node {
    fileprivate var verdict: [String] {
        switch driver {
        case .outOfReach(let refusal):
            ProbeReport.lines("not usable: \(refusal.explanation)", refusal.remedies)
        case .failed(let trouble):
            ProbeReport.lines("\(node.path): not usable: \(trouble.diagnosis.explanation)", trouble.diagnosis.remedies)
        case .answers(let driver, let trouble):
            [standing?.refutation.map { "\(node.path): not usable: \($0)" } ?? "\(node.path): \(driver.verdict)"]
                + (limitations + [trouble?.diagnosis].compactMap(\.self)).flatMap {
                    ProbeReport.lines("\(node.path): \($0.explanation)", $0.remedies)
                }
        }
    }
}

extension ProbedDriver {
    /// The entrypoints for each codec, and the name of the driver.
    fileprivate var verdict: String {
        let codecs = [("H.264", VideoCodec.h264), ("HEVC", .hevc)].compactMap { name, codec -> String? in
            var entrypoints: [Entrypoint] = []
            for encoder in encoders where encoder.profile.coded?.codec == codec && encoder.entrypoint.codesSlices {
                if !entrypoints.contains(encoder.entrypoint) { entrypoints.append(encoder.entrypoint) }
            }
            return entrypoints.isEmpty
                ? nil : "\(name) by \(entrypoints.map(\.description).joined(separator: " and "))"
        }
        let vendor = Readable.shortened(description.vendor)
        guard !codecs.isEmpty else { return "not usable: \(vendor) lists no encoder for H.264 or HEVC" }
        return "\(codecs.joined(separator: ", ")), \(vendor)"
    }
}
