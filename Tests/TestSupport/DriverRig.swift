// SPDX-License-Identifier: GPL-2.0-or-later

internal import Foundation
internal import Glibc
internal import MediaTypes

/// Runs programs on a driver behind a render node that is not there. The shim that shows the node must be loaded before
/// the program, so each run is a process of its own.
package enum DriverRig {
    /// What came of a run.
    package struct Outcome: Sendable {
        /// The exit status; above 1000 the signal that ended it.
        package var status: Int32
        /// What the program said.
        package var lines: [String]
        /// What the reference driver wrote down.
        package var journal: [Entry]
    }

    /// A line of the reference driver's journal.
    package struct Entry: Sendable {
        package var values: [String: String]
        package var kind: String { values["kind"] ?? "" }
    }

    /// Runs a program on the reference driver.
    package static func run(
        _ program: String,
        _ arguments: [String],
        persona: String = "intel",
        faults: String = "",
        limits: String = "",
        effort: String = "truthful"
    ) throws -> Outcome {
        let scratch = try ScratchFolder()
        let settings = [
            "LIBVA_DRIVERS_PATH": try drivers(), "LIBVA_DRIVER_NAME": "libref", "RENDER_NODES": "128=generic",
            "REFERENCE_DRIVER_JOURNAL": scratch.path("journal"), "REFERENCE_DRIVER_PERSONA": persona,
            "REFERENCE_DRIVER_FAULTS": faults, "REFERENCE_DRIVER_LIMITS": limits,
            "REFERENCE_DRIVER_EFFORT": effort,
        ]
        return try run(program, arguments, settings, scratch)
    }

    /// Runs a program on the driver that the distribution has for a chip, whose device completes nothing if it hangs.
    package static func run(
        _ program: String,
        _ arguments: [String],
        chip: String,
        hangs: Bool = false
    ) throws -> Outcome {
        var settings = ["RENDER_NODES": "128=\(chip)", "MESA_SHADER_CACHE_DISABLE": "1"]
        if hangs { settings["RENDER_NODES_HANG"] = "1" }
        return try run(program, arguments, settings, try ScratchFolder())
    }

    private static func run(
        _ program: String,
        _ arguments: [String],
        _ settings: [String: String],
        _ scratch: ScratchFolder
    ) throws -> Outcome {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try BuiltProgram.path(program))
        process.arguments = arguments
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

extension DriverRig.Entry {
    fileprivate init(_ line: String) {
        let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        values = (object ?? [:]).mapValues { "\($0)" }
    }
}

extension DriverRig.Outcome {
    /// The names of what the judge has found, leaks included.
    package var findings: [String] { journal.filter { $0.kind == "finding" }.compactMap { $0.values["name"] } }

    /// How often a driver was initialized and not ended properly, which is when its objects are counted.
    package var unended: Int {
        journal.count { $0.kind == "initialise" } - journal.count { $0.kind == "terminate" }
    }
}

/// A folder of one run, deleted with the object.
package final class ScratchFolder: Sendable {
    package let folder: String

    package init() throws {
        folder = NSTemporaryDirectory() + "vatoolbox-drivers-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    package func path(_ name: String) -> String { folder + "/" + name }
}

// MARK: - What is run

extension DriverRig {
    private static let repository = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static let built = Result { try buildDrivers() }

    /// The folder of shim and reference driver.
    package static func drivers() throws -> String { try built.get() }

    private static func buildDrivers() throws -> String {
        let process = Process()
        process.executableURL = repository.appending(path: "Tests/Drivers/build")
        // Not a pipe: processes that other tests start meanwhile might keep it open.
        let scratch = try ScratchFolder()
        let output = scratch.path("output")
        _ = FileManager.default.createFile(atPath: output, contents: nil)
        process.standardOutput = FileHandle(forWritingAtPath: output)
        process.standardError = process.standardOutput
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw MediaError(.unavailable, "the drivers for tests were not built: \(text(output))")
        }
        return repository.appending(path: ".build/drivers").path
    }

    /// Returns the text of a file of the package.
    package static func text(at path: String) throws -> String {
        try String(contentsOf: repository.appending(path: path), encoding: .utf8)
    }
}
