// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import TestSupport
import Testing

/// Which GPU, or the CPU, `vatoolbox decode` uses, what it says about it, and what `probe` says about decoders.
@Suite struct HardwareDecodingTests {
    /// Fake GPUs that decode, and what is known of them.
    private final class Machine {
        let scratch: Scratch
        private let base: [String]

        init(nodes: String = "128=generic", decode: String = "decode=h264,hevc") throws {
            scratch = try Scratch()
            let own = [
                "REFERENCE_DRIVER_LIMITS=\(decode)", "VATOOLBOX_STATE=\(scratch.path("state"))", "VATOOLBOX_PROOF=on",
            ]
            base = try Scratch.machine(nodes: nodes, own)
        }

        func make(_ name: String, _ options: String...) throws {
            let words = options.flatMap { $0.split(separator: " ").map(String.init) }
            try scratch.generate("testsrc2=size=192x112:rate=25:duration=1", words + [scratch.path(name)])
        }

        func run(_ arguments: String..., with settings: [String] = [], status: Int32 = 0) throws -> ProgramResult {
            let result = try scratch.run(base + settings + [Scratch.vatoolbox] + arguments)
            #expect(result.status == status, "\(result)")
            return result
        }

        /// What came of a decode.
        struct Decode {
            let document: [String: Any]

            var decoder: [String: Any] { document["decoder"] as? [String: Any] ?? [:] }
            var device: String? { decoder["device"] as? String }
            var proof: String? { decoder["proof"] as? String }
            var rejected: [[String: Any]] { decoder["rejected"] as? [[String: Any]] ?? [] }
            var causes: [String] { rejected.map { $0["cause"] as? String ?? "-" } }
            var reasons: String { rejected.compactMap { $0["reason"] as? String }.joined(separator: "\n") }
            var remedies: [String] { rejected.flatMap { $0["remedies"] as? [String] ?? [] } }
            var pictures: Int { document["pictures"] as? Int ?? -1 }
            var failures: [String] { document["failures"] as? [String] ?? [] }
            var error: [String: Any] { document["error"] as? [String: Any] ?? [:] }
        }

        func decode(_ arguments: [String], with settings: [String] = [], status: Int32 = 0) throws -> Decode {
            let result = try scratch.run(base + settings + [Scratch.vatoolbox, "decode"] + arguments + ["--json"])
            #expect(result.status == status, "\(result)")
            let value = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
            return Decode(document: try #require(value, "\(result)"))
        }

        /// The number of stored results of tests.
        var proofs: Int {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: scratch.path("state/proofs"))) ?? []
            return names.count { !$0.hasSuffix(".lock") }
        }

