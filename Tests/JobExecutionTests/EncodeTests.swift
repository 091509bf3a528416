// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import JobExecution
import MediaTypes
import TestSupport
import Testing

/// The project's own command, started by the service's own program.
@Suite(.timeLimit(.minutes(60))) struct EncodeTests {
    private let bench: Workbench

    init() throws {
        bench = try Workbench(launcher: "vatoolbox-service")
        for name in ["in", "out", "state"] {
            try FileManager.default.createDirectory(atPath: bench.path(name), withIntermediateDirectories: false)
        }
    }

    private func makeClip(seconds: Int) throws {
        let (output, status) = try Workbench.run(
            "/usr/bin/ffmpeg",
            [
                "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=128x96:rate=25:duration=\(seconds)",
                "-f", "lavfi", "-i", "sine=duration=\(seconds)", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-c:a",
                "aac",
                bench.path("in/clip.mkv"),
            ]
        )
        try #require(status == 0, "\(output)")
    }

    /// The pictures that ffmpeg decodes without an error.
    private func pictures(_ name: String) throws -> Int? {
        let (output, status) = try Workbench.run(
            "/usr/bin/ffprobe",
            [
                "-v", "error", "-count_frames", "-select_streams", "v", "-show_entries",
                "stream=nb_read_frames", "-of", "csv=p=0", bench.path(name),
            ]
        )
        // An error is a line besides.
        return status == 0 ? Int(output.trimmingCharacters(in: .whitespacesAndNewlines)) : nil
    }

    private func encode(_ options: [String] = []) throws -> ConfinedCommand {
        let program = try BuiltProgram.path("vatoolbox")
        let arguments = [
            "encode", bench.path("in/clip.mkv"), "-o", bench.path("out/clip.mp4"), "--json",
            "--progress", ConfinedCommand.progressPath,
        ]
        var command = ConfinedCommand(program, arguments + options)
        command.otherPrograms = ConfinedCommand.helpers(besides: program)
        command.environment = [
            "HOME": "/nonexistent", "TMPDIR": bench.path("out"), "VATOOLBOX_STATE": bench.path("state"),
        ]
        command.folder = bench.path("out")
        command.readable = [bench.path("in")]
        command.writable = [bench.path("out"), bench.path("state")]
        command.requiresConfinement = true
        command.output = .captured(limit: 1 << 20)
        return command
    }

    private func document(_ result: ExecutionResult) throws -> [String: Any] {
        let object = try? JSONSerialization.jsonObject(with: Data(result.output))
        return try #require(object as? [String: Any], "\(String(decoding: result.output, as: UTF8.self)) \(result)")
    }

    @Test(arguments: [[], ["--isolation", "process"], ["--codec", "hevc", "--isolation", "process"]])
    func whatIsEncodedDecodes(options: [String]) async throws {
        try makeClip(seconds: 2)
        let progress = Said<TaskProgress>()
        let result = try await bench.host.run(try encode(["--verify"] + options), onProgress: { progress.add($0) })
        #expect(result.hasSucceeded && result.limitations.isEmpty, "\(result)")
        let document = try document(result)
        #expect(document["status"] as? String == "done")
        #expect((document["verification"] as? [String: Any])?["frames"] as? Int == 50)
        let encoder = document["encoder"] as? [String: Any]
        #expect(encoder?["isolation"] as? String == (options.isEmpty ? "in-process" : "process"))
        #expect(try pictures("out/clip.mp4") == 50)
        #expect(progress.values.last?.framesIn == 50 && progress.values.last?.phase == "verifying")
        #expect(result.malformedProgressLines == 0 && result.leftProcesses == 0)
        #expect(result.usage.processorTime > .zero)
    }

    /// The render node and its driver are files for tests, which the helpers find under the confinement as well.
    @Test func aGPUIsUsed() async throws {
        try makeClip(seconds: 1)
        let drivers = try DriverRig.drivers()
        var command = try encode(["--codec", "h264"])
        command.devices = true
        command.environment.merge(
            [
                "LD_PRELOAD": "\(drivers)/librender_node.so", "RENDER_NODES": "128=generic",
                "LIBVA_DRIVERS_PATH": drivers, "LIBVA_DRIVER_NAME": "libref",
                "REFERENCE_DRIVER_LIMITS": "decode=h264,hevc", "REFERENCE_DRIVER_EFFORT": "truthful",
            ]
        ) { $1 }
        let result = try await bench.host.run(command)
        #expect(result.hasSucceeded, "\(result)")
        let document = try document(result)
        let encoder = document["encoder"] as? [String: Any]
        #expect(encoder?["device"] as? String == "/dev/dri/renderD128", "\(document) \(result)")
        #expect((document["decoder"] as? [String: Any])?["device"] as? String == "/dev/dri/renderD128", "\(document)")
        #expect(try pictures("out/clip.mp4") == 25)
        // What was found out about the GPU is kept for the next task.
        #expect(!bench.text("state").isEmpty || !ProcessFiles.names(bench.path("state")).isEmpty)
    }

    @Test func aFileThatIsNotGrantedIsAnErrorOfTheCommand() async throws {
        try makeClip(seconds: 1)
        var command = try encode()
        command.readable = []
        let result = try await bench.host.run(command)
        #expect(result.ending == .exited(1) || result.ending == .exited(2))
        #expect(String(decoding: result.output, as: UTF8.self).contains("no permission to read the input"))
        #expect(ProcessFiles.names(bench.path("out")).isEmpty)
    }

    @Test(arguments: [ConfinedCommand.Cancellation.gentle(grace: .seconds(60)), .immediate])
    func cancellationLeavesNoProcess(cancellation: ConfinedCommand.Cancellation) async throws {
        try makeClip(seconds: 60)
        var command = try encode(["--realtime", "--low-latency", "--isolation", "process"])
        command.cancellation = cancellation
        let (marks, source) = AsyncStream.makeStream(of: TaskProgress.self)
        let (host, order) = (bench.host, command)
        let task = Task {
            defer { source.finish() }
            return try await host.run(order, onProgress: { source.yield($0) })
        }
        for await progress in marks where (progress.framesOut ?? 0) > 0 {
            task.cancel()
            break
        }
        let result = try await task.value
        #expect(result.interruption == .cancelled)
        #expect(Workbench.processes(with: bench.folder).isEmpty)
        if cancellation == .immediate {
            #expect(result.ending == .killed(signal: SIGKILL))
        } else {
            #expect(result.ending == .exited(130))
            #expect(ProcessFiles.names(bench.path("out")) == ["clip.mp4"])
            #expect((try pictures("out/clip.mp4") ?? 0) > 0)
        }
    }
}

