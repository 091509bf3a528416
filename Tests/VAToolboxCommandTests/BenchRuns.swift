// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// `vatoolbox bench` in a folder of a test, and what is in its report.
extension Scratch {
    /// - Parameter environment: `env` and what it is to do, before the command.
    func bench(_ arguments: [String], _ environment: [String] = []) throws -> ProgramResult {
        try run(environment + [Self.vatoolbox, "bench"] + arguments)
    }

    /// Words before a command that make it use the reference driver on a fake node, `/dev/dri/renderD128`.
    static func referenceDriver() throws -> [String] {
        let shim = try FakeGPU.folder() + "/librender_node.so"
        return ["env", "LD_PRELOAD=\(shim)", "RENDER_NODES=128=generic"] + (try driver("libref"))
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
