// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import TestSupport
import Testing

/// What an application is told that asks whether the GPUs of the machine do something, before it makes a session.
@Suite struct HardwareSupportTests {
    /// What a program was told that asked once.
    private struct Answers {
        /// Of the line for encoding, and that for decoding.
        let encode, decode: [String: Any]

        static func any(_ line: [String: Any], _ name: String = "any") -> Bool? { line[name] as? Bool }

        static func devices(_ line: [String: Any]) -> [[String: Any]] { line["devices"] as? [[String: Any]] ?? [] }

        /// For each device whether it can, and what has to change if not.
        static func verdicts(_ line: [String: Any]) -> [String] {
            devices(line).map { device in
                let name = (device["device"] as? String ?? "").suffix(3)
                return device["supported"] as? Bool == true ? "\(name) yes" : "\(name) \(device["cause"] ?? "")"
            }
        }
    }

    private func ask(
        _ codec: String,
        _ options: [String] = [],
        nodes: String = "128=generic",
        driver: String = "libref",
        with settings: [String] = [],
        in scratch: Scratch
    ) throws -> Answers {
        let program = try BuiltProgram.path("HardwareScenarios")
        let own = ["VATOOLBOX_STATE=\(scratch.path("state"))", "VATOOLBOX_SANDBOX_WRITABLE=\(scratch.folder)"]
        let result = try scratch.run(
            Scratch.machine(nodes: nodes, driver: driver, own + settings)
                + [program, "support", codec] + options
        )
        #expect(result.status == 0, "\(result)")
        let lines = try result.output.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        return Answers(
            encode: try #require(lines.first { $0["kind"] as? String == "encode" }, "\(result)"),
            decode: try #require(lines.first { $0["kind"] as? String == "decode" }, "\(result)")
        )
    }

    @Test func aDriverThatEncodesIsProvedToDoSo() throws {
        let scratch = try Scratch()
        let journal = "REFERENCE_DRIVER_JOURNAL=\(scratch.path("journal"))"
        let answers = try ask("h264", ["b-frames=2"], with: [journal], in: scratch)
        #expect(Answers.any(answers.encode) == true && Answers.any(answers.encode, "usual") == true)
        #expect(Answers.verdicts(answers.encode) == ["128 yes"], "\(answers)")
        // Yes means that pictures were encoded, B-frames among them, and at 1280x720 with the defaults.
        let lines = try String(contentsOfFile: scratch.path("journal"), encoding: .utf8).split(separator: "\n")
        let pictures = lines.filter { $0.contains("\"kind\": \"picture\"") || $0.contains("\"kind\":\"picture\"") }
        #expect(pictures.contains { $0.contains("\"B\"") } && pictures.contains { $0.contains("1280") })
        // The reference driver lists no decoder.
        #expect(Answers.any(answers.decode) == false && Answers.devices(answers.decode).count == 1)
        #expect(Answers.verdicts(answers.decode) == ["128 driver-without-codec"], "\(answers)")
    }

    @Test func eachDeviceAnswersForItself() throws {
        let scratch = try Scratch()
        let fault = "REFERENCE_DRIVER_FAULTS=vaEndPicture@129:*=status:0x18"
        let answers = try ask("h264", nodes: "128=generic,129=generic", with: [fault], in: scratch)
        #expect(Answers.any(answers.encode) == true)
        #expect(Answers.verdicts(answers.encode) == ["128 yes", "129 driver-call-failed"], "\(answers)")
        let reason = Answers.devices(answers.encode)[1]["reason"] as? String ?? ""
        #expect(reason.contains("a test encode failed") && reason.contains("vaEndPicture"), "\(reason)")
    }

    @Test func noIsTheAnswerOfADriverThatDoesNotDoIt() throws {
        let scratch = try Scratch()
        let answers = try ask("h264", ["b-frames=2"], with: ["REFERENCE_DRIVER_LIMITS=h264=none"], in: scratch)
        #expect(Answers.any(answers.encode) == false && Answers.any(answers.encode, "usual") == false)
        #expect(Answers.devices(answers.encode).allSatisfy { ($0["reason"] as? String)?.isEmpty == false })
    }

    /// A driver that only decodes: what an encoder cannot use a player can.
    @Test func decodingIsWhatADriverLists() throws {
        let scratch = try Scratch()
        let answers = try ask("h264", with: ["REFERENCE_DRIVER_LIMITS=h264=decode"], in: scratch)
        #expect(Answers.any(answers.encode) == false && Answers.any(answers.decode) == true, "\(answers)")
        #expect(Answers.verdicts(answers.decode) == ["128 yes"], "\(answers)")
    }

    @Test func aDriverThatCrashesIsAnAnswer() throws {
        let scratch = try Scratch()
        let answers = try ask("h264", with: ["REFERENCE_DRIVER_FAULTS=vaInitialize:*=segv"], in: scratch)
        #expect(Answers.verdicts(answers.encode) == ["128 driver-crashed"], "\(answers)")
        #expect(Answers.verdicts(answers.decode) == ["128 driver-crashed"], "\(answers)")
        let remedies = (Answers.devices(answers.encode) + Answers.devices(answers.decode)).map { $0["remedies"] }
        #expect(remedies.allSatisfy { ($0 as? [String])?.isEmpty == false }, "\(answers)")
    }

    @Test func aMachineWithoutGPUsSaysNo() throws {
        let scratch = try Scratch()
        let answers = try ask("hevc", nodes: "", in: scratch)
        #expect(Answers.any(answers.encode) == false && Answers.devices(answers.encode).isEmpty)
        #expect(Answers.any(answers.decode) == false && Answers.devices(answers.decode).isEmpty)
    }
}
