// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import MediaTypes
import VAAPI
import VAToolbox

/// The results of trials, for people: a table for each profile and entrypoint.
extension TextPage {
    mutating func add(_ trials: NodeTrials, indentation: Int) {
        for group in trials.groups {
            line("")
            line("\(group[0].trial.profile) by \(group[0].trial.entrypoint)", indentation: indentation)
            line(Self.row(["rate", "B", "slices"] + TrialStage.reported.map(\.rawValue)), indentation: indentation + 2)
            for result in group { line(Self.row(result.columns), indentation: indentation + 2) }
            for (reason, count) in group.reasons { paragraph("\(count) \(reason)", indentation: indentation + 2) }
        }
        line("")
        for combination in trials.untried {
            let mode = combination.mode.isEmpty ? "" : " \(combination.mode)"
            let name = "\(combination.profile) by \(combination.entrypoint)\(mode)"
            paragraph("not tried: \(name): \(combination.reason)", indentation: indentation)
        }
        paragraph(trials.summary, indentation: indentation)
    }

    /// Returns cells in columns, without trailing spaces.
    private static func row(_ cells: [String]) -> String {
        let widths = [6, 3, 8] + TrialStage.reported.map { max($0.rawValue.count, 6) + 2 }
        var text = ""
        for (cell, width) in zip(cells, widths) {
            text += cell + String(repeating: " ", count: max(width - cell.count, 1))
        }
        while text.last == " " { text.removeLast() }
        return text
    }
}

extension NodeTrials {
    /// The results by profile and entrypoint, in the order of trials.
    fileprivate var groups: [[TrialResult]] {
        var groups: [[TrialResult]] = []
        for result in results {
            if let last = groups.last?.last?.trial, last.profile == result.trial.profile,
                last.entrypoint == result.trial.entrypoint
            {
                groups[groups.count - 1].append(result)
            } else {
                groups.append([result])
            }
        }
        return groups
    }

    /// A summary of all results in one sentence.
    var summary: String {
        if listed.isEmpty { return "The driver lists no H.264 or HEVC combination that can be tried." }
        var parts = ["\(count(.passed)) passed"]
        if count(.altered) > 0 { parts.append("\(count(.altered)) altered") }
        for stage in TrialStage.allCases {
            let failed = results.count { if case .failed(stage, _) = $0.ending { true } else { false } }
            if failed > 0 { parts.append("\(failed) failed at \(stage.rawValue)") }
        }
        if count(.refused) > 0 { parts.append("\(count(.refused)) refused by the encoder") }
        if results.count < listed.count { parts.append("\(listed.count - results.count) not tried") }
        return "Of \(Readable.count(listed.count, "combination")): \(parts.joined(separator: ", "))."
    }
}

extension TrialResult {
    fileprivate var columns: [String] {
        let stages = TrialStage.reported.map { stage in
            passed(stage).map { $0 ? "ok" : "failed" } ?? "-"
        }
        return ["\(trial.mode)", "\(trial.bFrames)", "\(trial.slices)"] + stages
    }

    /// The reason, preceded by what it explains.
    fileprivate var explanation: String? {
        guard let reason else { return nil }
        return switch ending {
        case .passed: "altered: \(Readable.shortened(reason))"
        case .failed(let stage, _): "failed at \(stage.rawValue): \(Readable.shortened(reason))"
        case .refused: "refused: \(Readable.shortened(reason))"
        }
    }
}

extension [TrialResult] {
    /// The reasons without duplicates, each with the number of results.
    fileprivate var reasons: [(reason: String, count: Int)] {
        var reasons: [(reason: String, count: Int)] = []
        for explanation in compactMap(\.explanation) {
            if let index = reasons.firstIndex(where: { $0.reason == explanation }) {
                reasons[index].count += 1
            } else {
                reasons.append((explanation, 1))
            }
        }
        return reasons
    }
}
