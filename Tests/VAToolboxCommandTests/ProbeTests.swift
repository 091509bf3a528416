// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// `vatoolbox probe` on fake render nodes, with drivers that work and drivers that do their worst.
@Suite struct ProbeTests {
    @Test func aDriverThatAnswers() throws {
        let probed = try Scratch().probe(try Scratch.driver("libref"))
        let driver = try #require(probed.driver)
        #expect(driver["name"] as? String == "libref" && probed.refusal.isEmpty)
        let encodes = try #require(driver["encodes"] as? [[String: Any]])
        #expect(encodes.compactMap { $0["profile"] as? String }.contains("H264High"))
    }

    /// A fault, and what is told about it: cause, stage, signal, status, profile.
    struct Fault: Sendable, CustomTestStringConvertible {
        let driver: String
        let fault: String
        let told: [String]
        /// Whether the driver had said before who it is.
        var hasAnswered = false

        var testDescription: String { "\(driver) \(fault)" }
        var setting: String { (driver == "libref" ? "REFERENCE_DRIVER_FAULTS=" : "FAULTY_DRIVER=") + fault }
    }

    @Test(arguments: [
        Fault(driver: "libfaulty", fault: "load=segv", told: ["signal", "loading", "SIGSEGV"]),
        Fault(driver: "libfaulty", fault: "load=abort", told: ["signal", "loading", "SIGABRT"]),
        Fault(driver: "libfaulty", fault: "load=fpe", told: ["signal", "loading", "SIGFPE"]),
        Fault(driver: "libfaulty", fault: "load=exit", told: ["exit", "loading", "1"]),
        Fault(driver: "libfaulty", fault: "load=shout", told: ["signal", "loading", "SIGABRT"]),
        Fault(driver: "libfaulty", fault: "initialize=fail", told: ["refused", "initializing"]),
        Fault(driver: "libfaulty", fault: "initialize=wild", told: ["signal", "asking-vendor", "SIGSEGV"]),
        Fault(driver: "libfaulty", fault: "entrypoints=exit", told: ["exit", "asking-entrypoints", "1", "H264High"]),
        Fault(driver: "libref", fault: "vaInitialize:1=segv", told: ["signal", "initializing", "SIGSEGV"]),
        Fault(driver: "libref", fault: "vaInitialize:1=abort", told: ["signal", "initializing", "SIGABRT"]),
        Fault(driver: "libref", fault: "vaInitialize:1=status:3", told: ["refused", "initializing"]),
        Fault(
            driver: "libref",
            fault: "vaQueryConfigProfiles:1=abort",
            told: ["signal", "asking-profiles", "SIGABRT"]
        ),
        Fault(driver: "libref", fault: "vaQueryConfigProfiles:1=status:2", told: ["refused", "asking-profiles"]),
        Fault(
            driver: "libref",
            fault: "vaQueryConfigEntrypoints:2=segv",
            told: ["signal", "asking-entrypoints", "SIGSEGV", "H264Main"]
        ),
        Fault(
            driver: "libref",
            fault: "vaTerminate:1=segv",
            told: ["signal", "closing", "SIGSEGV"],
            hasAnswered: true
        ),
        Fault(
            driver: "libref",
            fault: "vaGetConfigAttributes:3=abort",
            told: ["signal", "asking-attributes", "SIGABRT", "H264Main", "EncSlice"],
            hasAnswered: true
        ),
        Fault(
            driver: "libref",
            fault: "vaCreateConfig:2=segv",
            told: ["signal", "asking-surfaces", "SIGSEGV", "H264ConstrainedBaseline", "EncSliceLP"],
            hasAnswered: true
        ),
        Fault(
            driver: "libfaulty",
            fault: "surfaces=exit",
            told: ["exit", "asking-surfaces", "1", "H264High", "EncSlice"],
            hasAnswered: true
        ),
        Fault(driver: "libref", fault: "vaTerminate:1=status:1", told: ["refused", "closing"], hasAnswered: true),
    ])
    func aDriverThatFails(_ fault: Fault) throws {
        let probed = try Scratch().probe(try Scratch.driver(fault.driver) + [fault.setting])
        #expect(
            probed.named("failure", "stage", "signal", "exitStatus", "profile", "entrypoint") == fault.told,
            "\(probed.result.output)"
        )
        #expect(probed.named("driver") == [fault.driver])
        #expect(probed.named("file").first?.hasSuffix("/\(fault.driver)_drv_video.so") == true)
        #expect((probed.driver != nil) == fault.hasAnswered)
        // What a driver says last is told, however much it says.
        if fault.fault == "load=shout" { #expect(probed.log.hasSuffix("line 9999 of ten thousand")) }
    }