/// Programs that cannot be started.
@Suite(.timeLimit(.minutes(60))) struct StartTests {
    private let bench: Workbench

    init() throws { bench = try Workbench() }

    private func error(_ command: ConfinedCommand, launcher: [String]? = nil) async throws -> MediaError {
        let host = try launcher.map { try ProcessHost(launcher: $0) } ?? bench.host
        let error = await #expect(throws: MediaError.self) { try await host.run(command) }
        return try #require(error)
    }

    @Test func whatCannotBeStartedIsToldWithWhatToDo() async throws {
        let missing = try await error(ConfinedCommand(bench.path("missing")))
        #expect(missing.code == .unavailable && missing.given == bench.path("missing"))
        #expect(missing.message.contains("No such file") && !missing.remedies.isEmpty && missing.isPermanent)

        try bench.write("text", to: "text", mode: 0o600)
        #expect(try await error(ConfinedCommand(bench.path("text"))).message.contains("ermission denied"))
        #expect(try await error(ConfinedCommand(bench.folder)).message.contains("is not a file"))

        try bench.write("", to: "empty", mode: 0o700)
        let empty = try await error(ConfinedCommand(bench.path("empty")))
        #expect(empty.code == .unavailable && empty.call == "execve" && empty.status == Int(ENOEXEC))
        #expect(empty.given == bench.path("empty") && !empty.remedies.isEmpty)

        try bench.write("#!/bin/sh\nexit 3\n", to: "script", mode: 0o700)
        let script = try await error(ConfinedCommand(bench.path("script")))
        #expect(script.status == Int(EACCES) && script.remedies.first?.contains("interpreter") == true)
        let known = ConfinedCommand(bench.path("script"), otherPrograms: ["/bin/sh"])
        #expect(try await bench.host.run(known).ending == .exited(3))
    }

    @Test func invalidValuesAreRefused() async throws {
        func refuses(_ change: (inout ConfinedCommand) -> Void) async throws -> String {
            var command = bench.script("true")
            change(&command)
            return "\(try await error(command))"
        }
        #expect(try await refuses { $0.program = "sh" }.contains("not absolute: given sh"))
        #expect(try await refuses { $0.arguments.append("a\0b") }.contains(#"a\u{0}b"#))
        #expect(try await refuses { $0.environment["A=B"] = "" }.contains("given A=B"))
        #expect(try await refuses { $0.folder = "/nowhere" }.contains("working folder"))
        #expect(try await refuses { $0.readable = ["/nowhere"] }.contains("given /nowhere"))
        #expect(try await refuses { $0.input = .descriptor(-1) }.contains("descriptor"))
    }

    @Test func aLauncherThatIsNoneIsToldOf() async throws {
        let missing = try await error(bench.script("true"), launcher: ["/nowhere/vatoolbox-service", "confine"])
        #expect(missing.given == "/nowhere/vatoolbox-service" && missing.remedies.first?.contains("install") == true)
        let other = try await error(bench.script("true"), launcher: ["/bin/sh", "-c", "echo what >&2; exit 5"])
        #expect(other.message.contains("ended with status 5; it said: what") && !other.isPermanent)
        let killed = try await error(bench.script("true"), launcher: ["/bin/sh", "-c", "kill -KILL $$"])
        #expect(killed.message.contains("killed by signal 9"))
    }
}
