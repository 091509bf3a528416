// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import TestSupport
import Testing

/// Render nodes and drivers that are not there, as `Tests/Drivers` builds them.
enum FakeGPU {
    /// `Tests/Drivers` of the package.
    static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../Drivers").standardizedFileURL.path

    /// The folder of the shim and of the drivers, built once for all tests.
    static func folder() throws -> String { try built.get() }

    /// The variable that loads libraries first; a sanitizer needs those of `CLIENT_PRELOAD` besides.
    static func preload(_ libraries: String...) -> String {
        let more = ProcessInfo.processInfo.environment["CLIENT_PRELOAD"].map { [$0] } ?? []
        return "LD_PRELOAD=" + (libraries + more).joined(separator: ":")
    }

    private static let built = Result {
        let result = try Scratch().run([sources + "/build"])
        try #require(result.status == 0, "\(result.errors)")
        return URL(fileURLWithPath: sources).appendingPathComponent("../../.build/drivers").standardizedFileURL.path
    }

    /// Whether the distribution's driver of that name is installed.
    static func isInstalled(_ driver: String) -> Bool {
        ["/usr/lib/x86_64-linux-gnu/dri", "/usr/lib64/dri", "/usr/lib/dri"]
            .contains { FileManager.default.fileExists(atPath: "\($0)/\(driver)_drv_video.so") }
    }
}

/// What `probe --json` said of fake nodes.
struct ProbedNodes {
    let result: ProgramResult
    let nodes: [[String: Any]]

    /// What went wrong with the first node's driver.
    var refusal: [String: Any] { nodes.first?["refusal"] as? [String: Any] ?? [:] }
    /// What the first node's driver says of itself.
    var driver: [String: Any]? { nodes.first?["driver"] as? [String: Any] }

    /// Values of the refusal, without those that are null.
    func named(_ keys: String...) -> [String] {
        keys.compactMap { key in
            refusal[key].flatMap { $0 is NSNull ? nil : "\($0)" }
        }
    }

    var log: String { (refusal["log"] as? [String] ?? []).joined(separator: "\n") }
}

/// A run of `vatoolbox probe --json` under the shim.
struct RunningProbe {
    private let program: RunningProgram
    /// A variable that the command and its helpers have, and no other process.
    private let mark = "PROBE_TEST=" + UUID().uuidString

    /// - Parameters:
    ///   - nodes: As `RENDER_NODES`.
    ///   - environment: Further variables, `NAME=VALUE`.
    init(nodes: String, _ environment: [String], _ arguments: [String], in scratch: Scratch) throws {
        let shim = try FakeGPU.folder() + "/librender_node.so"
        program = try RunningProgram(
            [
                "env", "-u", "LIBVA_DRIVER_NAME", "-u", "LIBVA_DRIVERS_PATH", FakeGPU.preload(shim),
                "RENDER_NODES=\(nodes)",
            ]
                + ["TMPDIR=\(scratch.folder)", "HOME=\(scratch.folder)", "MESA_SHADER_CACHE_DISABLE=1", mark]
                + environment + [Scratch.vatoolbox, "probe", "--json"] + arguments,
            in: scratch
        )
    }

    func signal(_ signal: Int32) { program.signal(signal) }

    /// Waits for its end. Whatever it found, it leaves no process behind.
    func end(status expected: Int32 = 0, sourceLocation: SourceLocation = #_sourceLocation) throws -> ProbedNodes {
        let status = program.end()
        let result = ProgramResult(status: status, output: program.output, errors: program.errors)
        #expect(status == expected && result.errors.isEmpty, "\(result)", sourceLocation: sourceLocation)
        _ = Patience.block { marked.isEmpty }
        #expect(marked == [], sourceLocation: sourceLocation)
        let value = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        let found = try #require(value?["renderNodes"] as? [[String: Any]], sourceLocation: sourceLocation)
        return ProbedNodes(result: result, nodes: found)
    }

    /// Waits until something has happened.
    func wait(until what: String, _ condition: () -> Bool) throws { try program.wait(until: what, condition) }

    /// The processes with that variable.
    private var marked: [String] {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.filter { process in
            guard Int(process) != nil else { return false }
            let environment = FileManager.default.contents(atPath: "/proc/\(process)/environ")
            return environment?.range(of: Data(mark.utf8)) != nil
        }
    }
}

extension Scratch {
    /// Runs `vatoolbox probe --json` under the shim to its end.
    func probe(
        nodes: String = "128=generic",
        _ environment: [String],
        _ arguments: [String] = [],
        status: Int32 = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> ProbedNodes {
        try RunningProbe(nodes: nodes, environment, arguments, in: self)
            .end(status: status, sourceLocation: sourceLocation)
    }

    /// What a command stands behind that shall find render nodes which are not there, and a driver of `Tests/Drivers`.
    ///
    /// - Parameters:
    ///   - nodes: As `RENDER_NODES`.
    ///   - driver: Its name; `nil` where the settings choose one.
    ///   - settings: Further variables, `NAME=VALUE`.
    static func machine(
        nodes: String = "128=generic",
        driver: String? = "libref",
        _ settings: [String] = []
    ) throws -> [String] {
        let shim = try FakeGPU.folder() + "/librender_node.so"
        let variables = try driver.map { try Self.driver($0) } ?? []
        return ["env", FakeGPU.preload(shim), "RENDER_NODES=\(nodes)"] + variables + settings
    }

    /// Variables for a driver of `Tests/Drivers`.
    static func driver(_ name: String) throws -> [String] {
        ["LIBVA_DRIVERS_PATH=\(try FakeGPU.folder())", "LIBVA_DRIVER_NAME=\(name)"]
    }
}
