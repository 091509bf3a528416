// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// `vatoolbox bench` in a folder of a test, and what is in its report.
extension Scratch {
    /// - Parameter environment: `env` and what it is to do, before the command.
    func bench(_ arguments: [String], _ environment: [String] = []) throws -> ProgramResult {
        try run(environment + [Self.vatoolbox, "bench"] + arguments)
    }

    func benchReport(in folder: String) throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: try data("\(folder)/report.json"))
        return try #require(value as? [String: Any])
    }
}

/// The measured runs of a report: each with what was measured.
func benchRuns(_ report: [String: Any]) throws -> [(run: [String: Any], figures: [String: Any])] {
    try (#require(report["runs"] as? [[String: Any]])).map { run in
        let result = try #require(run["result"] as? [String: Any])
        return (run, try #require(result["value"] as? [String: Any], "\(run["encoder"] ?? ""): \(result)"))
    }
}

/// A number of a document.
func number(_ value: Any?) throws -> Double { try #require(value as? NSNumber).doubleValue }
