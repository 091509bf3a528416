// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import Testing

/// `vatoolbox probe --exhaustive` on the reference driver: what works, and what fails in which stage.
@Suite struct ExhaustiveProbeTests {
    /// What `--json` says of the trials of the first node.
    struct Trials {
        let document: [String: Any]
        let combinations: [[String: Any]]

        init(_ probed: ProbedNodes) throws {
            document = try #require(probed.nodes.first?["trials"] as? [String: Any], "\(probed.result)")
            combinations = try #require(document["combinations"] as? [[String: Any]])
        }

        func number(_ key: String) -> Int? { document[key] as? Int }
        /// The different values of a key, sorted.
        func values(_ key: String, slices: Int? = nil) -> [String] {
            let chosen = combinations.filter { slices == nil || $0["slices"] as? Int == slices }
            return Set(chosen.map { "\($0[key] ?? "-")" }).sorted()
        }
        /// The stages of the combinations that were passed, not passed, or not reached.
        func stages(_ combination: [String: Any]) -> [String?] {
            let stages = combination["stages"] as? [String: Any] ?? [:]
            return ["config", "context", "submit", "sync", "bytes", "parses", "decodes"].map { stages[$0] as? String }
        }
    }

    private func trials(
        _ settings: [String],
        status: Int32,
        timeout: String = "100"
    ) throws -> Trials {
        let settings = try Scratch.driver("libref") + settings
        let probed = try Scratch().probe(settings, ["--exhaustive", "--timeout", timeout], status: status)
        return try Trials(probed)
    }

    // MARK: - What works

    @Test(arguments: [("intel", 148), ("amd", 15), ("low-power", 10)])
    func everythingThatAPersonaLists(persona: String, count: Int) throws {
        let trials = try trials(["REFERENCE_DRIVER_PERSONA=\(persona)"], status: 0)
        #expect(trials.number("listed") == count && trials.number("passed") == count)
        #expect(["altered", "failed", "refused"].map { trials.number($0) } == [0, 0, 0])
        #expect(trials.values("status") == ["passed"])
        for combination in trials.combinations {
            #expect(trials.stages(combination) == Array(repeating: "ok", count: 7), "\(combination)")
        }
        let names = ["profile", "entrypoint", "rateControl", "bFrames", "slices"]
        let keys = trials.combinations.map { combination in names.map { "\(combination[$0] ?? "-")" } }
        #expect(Set(keys).count == count)
        #expect((trials.document["untried"] as? [Any])?.isEmpty == true)
        guard persona == "intel" else { return }
        #expect(trials.values("rateControl") == ["AVBR", "CBR", "CQP", "ICQ", "QVBR", "VBR"])
        #expect(trials.values("bFrames") == ["0", "2"] && trials.values("slices") == ["1", "4"])
    }

    // MARK: - What fails

    struct Fault: Sendable, CustomTestStringConvertible {
        let fault: String
        let stage: String
        let reason: String

        var testDescription: String { "\(fault) is \(stage)" }
    }

    /// Each stage fails alone. The numbers count calls of one process; the first configs are made to ask for surfaces.
    @Test(arguments: [
        Fault(fault: "vaCreateConfig:4=status:12", stage: "config", reason: "vaCreateConfig"),
        Fault(fault: "vaCreateContext:1=status:2", stage: "context", reason: "vaCreateContext"),
        Fault(fault: "vaBeginPicture:2=status:1", stage: "submit", reason: "vaBeginPicture"),
        Fault(fault: "vaRenderPicture:3=status:1", stage: "submit", reason: "vaRenderPicture"),
        Fault(fault: "vaEndPicture:1=status:0x18", stage: "submit", reason: "vaEndPicture"),
        Fault(fault: "vaSyncSurface:3=status:1", stage: "sync", reason: "vaSyncSurface"),
        Fault(fault: "coded:2=size:0", stage: "bytes", reason: "empty"),
        Fault(fault: "coded:2=size:6", stage: "parses", reason: "sample 1"),
        Fault(fault: "coded:2=size:90", stage: "decodes", reason: "decoded"),
    ])
    func eachStageFailsAlone(_ fault: Fault) throws {
        let settings = [
            "REFERENCE_DRIVER_PERSONA=amd", "REFERENCE_DRIVER_LIMITS=rate-controls=cqp hevc=none",
            "REFERENCE_DRIVER_FAULTS=\(fault.fault)",
        ]
        let trials = try trials(settings, status: 1)
        #expect(trials.number("listed") == 3 && trials.number("failed") == 3)
        #expect(trials.values("failedStage") == [fault.stage], "\(trials.combinations)")
        for combination in trials.combinations {
            let stages = trials.stages(combination)
            let end = stages.firstIndex(of: "failed") ?? 0
            #expect(stages.prefix(end).allSatisfy { $0 == "ok" } && stages.dropFirst(end + 1).allSatisfy { $0 == nil })
            #expect((combination["reason"] as? String)?.contains(fault.reason) == true, "\(combination)")
        }
    }