    /// Ten seconds are for the start of the helpers on a busy machine: the drivers have no use for them.
    @Test func driversThatHang() throws {
        let faults = [
            Fault(driver: "libfaulty", fault: "load=hang", told: ["deadline", "loading"]),
            // It closes every descriptor first, by which the helper is seen to be of no use before the deadline: by the
            // command, or by the helper itself, which then ends.
            Fault(driver: "libfaulty", fault: "load=desert", told: ["helper", "loading"]),
            Fault(driver: "libref", fault: "vaInitialize:1=hang", told: ["deadline", "initializing"]),
            Fault(
                driver: "libref",
                fault: "vaQueryConfigEntrypoints:1=hang",
                told: ["deadline", "asking-entrypoints"]
            ),
            Fault(
                driver: "libref",
                fault: "vaQuerySurfaceAttributes:1=hang",
                told: ["deadline", "asking-surfaces"],
                hasAnswered: true
            ),
            Fault(driver: "libref", fault: "vaTerminate:1=hang", told: ["deadline", "closing"], hasAnswered: true),
        ]
        let scratch = try Scratch()
        let running = try faults.map { fault in
            let settings = try Scratch.driver(fault.driver) + [fault.setting]
            return try RunningProbe(nodes: "128=generic", settings, ["--timeout", "10"], in: scratch)
        }
        for (fault, running) in zip(faults, running) {
            let probed = try running.end()
            let hasEnded = fault.told[0] == "helper" && probed.named("failure") == ["exit"]
            let told = hasEnded ? ["exit", fault.told[1]] : fault.told
            #expect(probed.named("failure", "stage") == told, "\(fault.fault): \(probed.result.output)")
            #expect(probed.refusal["deadline"] as? Double == (fault.told[0] == "deadline" ? 10 : nil))
            #expect(probed.named("driver", "signal", "exitStatus") == [fault.driver] + (hasEnded ? ["0"] : []))
            #expect((probed.driver != nil) == fault.hasAnswered)
        }
    }

    /// What a driver says of itself is bounded, and harmless for a terminal.
    @Test(arguments: [
        ("profiles=many", 1), ("profiles=negative", 0), ("entrypoints=many", 1), ("entrypoints=negative", 0),
        ("surfaces=many", 1),
    ])
    func aDriverThatLiesAboutItsLists(fault: String, count: Int) throws {
        let probed = try Scratch().probe(try Scratch.driver("libfaulty") + ["FAULTY_DRIVER=\(fault)"])
        #expect((probed.driver?["encodes"] as? [Any])?.count == count)
    }

    @Test func aDriverWithATerribleName() throws {
        let probed = try Scratch().probe(try Scratch.driver("libfaulty") + ["FAULTY_DRIVER=initialize=vendor"])
        let vendor = try #require(probed.driver?["vendor"] as? String)
        #expect(vendor.hasPrefix(" [2J\u{FFFD} xxx") && vendor.utf8.count == 4096)
    }

