// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import TestSupport
import Testing

/// Which of two GPUs, or the CPU, `vatoolbox encode` uses, also with other processes that use them.
@Suite struct SelectionTests {
    /// Two fake GPUs, 128 and 129, and what is known of them.
    private final class Machine {
        let scratch: Scratch
        private let nodes: String
        private let base: [String]
        private var held: [RunningProgram] = []

        init(nodes: String = "128=generic,129=generic", _ settings: [String] = []) throws {
            scratch = try Scratch()
            self.nodes = nodes
            try scratch.makeClip("clip.y4m", seconds: 0.2, size: "64x64")
            let journal = "REFERENCE_DRIVER_JOURNAL=\(scratch.path("program-journal"))"
            let own = [journal, "VATOOLBOX_SANDBOX_WRITABLE=\(scratch.folder)"]
            base = try Scratch.machine(nodes: nodes, own + settings)
        }

        static func path(_ number: Int) -> String { "/dev/dri/renderD\(number)" }

        /// What came of an encode.
        struct Encode {
            let document: [String: Any]
            let result: ProgramResult

            private var encoder: [String: Any] { document["encoder"] as? [String: Any] ?? [:] }
            /// The number of the node; 0 for the CPU.
            var device: Int {
                (encoder["device"] as? String).flatMap { Int($0.suffix(3)) } ?? (encoder["name"] == nil ? -1 : 0)
            }
            var rejected: [[String: Any]] { encoder["rejected"] as? [[String: Any]] ?? [] }
            /// The causes for which encoders were not taken.
            var causes: [String] { rejected.map { $0["cause"] as? String ?? "-" } }
            var reasons: String { rejected.compactMap { $0["reason"] as? String }.joined(separator: "\n") }
            var frames: Int { (document["frames"] as? [String: Any])?["out"] as? Int ?? -1 }
            var errorCode: String { (document["error"] as? [String: Any])?["code"] as? String ?? "" }
        }

        func encode(
            _ arguments: [String] = [],
            _ settings: [String] = [],
            input: String = "clip.y4m",
            output: String? = nil
        ) throws -> Encode {
            let name = output ?? "program-\(UUID().uuidString).h264"
            let result = try scratch.run(
                base + settings + [Scratch.vatoolbox, "encode", input, "-o", name, "--json"] + arguments
            )
            let value = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
            return Encode(document: try #require(value, "\(result)"), result: result)
        }

        func start(_ arguments: [String], _ settings: [String] = []) throws -> RunningProgram {
            let name = "program-\(UUID().uuidString).h264"
            return try RunningProgram(
                base + settings + [Scratch.vatoolbox, "encode", "clip.y4m", "-o", name, "--json"] + arguments,
                in: scratch
            )
        }

        /// Starts an encode that goes on until it is killed, and waits until it uses its GPU.
        func hold(_ arguments: [String], sourceLocation: SourceLocation = #_sourceLocation) throws -> RunningProgram {
            if !scratch.names.contains("long.y4m") { try scratch.makeClip("long.y4m", seconds: 400, size: "32x32") }
            let before = try sessions()
            let command = [
                Scratch.vatoolbox, "encode", "long.y4m", "-o", "null", "--realtime", "--quiet",
            ]
            let program = try RunningProgram(base + command + arguments, in: scratch)
            held.append(program)
            try program.wait(until: "it uses a GPU") {
                (try? sessions()).map { $0.values.reduce(0, +) > before.values.reduce(0, +) } == true
            }
            return program
        }

        func kill(_ program: RunningProgram) {
            program.signal(SIGKILL)
            _ = program.end()
        }

        /// What `probe` says of a node.
        func node(_ number: Int, _ arguments: [String] = ["--no-encode"], _ settings: [String] = []) throws -> [String:
            Any]
        {
            let result = try scratch.run(base + settings + [Scratch.vatoolbox, "probe", "--json"] + arguments)
            let value = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
            let nodes = try #require(value?["renderNodes"] as? [[String: Any]], "\(result)")
            return try #require(nodes.first { $0["path"] as? String == Self.path(number) })
        }

        /// How many sessions use each node.
        func sessions() throws -> [Int: Int] {
            let numbers = nodes.split(separator: ",").compactMap { Int($0.prefix(3)) }
            return try Dictionary(
                uniqueKeysWithValues: numbers.map { ($0, (try node($0)["sessions"] as? [Any])?.count ?? 0) }
            )
        }

        func breaker(_ number: Int, _ settings: [String] = []) throws -> [String: Any] {
            try #require(try node(number, ["--no-encode"], settings)["breaker"] as? [String: Any])
        }

        /// Contexts that the driver made so far, and how many processes made some.
        var contexts: Int { lines("context").count }
        /// Faults that the driver was told to have and had.
        var faults: Int { lines("fault").count }

        private func lines(_ kind: String) -> [Substring] {
            scratch.text("program-journal").split(separator: "\n").filter { $0.contains("\"kind\":\"\(kind)\"") }
        }

        /// Everything of what is known, with names.
        var files: [String] {
            let folder = scratch.path("program-state/proofs")
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.filter { !$0.hasSuffix(".lock") }.map { "\(folder)/\($0)" }
        }
    }