        func pictures(_ name: String) throws -> [String] {
            let hashes = try scratch.tool("ffmpeg", "-v", "error", "-i", scratch.path(name), "-f", "framemd5", "-")
            return hashes.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { line in
                line.split(separator: ",").last.map { $0.trimmingCharacters(in: .whitespaces) }
            }
        }
    }

    private static let h264 = "-c:v libx264 -bf 3 -pix_fmt yuv420p"
    private static let ten = "-c:v libx265 -x265-params log-level=none -pix_fmt yuv420p10le"

    @Test func aGPUDecodesOnceItIsProved() throws {
        let machine = try Machine()
        try machine.make("film.mp4", Self.h264)
        try machine.make("ten.mp4", Self.ten)
        for (name, count) in [("film.mp4", 1), ("film.mp4", 1), ("ten.mp4", 2)] {
            let decode = try machine.decode([name, "-o", "out.y4m", "--overwrite"])
            #expect(decode.device == "/dev/dri/renderD128" && decode.proof == "decoded" && decode.rejected.isEmpty)
            #expect(try machine.pictures("out.y4m") == machine.pictures(name), "\(name)")
            #expect(machine.proofs == count)
        }
        let text = try machine.run("decode", "film.mp4", "-o", "null").errors
        for words in ["on /dev/dri/renderD128, in a helper process", "why       GPUs are preferred to the CPU"] {
            #expect(text.contains(words), "\(text)")
        }
    }

    /// A driver whose fifth picture is wrong is not used, and the reason is told.
    @Test func wrongPicturesAreFoundBeforeTheFirstFrame() throws {
        let machine = try Machine()
        try machine.make("film.mp4", Self.h264)
        let fault = ["REFERENCE_DRIVER_FAULTS=decoded:5=negative"]
        let decode = try machine.decode(["film.mp4", "-o", "out.y4m"], with: fault)
        #expect(decode.device == nil && decode.causes == ["proof-failed"] && decode.failures.count == 1)
        #expect(decode.reasons.contains("a test decode failed at matches: 1 of 8 pictures are wrong"), "\(decode)")
        #expect(try machine.pictures("out.y4m") == machine.pictures("film.mp4"))
        let text = try machine.run("decode", "film.mp4", "-o", "null", with: fault).errors
        #expect(text.contains("1 of 8 pictures are wrong") && text.contains("try       see "), "\(text)")
        let refused = try machine.decode(["film.mp4", "-o", "null", "--decoder", "hardware"], with: fault, status: 1)
        #expect(refused.error["code"] as? String == "proof-failed", "\(refused.error)")
        #expect((refused.error["remedies"] as? [String])?.isEmpty == false)
    }

    @Test func aDriverThatCrashesEndsOnlyItsHelper() throws {
        let machine = try Machine()
        try machine.make("film.mp4", Self.h264)
        let decode = try machine.decode(
            ["film.mp4", "-o", "out.y4m"],
            with: ["REFERENCE_DRIVER_FAULTS=vaEndPicture:3=segv", "SWIFT_BACKTRACE=enable=no"]
        )
        #expect(decode.causes == ["driver-crashed"] && decode.pictures == 25)
        #expect(decode.reasons.contains("test decode") && decode.reasons.contains("SIGSEGV"), "\(decode.reasons)")
        #expect(try machine.pictures("out.y4m") == machine.pictures("film.mp4"))
    }

    /// The words are about decoding.
    @Test func aProfileThatTheDriverLacksIsNamed() throws {
        let machine = try Machine(decode: "decode=h264")
        try machine.make("ten.mp4", Self.ten)
        try machine.make("wide.mp4", "-c:v libx264 -pix_fmt yuv422p")
        let decode = try machine.decode(["ten.mp4", "-o", "null"])
        #expect(decode.device == nil && decode.causes == ["driver-without-codec"] && decode.pictures == 25)
        #expect(
            decode.reasons.contains("decodes no HEVC Main 10") && decode.reasons.contains("H264High"),
            "\(decode.reasons)"
        )
        #expect(decode.remedies == ["decode on another GPU or on the CPU: vatoolbox decode --decoder software ..."])
        let hardware = try machine.decode(["ten.mp4", "-o", "null", "--decoder", "hardware"], status: 1)
        #expect(hardware.error["code"] as? String == "unsupported")
        #expect(hardware.error["cause"] as? String == "driver-without-codec")
        let wide = try machine.decode(["wide.mp4", "-o", "null"])
        #expect(wide.causes == ["format-missing"] && wide.pictures == 25)
        #expect(wide.reasons.contains("decodes no 4:2:2 of 8 bits in H.264 on GPUs"), "\(wide.reasons)")
        // What the GPU cannot decode is no failure of the GPU.
        #expect(machine.proofs == 0)
    }

    @Test func devicesAreChosenAsInEncode() throws {
        let machine = try Machine(nodes: "128=generic,129=generic")
        try machine.make("film.mp4", Self.h264)
        let second = try machine.decode(["film.mp4", "-o", "null", "--device", "/dev/dri/renderD129"])
        #expect(second.device == "/dev/dri/renderD129")
        let fault = ["REFERENCE_DRIVER_FAULTS=decoded@129:2=negative"]
        try FileManager.default.removeItem(atPath: machine.scratch.path("state"))
        let order = ["film.mp4", "-o", "null", "--device", "/dev/dri/renderD129", "--device", "/dev/dri/renderD128"]
        let first = try machine.decode(order, with: fault)
        #expect(first.device == "/dev/dri/renderD128" && first.causes == ["proof-failed"])
        #expect(try machine.decode(["film.mp4", "-o", "null", "--device", "software"]).device == nil)
        let cases: [(arguments: [String], text: String)] = [
            (["--device", "gpu"], "--device"),
            (["--device", "software", "--decoder", "hardware"], "--decoder hardware"),
            (["--device", "/dev/dri/renderD128", "--decoder", "software"], "--decoder software"),
            (["--device", "auto", "--device", "software"], "one of them, or several render nodes"),
        ]
        for (arguments, text) in cases {
            let refused = try machine.decode(["film.mp4", "-o", "null"] + arguments, status: 2)
            #expect("\(refused.error)".contains(text), "\(arguments): \(refused.error)")
        }
        let missing = try machine.decode(
            ["film.mp4", "-o", "null", "--device", "/dev/dri/renderD140", "--decoder", "hardware"],
            status: 1
        )
        #expect(missing.error["cause"] as? String == "unknown-device", "\(missing.error)")
    }

    @Test func withoutGPUHardwareIsUnavailable() throws {
        let machine = try Machine(nodes: "")
        try machine.make("film.mp4", Self.h264)
        let refused = try machine.decode(["film.mp4", "-o", "null", "--decoder", "hardware"], status: 1)
        #expect(refused.error["code"] as? String == "unavailable")
        #expect(
            (refused.error["message"] as? String)?.hasPrefix("no decoder can be used: ") == true,
            "\(refused.error)"
        )
        #expect((refused.error["remedies"] as? [String])?.isEmpty == false)
    }

    // MARK: - probe

    private func node(_ result: ProgramResult) throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        return try #require((value?["renderNodes"] as? [[String: Any]])?.first)
    }

    @Test func probeListsAndTriesDecoders() throws {
        let machine = try Machine()
        let node = try node(machine.run("probe", "--json"))
        let driver = try #require(node["driver"] as? [String: Any])
        let decoders = try #require(driver["decoders"] as? [[String: Any]])
        #expect(decoders.compactMap { $0["profile"] as? String }.contains("HEVCMain10"))
        for decoder in decoders where decoder["profile"] as? String == "HEVCMain10" {
            #expect(decoder["codec"] as? String == "hevc" && decoder["bitDepth"] as? Int == 10)
            #expect(decoder["maximumWidth"] as? Int ?? 0 >= 1920 && decoder["shortcoming"] is NSNull)
        }
        let tests = try #require(node["testDecodes"] as? [[String: Any]])
        let names = tests.map {
            "\($0["codec"] ?? "") \($0["stream"] ?? "") \($0["status"] ?? "") \($0["decoded"] ?? "")"
        }
        let streams = ["h264 main", "h264 high", "h264 high interlaced", "hevc main", "hevc main10"]
        #expect(names == streams.map { "\($0) passed 1" }, "\(names)")
        let breakers = try #require(node["decodingBreakers"] as? [[String: Any]])
        #expect(breakers.map { "\($0["codec"] ?? "") \($0["state"] ?? "")" } == ["h264 closed", "hevc closed"])
        let text = try machine.run("probe").output
        #expect(text.contains("decode    works: h264 main, h264 high,") && text.contains("known"), "\(text)")
        #expect(text.contains("decodes   H264"), "\(text)")
        for line in text.split(separator: "\n") where !line.contains("vatoolbox ") {
            #expect(line.count <= 80, "\(line)")
        }
        let listed = try self.node(machine.run("probe", "--json", "--no-encode"))
        #expect((listed["testDecodes"] as? [Any])?.isEmpty == true)
    }

    @Test func probeTellsWhichDecoderFails() throws {
        let machine = try Machine(decode: "decode=h264")
        let fault = ["REFERENCE_DRIVER_FAULTS=decoded:3=negative"]
        let node = try node(machine.run("probe", "--json", with: fault))
        let tests = try #require(node["testDecodes"] as? [[String: Any]])
        #expect(tests.count == 3 && tests.allSatisfy { $0["failedStage"] as? String == "matches" }, "\(tests)")
        let text = try machine.run("probe", with: fault).output
        #expect(text.contains("h264 high fails at matches: 1 of 8 pictures are wrong"), "\(text)")
        let none = try Machine(decode: "decode=none")
        #expect(try none.run("probe").output.contains("decodes   nothing of H.264 or HEVC"))
    }
}