    /// A driver that crashes or hangs in some combinations, which are those that make more buffers, works in the others.
    @Test(arguments: [("segv", "100", "SIGSEGV"), ("hang", "8", "in time")])
    func oneBadCombinationHidesNoOther(action: String, timeout: String, reason: String) throws {
        let settings = [
            "REFERENCE_DRIVER_PERSONA=low-power", "REFERENCE_DRIVER_FAULTS=vaCreateBuffer:150=\(action)",
            "REFERENCE_DRIVER_LIMITS=hevc=none",
        ]
        let trials = try trials(settings, status: 1, timeout: timeout)
        #expect(trials.number("listed") == 6 && trials.number("passed") == 3 && trials.number("failed") == 3)
        #expect(trials.values("status", slices: 1) == ["passed"])
        #expect(trials.values("failedStage", slices: 4) == ["submit"])
        #expect(trials.values("reason", slices: 4).allSatisfy { $0.contains(reason) }, "\(trials.combinations)")
    }

    /// What the encoder itself refuses is told as that, with its reason.
    @Test func refusalsOfTheEncoder() throws {
        let settings = [
            "REFERENCE_DRIVER_PERSONA=amd", "REFERENCE_DRIVER_VENDOR=Intel i965 driver",
        ]
        let trials = try trials(settings, status: 1)
        #expect(trials.number("refused") == 15 && trials.number("failed") == 0)
        #expect(trials.values("reason").allSatisfy { $0.contains("i965 driver aborts") })
        #expect(trials.combinations.allSatisfy { trials.stages($0) == Array(repeating: nil, count: 7) })
    }

    /// A driver that has slices of one row only cannot have four of them in a picture.
    @Test func whatIsEncodedOtherwiseIsNotPassed() throws {
        let settings = ["REFERENCE_DRIVER_PERSONA=low-power", "REFERENCE_DRIVER_LIMITS=slice-structures=0x4 hevc=none"]
        let trials = try trials(settings, status: 1)
        #expect(trials.values("status", slices: 1) == ["passed"])
        #expect(trials.values("status", slices: 4) == ["altered"], "\(trials.combinations)")
        let altered = trials.combinations.filter { $0["slices"] as? Int == 4 }
        let adjustments = altered.compactMap { ($0["adjustments"] as? [[String: Any]])?.first?["property"] as? String }
        #expect(adjustments == ["slices", "slices", "slices"])
    }

    // MARK: - The vendors' drivers

