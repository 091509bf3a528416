// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import TestSupport
import Testing

/// Runs scenarios on a driver behind a render node that is not there. The shim that shows the node must be loaded before
/// the program, so each scenario is a process of its own.
struct Rig {
    /// What the reference driver pretends to be.
    static let personas = ["intel", "amd", "low-power"]

    /// What came of a scenario.
    struct Outcome {
        /// The exit status; above 1000 the signal that ended it.
        var status: Int32
        /// What the scenario said.
        var lines: [String]
        /// What the reference driver wrote down.
        var journal: [Entry]
    }

    /// A line of the reference driver's journal.
    struct Entry {
        var values: [String: String]
        var kind: String { values["kind"] ?? "" }
    }

    /// Runs a scenario on the reference driver.
    static func run(
        _ scenario: String...,
        persona: String = "intel",
        faults: String = "",
        limits: String = "",
        effort: String = "truthful"
    ) throws -> Outcome {
        let scratch = try Scratch()
        let settings = [
            "LIBVA_DRIVERS_PATH": try drivers(), "LIBVA_DRIVER_NAME": "libref", "RENDER_NODES": "128=generic",
            "REFERENCE_DRIVER_JOURNAL": scratch.path("journal"), "REFERENCE_DRIVER_PERSONA": persona,
            "REFERENCE_DRIVER_FAULTS": faults, "REFERENCE_DRIVER_LIMITS": limits,
            "REFERENCE_DRIVER_EFFORT": effort,
        ]
        return try run(scenario, settings, scratch)
    }

    /// Runs a scenario on the driver that the distribution has for a chip, whose device completes nothing if it hangs.
    static func run(_ scenario: String..., chip: String, hangs: Bool = false) throws -> Outcome {
        var settings = ["RENDER_NODES": "128=\(chip)", "MESA_SHADER_CACHE_DISABLE": "1"]
        if hangs { settings["RENDER_NODES_HANG"] = "1" }
        return try run(scenario, settings, try Scratch())
    }

    private static func run(_ scenario: [String], _ settings: [String: String], _ scratch: Scratch) throws -> Outcome {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try BuiltProgram.path("VAAPIScenarios"))
        process.arguments = scenario
        let inherited = ProcessInfo.processInfo.environment.filter { variable in
            !["LIBVA_", "RENDER_NODES", "REFERENCE_DRIVER_"].contains { variable.key.hasPrefix($0) }
        }
        // A sanitizer needs a library besides.
        let preloaded = [try drivers() + "/librender_node.so"] + (inherited["CLIENT_PRELOAD"].map { [$0] } ?? [])
        let own = [
            "LD_PRELOAD": preloaded.joined(separator: ":"), "TMPDIR": scratch.folder, "HOME": scratch.folder,
            "LIBVA_MESSAGING_LEVEL": "1",
        ]
        process.environment = inherited.merging(own) { $1 }.merging(settings) { $1 }
        let (output, errors) = (scratch.path("output"), scratch.path("errors"))
        for path in [output, errors] { _ = FileManager.default.createFile(atPath: path, contents: nil) }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle(forWritingAtPath: output)
        process.standardError = FileHandle(forWritingAtPath: errors)
        try process.run()
        process.waitUntilExit()
        let ended = process.terminationReason == .exit
        return Outcome(
            status: process.terminationStatus + (ended ? 0 : 1000),
            lines: text(output).split(separator: "\n").map(String.init),
            journal: text(scratch.path("journal")).split(separator: "\n").map { Entry(String($0)) }
        )
    }

    private static func text(_ path: String) -> String {
        (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }
}

extension Rig.Entry {
    fileprivate init(_ line: String) {
        let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        values = (object ?? [:]).mapValues { "\($0)" }
    }
}

extension Rig.Outcome {
    /// The names of what the judge has found, leaks included.
    var findings: [String] { journal.filter { $0.kind == "finding" }.compactMap { $0.values["name"] } }

    /// How often a driver was initialized and not ended properly, which is when its objects are counted.
    var unended: Int {
        journal.count { $0.kind == "initialise" } - journal.count { $0.kind == "terminate" }
    }

    /// Expects that the scenario came to its end, that the judge found nothing and that nothing is left.
    func expectClean(sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(status == 0 && lines.last == "done", "\(lines.suffix(3))", sourceLocation: sourceLocation)
        #expect(findings == [], sourceLocation: sourceLocation)
        #expect(unended == 0 && !journal.isEmpty, sourceLocation: sourceLocation)
    }
}

/// A folder of one run, deleted with the value.
final class Scratch {
    let folder: String

    init() throws {
        folder = NSTemporaryDirectory() + "vatoolbox-vaapi-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func path(_ name: String) -> String { folder + "/" + name }
}

// MARK: - What is run

extension Rig {
    private static let repository = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static let built = Result { try buildDrivers() }

    /// The folder of shim and reference driver.
    static func drivers() throws -> String { try built.get() }

    private static func buildDrivers() throws -> String {
        let process = Process()
        process.executableURL = repository.appending(path: "Tests/Drivers/build")
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "Tests/Drivers/build: \(text)")
        return repository.appending(path: ".build/drivers").path
    }

    /// The tables of what the distributions' drivers list, one for each release, as one text.
    static func vendorTables() throws -> String {
        try ["vendor-drivers.txt", "vendor-drivers-debian-13.txt"]
            .map { try String(contentsOf: repository.appending(path: "Tests/Drivers/node/\($0)"), encoding: .utf8) }
            .joined()
    }
}