    /// Destructors of drivers that were loaded crash and hang; nobody waits for them.
    @Test(arguments: ["unload=segv", "unload=hang"])
    func aDriverThatFailsAfterAll(fault: String) throws {
        let probed = try Scratch().probe(try Scratch.driver("libfaulty") + ["FAULTY_DRIVER=\(fault)"])
        #expect(probed.driver != nil && probed.refusal.isEmpty)
    }

    // MARK: - Files that are no drivers

    /// Puts something else under the driver's name.
    enum BadFile: CaseIterable {
        case missing, empty, text, truncated, otherMachine, otherLibrary

        func put(at path: String, _ scratch: Scratch) throws {
            let driver = try Data(contentsOf: URL(fileURLWithPath: try FakeGPU.folder() + "/libref_drv_video.so"))
            let file = URL(fileURLWithPath: path)
            switch self {
            case .missing: break
            case .empty: try Data().write(to: file)
            case .text: try Data("#!/bin/sh\nexit 0\n".utf8).write(to: file)
            case .truncated: try driver.prefix(8192).write(to: file)
            case .otherMachine:
                var other = driver
                // e_machine (ELF, figure 1-3): AArch64, or x86-64 where that is this machine.
                other[18] = other[18] == 183 ? 62 : 183
                try other.write(to: file)
            case .otherLibrary:
                let compiler = try scratch.tool(FakeGPU.sources + "/compiler").split(separator: "\n")
                try scratch.tool(String(try #require(compiler.first)), "-shared", "-x", "c", "/dev/null", "-o", path)
            }
        }
    }

    @Test(arguments: BadFile.allCases)
    func aFileThatIsNoDriver(_ bad: BadFile) throws {
        let scratch = try Scratch()
        let path = scratch.path("bad_drv_video.so")
        try bad.put(at: path, scratch)
        let probed = try scratch.probe(["LIBVA_DRIVERS_PATH=\(scratch.folder)", "LIBVA_DRIVER_NAME=bad"])
        #expect(probed.named("driver", "file", "stage") == ["bad", path, "loading"], "\(probed.result.output)")
        // Touching a page behind the end of a file is SIGBUS.
        let causes = bad == .truncated ? [["refused"], ["signal", "SIGBUS"]] : [["refused"]]
        #expect(causes.contains(probed.named("failure", "signal")))
        if bad != .missing, probed.named("failure") == ["refused"] { #expect(probed.log.contains(path)) }
        let remedies = (probed.refusal["remedies"] as? [String] ?? []).joined(separator: "\n")
        #expect(remedies.contains("unset LIBVA_DRIVER_NAME") == (bad == .missing))
        let explanation = try #require(probed.named("explanation").first)
        let absence = "no driver file was found: libva looked for \(path)"
        #expect(explanation.hasPrefix(absence) == (bad == .missing), "\(explanation)")
    }

    // MARK: - Several nodes

    @Test func oneBadDriverHidesNoOther() throws {
        let scratch = try Scratch()
        let drivers = try FakeGPU.folder()
        for (name, driver) in [("generic", "libfaulty"), ("iHD", "libref"), ("radeonsi", "libref")] {
            try FileManager.default.createSymbolicLink(
                atPath: scratch.path("\(name)_drv_video.so"),
                withDestinationPath: "\(drivers)/\(driver)_drv_video.so"
            )
        }
        let probed = try scratch.probe(
            nodes: "128=kbl,129=generic,140=renoir",
            ["LIBVA_DRIVERS_PATH=\(scratch.folder)", "FAULTY_DRIVER=load=abort"]
        )
        let names = probed.nodes.map { ($0["driver"] as? [String: Any])?["name"] as? String }
        #expect(names == ["iHD", nil, "radeonsi"])
        let refusal = try #require(probed.nodes[1]["refusal"] as? [String: Any])
        #expect(refusal["driver"] as? String == "generic" && refusal["signal"] as? String == "SIGABRT")
        #expect(probed.nodes.map { $0["path"] as? String } == [128, 129, 140].map { "/dev/dri/renderD\($0)" })
    }

    // MARK: - The vendors' drivers

    struct Vendor: Sendable, CustomTestStringConvertible {
        let driver: String
        let chip: String
        /// The request from which on the node answers nothing.
        let vanishing: Int

        var testDescription: String { "\(driver) on \(chip), nothing from request \(vanishing) on" }
    }

    private static let vendors: [Vendor] = [1, 5, 8, 20, 40].flatMap { request in
        [("iHD", "kbl"), ("iHD", "tgl"), ("radeonsi", "navi21"), ("radeonsi", "polaris10")].map {
            Vendor(driver: $0.0, chip: $0.1, vanishing: request)
        }
    }.filter { FakeGPU.isInstalled($0.driver) }

    /// radeonsi of Mesa 22.3.6 crashes on such nodes, iHD 23.1.1 refuses. Whatever others do, it is told.
    @Test(arguments: vendors) func aNodeThatAnswersNothing(_ vendor: Vendor) throws {
        let setting = "RENDER_NODES_VANISH=\(vendor.vanishing)"
        let probed = try Scratch().probe(nodes: "128=\(vendor.chip)", [setting])
        #expect(probed.driver == nil)
        let stage = try #require(probed.named("stage").first)
        if vendor.vanishing == 1 {
            #expect(stage == "choosing-driver" && probed.named("failure") == ["refused"])
        } else {
            #expect(["loading", "initializing"].contains(stage), "\(probed.result.output)")
            #expect(probed.named("driver") == [vendor.driver])
            let cause = try #require(probed.named("failure").first)
            #expect(["refused", "signal", "exit", "deadline"].contains(cause))
            #expect((cause == "signal") == (probed.named("signal").first?.hasPrefix("SIG") == true))
        }
    }

    @Test(arguments: [("iHD", "kbl"), ("radeonsi", "navi21")].filter { FakeGPU.isInstalled($0.0) })
    func aVendorsDriverThatAnswers(driver: String, chip: String) throws {
        let probed = try Scratch().probe(nodes: "128=\(chip)", [])
        #expect(probed.driver?["name"] as? String == driver, "\(probed.result.output)")
        let encodes = try #require(probed.driver?["encodes"] as? [[String: Any]])
        #expect(encodes.compactMap { $0["profile"] as? String }.contains("H264High"))
    }

    // MARK: - The helper

    /// Without a helper no driver is loaded: the faulty one would end the command.
    @Test(arguments: [("/nowhere/helper", "helper"), ("/etc/passwd", "helper"), ("/bin/false", "exit")])
    func aHelperThatIsNone(path: String, cause: String) throws {
        let settings = ["FAULTY_DRIVER=load=abort", "VATOOLBOX_HELPER=\(path)"]
        let probed = try Scratch().probe(try Scratch.driver("libfaulty") + settings)
        #expect(probed.named("failure", "stage", "driver") == [cause] && probed.driver == nil)
        #expect((probed.named("explanation").first ?? "").contains("was not asked"))
    }

    /// Variables of libva reach the helper: the trace is written in it.
    @Test func theEnvironmentReachesTheHelper() throws {
        let scratch = try Scratch()
        let settings = ["LIBVA_TRACE=\(scratch.path("trace"))", "VATOOLBOX_SANDBOX=off"]
        _ = try scratch.probe(try Scratch.driver("libref") + settings)
        #expect(scratch.names.contains { $0.hasPrefix("trace") })
    }

    @Test(arguments: ["0", "-1", "4000", "soon", "0.05"]) func timeoutsThatAreNone(value: String) throws {
        let result = try Scratch().vatoolbox("probe", "--timeout", value)
        #expect(result.status == 2 && result.output.isEmpty)
        #expect(result.errors.contains("--timeout") && result.errors.contains(value))
    }
}