    // MARK: - Order

    @Test func devicesInOrder() throws {
        let machine = try Machine()
        #expect(try machine.encode().device == 128)
        let (one, other) = (Machine.path(128), Machine.path(129))
        let turned = try machine.encode(["--device", other, "--device", one])
        #expect(turned.device == 129 && turned.rejected.isEmpty && turned.frames == 5)
        // By the names that stay when numbers of nodes change.
        for name in ["0000:00:03.0", "/dev/dri/by-path/pci-0000:00:03.0-render"] {
            let named = try machine.encode(["--device", name])
            #expect(named.device == 129 && named.rejected.isEmpty, "\(name)")
        }
        // One that cannot be opened is passed over, with its cause.
        let denied = try machine.encode(["--device", other, "--device", one], ["RENDER_NODES_DENY=129=EACCES"])
        #expect(denied.device == 128 && denied.rejected.count == 1 && denied.frames == 5)
        let none = try machine.encode(["--device", other], ["RENDER_NODES_DENY=129=EACCES"])
        #expect(none.device == 0 && none.frames == 5)
        for arguments in [["--device", "auto", "--device", one], ["--device", "software", "--device", "software"]] {
            #expect(try machine.encode(arguments).document["exitStatus"] as? Int == 2)
        }
        #expect(try machine.encode(["--max-sessions", "0"]).document["exitStatus"] as? Int == 2)
    }

    /// What an open codec becomes, and why: on a GPU that has HEVC, on one that has not, and without any.
    @Test(arguments: [
        ("128=generic", "", "vaapi-hevc"), ("128=generic", "hevc=none", "vaapi-h264"), ("", "", "x264"),
    ]) func anOpenCodecIsWhatTheMachineDoesBest(nodes: String, limits: String, name: String) throws {
        let machine = try Machine(nodes: nodes, ["REFERENCE_DRIVER_LIMITS=\(limits)"])
        let encode = try machine.encode(["--codec", "auto"], output: "out.mp4")
        let encoder = try #require(encode.document["encoder"] as? [String: Any], "\(encode.result)")
        #expect(encode.device == (name == "x264" ? 0 : 128) && encode.frames == 5, "\(encode.result)")
        #expect(try machine.scratch.decodedFrameCount("out.mp4") == 5)
        let codec = name == "vaapi-hevc" ? "hevc" : "h264"
        #expect(encoder["codec"] as? String == codec)
        #expect(try machine.scratch.probe("out.mp4", "v", "stream=codec_name") == [codec])
        let reason = try #require(encoder["reason"] as? String)
        switch name {
        case "vaapi-hevc":
            #expect(reason == "GPUs are preferred to the CPU, and HEVC to H.264" && encode.rejected.isEmpty)
        case "vaapi-h264":
            #expect(reason.hasPrefix("GPUs are preferred to the CPU; previous candidate: "), "\(reason)")
            #expect(encode.rejected.map { $0["name"] as? String } == ["vaapi-hevc on \(Machine.path(128))"])
            #expect(encode.reasons.contains("HEVC"), "\(encode.reasons)")
        default:
            #expect(encode.rejected.map { $0["name"] as? String } == ["GPU"] && reason.hasPrefix("GPU: "), "\(reason)")
        }
    }

    // MARK: - Other processes

