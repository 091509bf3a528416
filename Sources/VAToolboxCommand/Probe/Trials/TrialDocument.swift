// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import MediaTypes
import VAToolbox

/// The results of trials for `probe --exhaustive --json`; docs/command.md describes every key.
extension NodeTrials {
    var document: JSON {
        .object([
            "listed": .integer(listed.count),
            "passed": .integer(count(.passed)),
            "altered": .integer(count(.altered)),
            "failed": .integer(count(.failed)),
            "refused": .integer(count(.refused)),
            "combinations": .array(results.map(\.document)),
            "untried": .array(untried.map(\.document)),
        ])
    }
}

extension TrialResult {
    fileprivate var document: JSON {
        var stages: JSON.KeyValuePairs = [:]
        stages.members = TrialStage.reported.map { stage in
            .init(key: stage.rawValue, value: JSON(passed(stage).map { $0 ? "ok" : "failed" }))
        }
        var failedStage: TrialStage?
        if case .failed(let stage, _) = ending { failedStage = stage }
        return .object([
            "profile": .string("\(trial.profile)"),
            "entrypoint": .string("\(trial.entrypoint)"),
            "rateControl": .string("\(trial.mode)"),
            "bFrames": .integer(trial.bFrames),
            "slices": .integer(trial.slices),
            "status": .string(status.rawValue),
            "failedStage": JSON(failedStage?.rawValue),
            "stages": .object(stages),
            "reason": JSON(reason),
            "adjustments": .array(adjustments.map(\.document)),
            "seconds": .number(duration / .seconds(1)),
        ])
    }
}

extension UntriedCombination {
    fileprivate var document: JSON {
        .object([
            "profile": .string("\(profile)"),
            "entrypoint": .string("\(entrypoint)"),
            "rateControl": mode.isEmpty ? .null : .string("\(mode)"),
            "reason": .string(reason),
        ])
    }
}
