// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import TestSupport
import Testing

/// Outputs on file systems that know neither renames without replacing nor hard links, as the kernel would answer there.
@Suite struct FileSystemTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// - Parameter error: What `link` says; `nil` where it works.
    private func command(error: Int32?, _ words: String...) throws -> [String] {
        let refusing = try BuiltProgram.path("SandboxEscapes")
        let links = error.map { [refusing, "--refuse", "\($0)", "link,linkat"] } ?? []
        let command = [Scratch.vatoolbox, "encode", "clip.mkv", "-o", "out.mp4", "--device", "software"] + words
        return [refusing, "--refuse", "\(EINVAL)", "renameat2"] + links + command
    }

    @Test(arguments: [nil, EPERM, ENOSYS, EOPNOTSUPP]) func outputIsKept(error: Int32?) throws {
        try scratch.makeClip()
        let result = try scratch.run(command(error: error))
        #expect(result.status == 0, "\(result.errors)")
        #expect(scratch.names == ["clip.mkv", "out.mp4"])
        #expect(try scratch.decodedFrameCount("out.mp4") == scratch.decodedFrameCount("clip.mkv"))
    }

    /// What cannot be kept is not left under another name either.
    @Test func outputThatCannotBeNamedIsToldOf() throws {
        try scratch.makeClip()
        let result = try scratch.run(command(error: EIO))
        #expect(result.status == 1 && result.errors.contains("renameat2"), "\(result.errors)")
        #expect(scratch.names == ["clip.mkv"])
    }

    /// What ended the reading is one thing, and why there is no output another.
    @Test func outputThatAppearsMeanwhileStays() throws {
        try scratch.makeClip(seconds: 60, size: "64x64")
        let program = try RunningProgram(command(error: EPERM, "--realtime", "--low-latency"), in: scratch)
        try program.wait(until: "something is written") { scratch.unfinishedSizes.contains { $0 > 0 } }
        try "mine".write(toFile: scratch.path("out.mp4"), atomically: true, encoding: .utf8)
        program.signal(SIGINT)
        #expect(program.end() == 2)
        #expect(program.errors.contains("another process created the output file meanwhile"), "\(program.errors)")
        #expect(scratch.text("out.mp4") == "mine" && scratch.names == ["clip.mkv", "out.mp4"])
    }
}
