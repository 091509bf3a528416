// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import TestSupport
import Testing

/// `vatoolbox decode` and the program in which GPUs decode: where it is, and what is said if it is not there.
@Suite struct DecodingHelperTests {
    private static let variable = "VATOOLBOX_DECODING_HELPER"
    private static let device = "/dev/dri/renderD128"
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
        try scratch.makeFilm("film.mp4", seconds: 1)
    }

    /// Runs `vatoolbox decode` on a machine with a GPU that decodes.
    private func decode(
        _ decoder: String,
        _ settings: [String] = [],
        _ options: [String] = [],
        command: String = Scratch.vatoolbox
    ) throws -> ProgramResult {
        let machine = try Scratch.machine(["REFERENCE_DRIVER_LIMITS=decode=h264,hevc"] + settings)
        return try scratch.run(machine + [command, "decode", "film.mp4", "-o", "null", "--decoder", decoder] + options)
    }

    private func document(_ decoder: String, _ settings: [String] = []) throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(
            with: Data(try decode(decoder, settings, ["--json"]).output.utf8)
        )
        return try #require(value as? [String: Any])
    }

    /// What is said if a GPU is required: the error's line and its remedies, and in `--json` its cause.
    private func expectRefusal(
        _ settings: [String],
        _ cause: String,
        _ error: String,
        _ remedies: [String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let result = try decode("hardware", settings)
        #expect(result.status == 1, sourceLocation: sourceLocation)
        let lines = ["vatoolbox: error: \(error)"] + remedies.map { "vatoolbox: try: \($0)" }
        #expect(result.errorLines == lines, sourceLocation: sourceLocation)
        let told = try #require(try document("hardware", settings)["error"] as? [String: Any])
        #expect(told["cause"] as? String == cause, sourceLocation: sourceLocation)
        #expect(told["remedies"] as? [String] == remedies, sourceLocation: sourceLocation)
    }

    /// What is said if a GPU is only preferred: the CPU decodes everything, and the summary has the failure and what to do.
    private func expectFallback(
        _ settings: [String],
        _ error: String,
        _ remedies: [String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let result = try decode("auto", settings)
        #expect(result.status == 0, sourceLocation: sourceLocation)
        let text = result.errors.split { $0.isWhitespace }.joined(separator: " ")
        for words in ["libavcodec", error, "25 pictures"] + remedies.map({ "try \($0)" }) {
            #expect(text.contains(words), "\(words): \(result.errors)", sourceLocation: sourceLocation)
        }
        let told = try document("auto", settings)
        #expect(told["pictures"] as? Int == 25, sourceLocation: sourceLocation)
        let decoder = try #require(told["decoder"] as? [String: Any], sourceLocation: sourceLocation)
        let name = decoder["name"] as? String
        #expect(name == "libavcodec" && decoder["device"] is NSNull, sourceLocation: sourceLocation)
        let failures = try #require(told["failures"] as? [String], sourceLocation: sourceLocation)
        #expect(failures.first?.contains(error) == true, sourceLocation: sourceLocation)
    }

    private static let missing = [
        "set its path: export \(variable)=/path/to/vatoolbox-decoding-helper",
        "build it next to the program: swift build -c release --product vatoolbox-decoding-helper",
    ]
    private static let another = [
        "build the helper from the same version as the program: swift build -c release --product "
            + "vatoolbox-decoding-helper",
        "check whether \(variable) or PATH points to another one: unset \(variable)",
    ]

    /// The path of the other program is of no concern to it.
    @Test(arguments: ["auto", "hardware"]) func aGPUDecodes(decoder: String) throws {
        let told = try document(decoder, ["VATOOLBOX_HELPER=/nowhere/vatoolbox-helper"])
        #expect(told["pictures"] as? Int == 25 && told["failures"] as? [String] == [])
        let used = try #require(told["decoder"] as? [String: Any])
        #expect(used["name"] as? String == "vaapi-h264" && used["device"] as? String == Self.device)
    }

    @Test func aProgramThatIsNotWhereTheVariableSaysIsNamed() throws {
        let path = "/nowhere/vatoolbox-decoding-helper"
        let settings = ["\(Self.variable)=\(path)"]
        let error = "the helper program (\(Self.variable)) cannot be run: given \(path)"
        try expectRefusal(settings, "helper-missing", error, Self.missing)
        try expectFallback(settings, error, Self.missing)
    }

    /// An installation of the command and of the helper that encodes, as it was before GPUs decoded.
    @Test func aProgramThatWasNotInstalledIsNamed() throws {
        for program in ["vatoolbox", "vatoolbox-helper"] {
            // By another process: a program that is started meanwhile would inherit a descriptor that writes the copy, which
            // could then not be executed.
            let copy = try Process.run(
                URL(fileURLWithPath: "/bin/cp"),
                arguments: [BuiltProgram.path(program), scratch.path(program)]
            )
            copy.waitUntilExit()
            try #require(copy.terminationStatus == 0)
        }
        let settings = ["\(Self.variable)=", "PATH=/nowhere/bin:/nowhere/sbin"]
        let result = try decode("hardware", settings, command: scratch.path("vatoolbox"))
        #expect(result.status == 1)
        let places = [scratch.folder, "/nowhere/bin", "/nowhere/sbin"].map { "\($0)/vatoolbox-decoding-helper" }
        let error = "the helper program vatoolbox-decoding-helper was not found; set \(Self.variable) to its path"
        #expect(
            result.errorLines == ["vatoolbox: error: \(error): allowed \(places.joined(separator: ", "))"]
                + Self.missing.map { "vatoolbox: try: \($0)" }
        )
        let fallback = try decode("auto", settings, command: scratch.path("vatoolbox"))
        #expect(fallback.status == 0 && fallback.errors.contains("25 pictures"))
        #expect(fallback.errors.contains("vatoolbox-decoding-helper was not found"))
    }

    /// It is a helper of the same version, but decodes nothing.
    @Test func theProgramThatEncodesIsNoSubstitute() throws {
        let path = try BuiltProgram.path("vatoolbox-helper")
        let settings = ["\(Self.variable)=\(path)"]
        let error = "the helper program has no decoders: given vaapi-h264 on \(Self.device) (\(path))"
        try expectRefusal(settings, "helper-mismatch", error, Self.another)
        try expectFallback(settings, error, Self.another)
    }

    @Test func aProgramOfAnotherVersionIsNoSubstitute() throws {
        // The header of a greeting whose protocol is another.
        let greeting = [UInt8]("VTIP".utf8) + [0xE7, 0x03, 2, 0] + [UInt8](repeating: 0, count: 16)
        let octal = greeting.map { "\\" + String(Int($0) + 0o1000, radix: 8).dropFirst() }.joined()
        let script = "#!/bin/sh\nprintf '\(octal)' >&3\nexec cat <&3 >&2\n"
        try ProgramText.write(script, to: scratch.path("helper"))
        let settings = ["\(Self.variable)=\(scratch.path("helper"))"]
        let result = try decode("hardware", settings)
        #expect(result.status == 1)
        #expect(result.errorLines.first?.contains("sent a message that cannot be read") == true, "\(result.errors)")
        #expect(result.errorLines.dropFirst() == Self.another.map { "vatoolbox: try: \($0)" }[...])
        let told = try #require(try document("hardware", settings)["error"] as? [String: Any])
        #expect(told["cause"] as? String == "helper-mismatch")
        try expectFallback(settings, "the helper process sent a message that cannot be read", Self.another)
    }

    /// The dynamic linker loads FFmpeg's libraries and those on which they depend at every start of a program, whether it
    /// uses them or not. A helper that encodes must not pay for that.
    @Test func onlyTheProgramThatDecodesLoadsFFmpeg() throws {
        func libraries(_ program: String) throws -> [String] {
            try scratch.tool("ldd", BuiltProgram.path(program)).split(separator: "\n").compactMap { line in
                line.split(separator: " ").first.map { $0.trimmingCharacters(in: .whitespaces) }
            }
        }
        func ofFFmpeg(_ libraries: [String]) -> [String] {
            libraries.filter { name in
                ["libav", "libswscale", "libswresample", "libpostproc"].contains { name.hasPrefix($0) }
            }
        }
        let encoding = try libraries("vatoolbox-helper")
        #expect(encoding.contains { $0.hasPrefix("libva.so") } && encoding.contains { $0.hasPrefix("libx264.so") })
        #expect(ofFFmpeg(encoding) == [])
        let decoding = try ofFFmpeg(libraries("vatoolbox-decoding-helper"))
        #expect(decoding.contains { $0.hasPrefix("libavcodec.so") })
        // It opens no files.
        #expect(!decoding.contains { $0.hasPrefix("libavformat.so") || $0.hasPrefix("libavfilter.so") })
    }
}