    /// They code nothing on fake nodes. With something in the place of what a device would code they take every picture,
    /// and of the headers that were sent nothing is wrong.
    ///
    /// Where a driver takes no slice headers, what stands for them cannot be parsed. radeonsi that takes them (Mesa 25)
    /// writes HEVC's parameter sets anew, to which only slice headers of its own fit.
    @Test(
        arguments: [("iHD", "tgl"), ("iHD", "kbl"), ("radeonsi", "navi21"), ("radeonsi", "polaris10")]
            .filter { FakeGPU.isInstalled($0.0) }
    )
    func theVendorsDriversTakeEveryCombination(driver: String, chip: String) throws {
        let folder = try FakeGPU.folder()
        let preloaded = FakeGPU.preload("\(folder)/librender_node.so", "\(folder)/libcoded_stand_in.so")
        let arguments = ["--exhaustive", "--timeout", "100"]
        let probed = try Scratch().probe(nodes: "128=\(chip)", [preloaded], arguments, status: 1)
        let trials = try Trials(probed)
        #expect(trials.combinations.count >= 9 && trials.number("failed") == trials.combinations.count)
        let withSliceHeaders = try profiles(probed, thatTake: "slice")
        for combination in trials.combinations {
            let profile = try #require(combination["profile"] as? String)
            let isRewritten = driver == "radeonsi" && profile.hasPrefix("HEVC")
            let end = withSliceHeaders.contains(profile) && !isRewritten ? "decodes" : "parses"
            #expect(combination["failedStage"] as? String == end, "\(combination)")
        }
        // Three profiles of H.264 and one or two of HEVC, which Kaby Lake has not; Tiger Lake also has two of 4:4:4.
        let count = ["kbl": 3, "polaris10": 4, "tgl": 7][chip] ?? 5
        #expect(trials.values("profile").count == count && trials.number("listed") == trials.combinations.count)
    }

    /// The profiles for which the first node's driver takes packed headers of a kind.
    private func profiles(_ probed: ProbedNodes, thatTake header: String) throws -> Set<String> {
        let encoders = try #require(probed.driver?["encoders"] as? [[String: Any]])
        return Set(
            encoders.filter { encoder in
                let capabilities = encoder["capabilities"] as? [String: Any]
                return (capabilities?["packedHeaders"] as? [String])?.contains(header) == true
            }
            .compactMap { $0["profile"] as? String }
        )
    }

    /// radeonsi ends the process when the kernel refuses a submission, iHD returns an error. Both are failures to submit.
    @Test(arguments: [("iHD", "tgl"), ("radeonsi", "polaris10")].filter { FakeGPU.isInstalled($0.0) })
    func aDeviceThatRefuses(driver: String, chip: String) throws {
        let settings = ["RENDER_NODES_REFUSE=EIO"]
        let arguments = ["--exhaustive", "--timeout", "100"]
        let trials = try Trials(try Scratch().probe(nodes: "128=\(chip)", settings, arguments, status: 1))
        #expect(trials.number("passed") == 0 && trials.number("failed") == trials.number("listed"))
        #expect(trials.values("failedStage").allSatisfy { ["config", "context", "submit"].contains($0) })
    }

    // MARK: - The end

    /// A signal ends it at once, with what is known until then, and with its helpers.
    @Test func aSignalEndsItWithWhatIsKnown() throws {
        let scratch = try Scratch()
        let settings =
            try Scratch.driver("libref") + [
                "REFERENCE_DRIVER_PERSONA=low-power", "REFERENCE_DRIVER_FAULTS=vaCreateBuffer:150=hang",
                "REFERENCE_DRIVER_JOURNAL=\(scratch.path("journal"))", "VATOOLBOX_SANDBOX_WRITABLE=\(scratch.folder)",
            ]
        let arguments = ["--exhaustive", "--timeout", "600"]
        let running = try RunningProbe(nodes: "128=generic", settings, arguments, in: scratch)
        try running.wait(until: "the driver hangs") { scratch.text("journal").contains("\"fault\"") }
        running.signal(SIGINT)
        let probed = try running.end(status: 130)
        let trials = try Trials(probed)
        #expect(trials.number("listed") == 10 && trials.combinations.count < 10)
        let value = try JSONSerialization.jsonObject(with: Data(probed.result.output.utf8)) as? [String: Any]
        #expect(value?["interrupted"] as? Bool == true)
    }

    @Test func withoutAGPUNothingIsTried() throws {
        let result = try Scratch().vatoolbox("probe", "--exhaustive", "--timeout", "soon")
        #expect(result.status == 2 && result.output.isEmpty && result.errors.contains("--timeout"))
    }
}