    @Test func sessionsSpreadAndLeaveWithTheirProcesses() throws {
        let machine = try Machine()
        let first = try machine.hold(["--spread"])
        #expect(try machine.sessions() == [128: 1, 129: 0])
        #expect(try machine.encode(["--spread"]).device == 129)
        #expect(try machine.encode().device == 128)
        let second = try machine.hold(["--spread"])
        #expect(try machine.sessions() == [128: 1, 129: 1])
        machine.kill(first)
        #expect(try machine.sessions() == [128: 0, 129: 1])
        #expect(try machine.encode(["--spread"]).device == 128)
        machine.kill(second)
        #expect(try machine.sessions() == [128: 0, 129: 0])
    }

    @Test func aDeviceAtItsLimitIsBusy() throws {
        let machine = try Machine()
        let first = try machine.hold(["--max-sessions", "1"])
        let second = try machine.encode(["--max-sessions", "1"])
        #expect(second.device == 129 && second.causes == ["busy"], "\(second.result)")
        let holder = try machine.hold(["--max-sessions", "1"])
        #expect(try machine.sessions() == [128: 1, 129: 1])
        let third = try machine.encode(["--max-sessions", "1"])
        #expect(third.device == 0 && third.causes == ["busy", "busy"] && third.frames == 5)
        let required = try machine.encode(["--max-sessions", "1", "--require-hardware"])
        #expect(required.errorCode == "busy" && required.document["exitStatus"] as? Int == 1)
        // A higher limit, and none.
        #expect(try machine.encode(["--max-sessions", "2"]).device == 128)
        #expect(try machine.encode().device == 128)
        machine.kill(first)
        #expect(try machine.encode(["--max-sessions", "1"]).device == 128)
        machine.kill(holder)
        // That a device was busy is no failure of it.
        for number in [128, 129] { #expect(try machine.breaker(number)["failures"] as? Int == 0) }
    }

    @Test(arguments: ["0x22", "2"]) func aDriverThatIsBusyIsNotBroken(status: String) throws {
        let machine = try Machine(["REFERENCE_DRIVER_FAULTS=vaCreateContext:*=status:\(status)"])
        let encode = try machine.encode(["--device", Machine.path(128)])
        #expect(encode.device == 0 && encode.causes == ["busy"] && encode.frames == 5, "\(encode.result)")
        #expect(try machine.breaker(128)["failures"] as? Int == 0)
        #expect(machine.files.isEmpty)
        let required = try machine.encode(["--require-hardware"])
        #expect(required.errorCode == "busy")
    }

    // MARK: - Proofs

    @Test(arguments: [
        ("coded:4=size:0", "bytes"), ("coded:4=size:6", "parses"), ("coded:4=negative", "decodes"),
        ("vaEndPicture:3=segv", "submit"), ("vaSyncBuffer:2=status:1", "sync"),
    ]) func aDriverThatSaysYesIsFoundOut(fault: String, stage: String) throws {
        let machine = try Machine(["REFERENCE_DRIVER_FAULTS=\(fault)"])
        let encode = try machine.encode(["--device", Machine.path(128)])
        #expect(encode.device == 0 && encode.frames == 5, "\(encode.result)")
        #expect(encode.reasons.contains(" at \(stage): "), "\(encode.reasons)")
        // What the driver did is told; what came out wrong is the test encode's own finding.
        let causes = ["submit": "driver-crashed", "sync": "driver-call-failed"]
        #expect(encode.causes.first == causes[stage] ?? "proof-failed", "\(encode.causes)")
        // It is known now: no driver is asked.
        let contexts = machine.contexts
        let again = try machine.encode(["--device", Machine.path(128)])
        #expect(again.device == 0 && again.reasons.contains("the next attempt is in") && machine.contexts == contexts)
        // Another size is another question, and another device is as well.
        _ = try machine.encode(["--device", Machine.path(128), "--size", "96x96"])
        #expect(machine.contexts > contexts)
        #expect(try machine.node(128)["proofs"].map { ($0 as? [Any])?.count } == 2)
        #expect(try machine.node(129)["proofs"].map { ($0 as? [Any])?.count } == 0)
        let required = try machine.encode(["--require-hardware", "--device", Machine.path(128)])
        #expect(required.errorCode == "proof-failed")
    }

    @Test func aProofIsMadeOnce() throws {
        let machine = try Machine()
        let arguments = ["--device", Machine.path(128)]
        #expect(try machine.encode(arguments).device == 128)
        // The test encode has one context; the encode has two, of which the first ends when the first picture tells its colour.
        let first = machine.contexts
        #expect(try machine.encode(arguments).device == 128)
        let cost = machine.contexts - first
        #expect(first == cost + 1)
        // The rate is no other question.
        #expect(try machine.encode(arguments + ["--bitrate", "200k"]).device == 128)
        #expect(machine.contexts == first + 2 * cost)
        // A damaged file, one of another kind, and an empty one are none.
        #expect(machine.files.count == 1)
        for text in ["", "nonsense\n", "vatoolbox-state 1\nsum 0\n"] {
            for file in machine.files { try text.write(toFile: file, atomically: false, encoding: .utf8) }
            let before = machine.contexts
            #expect(try machine.encode(arguments).device == 128)
            #expect(machine.contexts == before + cost + 1)
        }
        // What was forgotten is asked again.
        let before = machine.contexts
        _ = try machine.node(128, ["--no-encode", "--reset"])
        #expect(machine.files.isEmpty)
        #expect(try machine.encode(arguments).device == 128)
        #expect(machine.contexts == before + cost + 1)
    }

    /// Where nothing can be kept, everything works and is asked anew.
    @Test func aFolderThatCannotBeWritten() throws {
        let machine = try Machine()
        let settings = ["VATOOLBOX_STATE=/proc/vatoolbox"]
        for _ in 0..<2 {
            let encode = try machine.encode(["--spread", "--max-sessions", "1"], settings)
            #expect(encode.device == 128 && encode.frames == 5 && encode.result.errors.isEmpty, "\(encode.result)")
        }
        #expect(machine.files.isEmpty)
    }

    /// Nor is a GPU busy because nobody can say whether it is, as in a home directory on some servers.
    @Test(arguments: [ENOLCK, EINVAL, EOPNOTSUPP]) func aFolderThatCannotBeLocked(error: Int32) throws {
        let machine = try Machine()
        let refusing = [try BuiltProgram.path("SandboxEscapes"), "--refuse", "\(error)", "ofd_lock"]
        let encode = try machine.encode(["--spread", "--max-sessions", "1"], refusing)
        #expect(encode.device == 128 && encode.frames == 5 && encode.result.errors.isEmpty, "\(encode.result)")
        #expect(machine.files.isEmpty)
    }

    /// Processes that come at the same time make one proof between them, and all of them encode.
    @Test func processesAtTheSameTime() throws {
        let alone = try Machine()
        _ = try alone.encode(["--device", Machine.path(128)])
        let cost = alone.contexts - 1
        let machine = try Machine()
        let programs = try (0..<4).map { _ in try machine.start(["--device", Machine.path(128)]) }
        for program in programs { #expect(program.end() == 0, "\(program.errors)") }
        #expect(machine.contexts == 4 * cost + 1)
        #expect(machine.files.count == 1)
        #expect(try machine.sessions() == [128: 0, 129: 0])
    }

    @Test func theProbeSaysWhatIsProved() throws {
        let machine = try Machine(nodes: "128=generic", ["REFERENCE_DRIVER_LIMITS=size=2048x2048"])
        func test(_ arguments: [String]) throws -> [String: Any]? {
            try machine.node(128, arguments)["testEncode"] as? [String: Any]
        }
        #expect(try test(["--no-encode"]) == nil)
        let fresh = try test([])
        #expect(fresh?["status"] as? String == "passed" && fresh?["decoded"] as? Bool == true)
        #expect(fresh?["fresh"] as? Bool == true)
        #expect(try test([])?["fresh"] as? Bool == false)
        #expect((fresh?["until"] as? Double ?? 0) - (fresh?["time"] as? Double ?? 0) == 7 * 86400)
    }

    /// A driver that hangs costs a session one deadline, however many codecs are open to it. What is known of a codec
    /// then costs the next session none.
    @Test func aDriverThatHangsIsTriedForOneCodec() throws {
        let machine = try Machine(nodes: "128=generic", ["REFERENCE_DRIVER_FAULTS=vaCreateContext:*=hang"])
        let hung = "the driver does not answer: a test encode failed at config: "
        let other = "the driver does not answer: not tried for H.264, because it has just hung in the test encode "
        for (tries, reason) in [(1, other + "for HEVC"), (2, hung), (2, hung)] {
            let encode = try machine.encode(["--codec", "auto"], output: "\(UUID().uuidString).mp4")
            #expect(encode.device == 0 && encode.frames == 5, "\(encode.result)")
            let encoder = try #require(encode.document["encoder"] as? [String: Any])
            #expect((encoder["name"] as? String)?.hasPrefix("x264 ") == true, "\(encoder)")
            #expect(encode.causes == ["driver-hung", "driver-hung"], "\(encode.causes)")
            let reasons = encode.rejected.compactMap { $0["reason"] as? String }
            #expect(reasons.count == 2 && reasons[0].hasPrefix(hung) && reasons[1].hasPrefix(reason), "\(reasons)")
            #expect(machine.faults == tries)
        }
    }

    // MARK: - Breakers

    /// Two failures open it; nobody asks the driver then; after the pause one does, and what that finds out holds for all.
    @Test func aDeviceThatFailsIsLeftAlone() throws {
        let broken = "REFERENCE_DRIVER_FAULTS=vaEndPicture:2=abort"
        let machine = try Machine()
        let long = "VATOOLBOX_BREAKER=2,600,3000,3600"
        let arguments = ["--device", Machine.path(128)]
        func failing(_ size: String) throws -> Machine.Encode {
            try machine.encode(arguments + ["--size", size], [long, broken])
        }
        #expect(try failing("64x64").causes == ["driver-crashed"])
        #expect(try machine.breaker(128, [long])["failures"] as? Int == 1)
        #expect(try failing("80x80").causes == ["driver-crashed"])
        #expect(try machine.breaker(128, [long])["state"] as? String == "open")
        let contexts = machine.contexts
        let left = try failing("96x96")
        #expect(left.causes == ["suspended"] && left.device == 0 && left.frames == 5, "\(left.result)")
        #expect(machine.contexts == contexts && left.reasons.contains("is suspended"))
        #expect(try machine.encode(arguments + ["--require-hardware"], [long]).errorCode == "suspended")
        // The other device is not concerned.
        #expect(try machine.encode(["--size", "112x112"], [long]).device == 129)
        #expect(try machine.breaker(129, [long])["state"] as? String == "closed")
        // What is known can be forgotten.
        _ = try machine.node(128, ["--no-encode", "--reset"], [long])
        #expect(try machine.encode(arguments, [long]).device == 128)
    }

    @Test func oneTriesItAgain() throws {
        let machine = try Machine()
        // A pause that is over when the next process comes.
        let times = "VATOOLBOX_BREAKER=1,600,0.001,0.001"
        let arguments = ["--device", Machine.path(128)]
        let abort = "REFERENCE_DRIVER_FAULTS=vaEndPicture:2=abort"
        #expect(try machine.encode(arguments, [times, abort]).causes == ["driver-crashed"])
        #expect(try machine.breaker(128, [times])["state"] as? String == "half-open")
        // One tries it, whatever is known of the configuration, and hangs.
        let trial = try machine.start(
            arguments + ["--size", "80x80"],
            [times, "REFERENCE_DRIVER_FAULTS=vaCreateContext:*=hang"]
        )
        try trial.wait(until: "it is tried") { (try? machine.breaker(128, [times])["tried"] as? Bool) == true }
        let other = try machine.encode(arguments, [times])
        #expect(other.causes == ["suspended"] && other.reasons.contains("another session"), "\(other.result)")
        // That one is gone, without a word.
        trial.signal(SIGKILL)
        _ = trial.end()
        #expect(try machine.breaker(128, [times])["tried"] as? Bool == false)
        // The next one tries it, though the configuration was refuted, and it works.
        let next = try machine.encode(arguments, [times])
        #expect(next.device == 128 && next.rejected.isEmpty, "\(next.result)")
        #expect(try machine.breaker(128, [times])["state"] as? String == "closed")
    }

    /// What fails in the session itself counts as well, and takes the proof with it.
    @Test func aProofThatIsContradictedIsDropped() throws {
        let machine = try Machine()
        let arguments = ["--device", Machine.path(128)]
        #expect(try machine.encode(arguments).device == 128)
        #expect(machine.files.count == 1)
        let failing = try machine.encode(arguments, ["REFERENCE_DRIVER_FAULTS=vaCreateContext:*=status:1"])
        #expect(failing.device == 0 && failing.frames == 5, "\(failing.result)")
        #expect(machine.files.isEmpty)
        #expect(try machine.breaker(128)["state"] as? String == "open")
    }
}
