// SPDX-License-Identifier: GPL-2.0-or-later

import CTestEnvironment
import Foundation
import Glibc
import JobExecution
import MediaTypes
import TestSupport
import Testing

/// Programs of all kinds, good and bad, as processes.
@Suite(.timeLimit(.minutes(60))) struct RunTests {
    private let bench: Workbench

    init() throws { bench = try Workbench() }

    @Test func aProgramGetsWhatIsListedAndNothingElse() async throws {
        try #require(getenv(TEST_ENVIRONMENT_SECRET_NAME) != nil)
        try bench.write("input", to: "input")
        let command = bench.script("pwd; echo $NAME; export; cat; echo done >&2; exit 7") {
            $0.environment["NAME"] = "value"
            $0.output = .captured(limit: 10_000)
        }
        let lines = Said<String>()
        let result = try await bench.host.run(command, onLogLine: { lines.add($0) })
        let output = String(decoding: result.output, as: UTF8.self)
        #expect(output.hasPrefix("\(bench.folder)\nvalue\n"))
        #expect(!output.contains(TEST_ENVIRONMENT_SECRET_NAME))
        #expect(result.ending == .exited(7) && result.interruption == nil && !result.hasSucceeded)
        #expect(lines.values == ["done"] && result.lastLines == ["done"])
        #expect(result.limitations.isEmpty && result.leftProcesses == 0)
        #expect(result.usage.wallTime > .zero && result.usage.largestProcess > 100_000)
    }

    @Test func descriptorsAreHandedOver() async throws {
        try bench.write("what comes in", to: "in")
        try bench.write("", to: "out")
        let (input, output) = (open(bench.path("in"), O_RDONLY), open(bench.path("out"), O_WRONLY))
        defer {
            close(input)
            close(output)
        }
        let command = bench.script("cat") {
            $0.input = .descriptor(input)
            $0.output = .descriptor(output)
            $0.writable = []
        }
        #expect(try await bench.host.run(command).hasSucceeded)
        #expect(bench.text("out") == "what comes in")
    }

    @Test func aCrashIsItsSignal() async throws {
        let result = try await bench.host.run(bench.script("kill -SEGV $$"))
        #expect(result.ending == .killed(signal: SIGSEGV) && result.interruption == nil)
    }

    @Test func progressIsReadAndRubbishIsCounted() async throws {
        let command = bench.script(
            #"""
            echo '{"elapsed":0.5,"phase":"encoding","time":1.5,"expectedDuration":null,"framesIn":30,"bytes":7}' >&3
            echo 'no JSON' >&3
            echo '{"time":-1}' >&3
            echo '{"time":1e999}' >&3
            echo '[]' >&3
            echo '{"framesIn":"many"}' >&3
            head=0; while [ $head -lt 2000 ]; do printf '{{{{{{{{' >&3; head=$((head + 1)); done; echo >&3
            printf '{"phase":"verifying","framesIn":31}' >&3
            """#
        )
        let progress = Said<TaskProgress>()
        let lines = Said<[UInt8]>()
        let result = try await bench.host.run(
            command,
            onProgress: { progress.add($0) },
            onProgressLine: { lines.add($0) }
        )
        #expect(lines.values.last == Array(#"{"phase":"verifying","framesIn":31}"#.utf8))
        #expect(progress.values.last == TaskProgress(phase: "verifying", framesIn: 31))
        #expect(result.progress == progress.values.last)
        #expect(result.malformedProgressLines == 6)
        #expect(result.ending == .exited(0))
    }

    @Test func aProgramThatHangsIsStalled() async throws {
        // The clock of its progress goes on; nothing else does.
        let command = bench.script(
            "n=0; while :; do n=$((n + 1)); echo '{\"framesIn\":5,\"elapsed\":'$n'}' >&3; sleep 0.05; done"
        ) { $0.limits.stallTimeout = .milliseconds(700) }
        let result = try await bench.host.run(command)
        #expect(result.interruption == .stalled && result.ending == .killed(signal: SIGKILL))
        #expect(result.usage.wallTime >= .milliseconds(700) && result.progress?.framesIn == 5)
    }

    @Test func progressKeepsAProgramAliveUntilItsTimeIsOver() async throws {
        let command = bench.script(
            "n=0; while :; do n=$((n + 1)); echo '{\"framesIn\":'$n'}' >&3; sleep 0.02; done"
        ) {
            $0.limits.stallTimeout = .seconds(60)
            $0.limits.timeLimit = .milliseconds(900)
        }
        let result = try await bench.host.run(command)
        #expect(result.interruption == .timeLimit && result.usage.wallTime >= .milliseconds(900))
    }

    @Test func endlessErrorsAreBounded() async throws {
        let command = bench.script(
            "while :; do echo 'an \u{1B}[31merror'; done >&2"
        ) {
            $0.limits.log = 1000
            $0.limits.timeLimit = .milliseconds(500)
        }
        let lines = Said<String>()
        let result = try await bench.host.run(command, onLogLine: { lines.add($0) })
        #expect(result.interruption == .timeLimit)
        #expect(lines.values.first == #"an \u{1B}[31merror"#)
        #expect(lines.values.last?.contains("exceeds 1000 bytes") == true)
        #expect(lines.values.dropLast().reduce(0) { $0 + $1.utf8.count + 1 } <= 1000)
        #expect(result.lastLines.count == 20 && result.lastLines.allSatisfy { $0.hasPrefix("an ") })
    }

    @Test func aSlowLogHoldsTheProgramBack() async throws {
        let command = bench.script("n=0; while [ $n -lt 20000 ]; do echo line-$n-of-a-log; n=$((n + 1)); done >&2")
        let lines = Said<String>()
        let result = try await bench.host.run(command, onLogLine: { lines.add($0) })
        #expect(result.ending == .exited(0))
        #expect(lines.values == (0..<20000).map { "line-\($0)-of-a-log" })
    }

    /// What a program says without end is read with pauses, so that others get their turn.
    @Test(arguments: [
        "while :; do echo '{}' >&3; done", "while :; do echo error >&2; done", "cat /dev/zero",
    ])
    func aFloodLeavesTheHostToOthers(script: String) async throws {
        let flood = bench.script(script) {
            $0.output = .captured(limit: 1000)
            $0.limits.log = 1000
        }
        let (host, quick) = (bench.host, bench.script("echo '{\"framesIn\":1}' >&3; exit 4"))
        let task = Task { try await host.run(flood) }
        for _ in 0..<20 {
            let result = try await host.run(quick)
            #expect(result.ending == .exited(4) && result.progress?.framesIn == 1)
        }
        task.cancel()
        #expect(try await task.value.interruption == .cancelled)
    }

    @Test func longOutputIsCut() async throws {
        let command = bench.script("cat /dev/zero") {
            $0.output = .captured(limit: 100_000)
            $0.limits.timeLimit = .milliseconds(500)
        }
        let result = try await bench.host.run(command)
        #expect(result.output.count == 100_000 && result.isOutputIncomplete)
        let short = try await bench.host.run(bench.script("printf abc") { $0.output = .captured(limit: 3) })
        #expect(short.output == Array("abc".utf8) && !short.isOutputIncomplete)
    }

    @Test func memoryIsLimitedForAllProcessesTogether() async throws {
        // Two that are each below the limit.
        let command = bench.script(
            "for n in 1 2; do (head -c 200000000 /dev/zero; sleep 60) | tail & done; wait"
        ) {
            $0.limits.memory = 300 << 20
        }
        let result = try await bench.host.run(command)
        #expect(result.interruption == .memoryLimit && result.ending == .killed(signal: SIGKILL))
        #expect(result.usage.memory > 300 << 20)
        let modest = try await bench.host.run(bench.script("sleep 0.6") { $0.limits.memory = 300 << 20 })
        #expect(modest.hasSucceeded && modest.usage.memory > 0 && modest.usage.memory < 100 << 20)
    }

    @Test(arguments: [0, 5, 19]) func processesAreNicerThanTheService(by niceness: Int) async throws {
        let own = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(getpid()))
        let command = bench.script("read -r text < /proc/self/stat; set -- $text; echo ${19}") {
            $0.output = .captured(limit: 100)
            $0.limits.niceness = niceness
        }
        let result = try await bench.host.run(command)
        #expect(String(decoding: result.output, as: UTF8.self) == "\(min(Int(own) + niceness, 19))\n")
    }

    @Test(.enabled(if: access("/proc/self/autogroup", F_OK) == 0))
    func theirSessionIsNicerThanTheService() async throws {
        let script = "until read -r text < /proc/self/autogroup; [ \"${text%nice 7}\" != \"$text\" ]; do :; done"
        let command = bench.script(script) {
            $0.limits.niceness = 7
            $0.limits.timeLimit = .seconds(60)
        }
        let result = try await bench.host.run(command)
        #expect(result.hasSucceeded, "\(result)")
    }

    @Test func processesAreCounted() async throws {
        let mark = "100\(UInt32.random(in: 1_000...9_999))"
        let script = "n=0; while [ $n -lt 30 ]; do setsid sleep \(mark) & n=$((n + 1)); done; wait"
        let result = try await bench.host.run(bench.script(script) { $0.limits.mostProcesses = 20 })
        #expect(result.interruption == .processLimit && result.ending == .killed(signal: SIGKILL))
        #expect(Workbench.processes(with: mark).isEmpty)
    }

    /// It starts copies of itself, which start copies, 127 in all, and each asks for a group of its own.
    @Test func aProgramThatMultipliesIsEnded() async throws {
        let mark = "100\(UInt32.random(in: 1_000...9_999))"
        let script = "[ $1 = 0 ] || { setsid $0 $(($1 - 1)) & setsid $0 $(($1 - 1)) & }; sleep \(mark)"
        try bench.write("#!/bin/sh\n\(script)\n", to: "multiply", mode: 0o700)
        let command = bench.script("exec ./multiply 6") {
            $0.otherPrograms.append(bench.path("multiply"))
            $0.limits.mostProcesses = 60
        }
        let result = try await bench.host.run(command)
        #expect(result.interruption == .processLimit && result.ending == .killed(signal: SIGKILL))
        #expect(Workbench.processes(with: mark).isEmpty && Workbench.processes(with: "./multiply").isEmpty)
    }

    /// The launcher is part of the service, but the kernel may end it as well.
    @Test func aLauncherThatIsKilledTakesItsProgramWithIt() async throws {
        let mark = "100\(UInt32.random(in: 1_000...9_999))"
        let (host, command) = (bench.host, bench.script("setsid sleep \(mark) & echo ready >&2; exec sleep \(mark)"))
        let (lines, source) = AsyncStream.makeStream(of: String.self)
        let task = Task {
            defer { source.finish() }
            return try await host.run(command, onLogLine: { source.yield($0) })
        }
        for await _ in lines {
            let launchers = Workbench.processes(with: "exec sleep \(mark)").filter { process in
                ProcessFiles.children(of: "self").contains(process)
            }
            #expect(launchers.count == 1)
            for launcher in launchers { kill(launcher, SIGKILL) }
            break
        }
        let error = await #expect(throws: MediaError.self) { try await task.value }
        #expect(error?.message.contains("killed by signal 9") == true && error?.isPermanent == false)
        #expect(await Patience.wait { Workbench.processes(with: mark).isEmpty })
    }

    @Test func fileSizesAreLimited() async throws {
        let command = bench.script("cat /dev/zero > large") { $0.limits.largestFile = 1 << 20 }
        let result = try await bench.host.run(command)
        #expect(!result.hasSucceeded)
        let size = try FileManager.default.attributesOfItem(atPath: bench.path("large"))[.size] as? Int
        #expect(size == 1 << 20)
    }

    @Test(arguments: ["sleep 1001 &", "setsid sleep 1001 &", "(setsid sh -c '(sleep 1001 &) & sleep 1001' &) &"])
    func whatAProgramLeavesIsEnded(script: String) async throws {
        let mark = "100\(UInt32.random(in: 1_000...9_999))"
        let result = try await bench.host.run(
            bench.script(script.replacing("1001", with: mark) + " sleep 0.1; echo done >&2")
        )
        #expect(result.ending == .exited(0) && result.leftProcesses > 0)
        #expect(Workbench.processes(with: mark).isEmpty)
    }

    @Test func nothingIsLeftOfAProgramThatIsCancelled() async throws {
        let mark = "100\(UInt32.random(in: 1_000...9_999))"
        let command = bench.script("trap '' TERM; setsid sleep \(mark) & echo ready >&2; sleep \(mark); sleep \(mark)")
        {
            $0.cancellation = .gentle(grace: .milliseconds(200))
        }
        let result = try await cancelled(command, after: "ready")
        #expect(result.interruption == .cancelled && result.ending == .killed(signal: SIGKILL))
        #expect(Workbench.processes(with: mark).isEmpty)
    }

    @Test func aProgramCanCloseItsOutputWhenCancelled() async throws {
        let command = bench.script("trap 'echo closed; exit 9' TERM; echo ready >&2; while :; do sleep 0.01; done") {
            $0.cancellation = .gentle(grace: .seconds(60))
            $0.output = .captured(limit: 100)
        }
        let result = try await cancelled(command, after: "ready")
        #expect(result.interruption == .cancelled && result.ending == .exited(9))
        #expect(String(decoding: result.output, as: UTF8.self) == "closed\n")
    }

    /// Runs a command and cancels it when it says something.
    private func cancelled(_ command: ConfinedCommand, after word: String) async throws -> ExecutionResult {
        let (lines, source) = AsyncStream.makeStream(of: String.self)
        let host = bench.host
        let task = Task {
            defer { source.finish() }
            return try await host.run(command, onLogLine: { source.yield($0) })
        }
        for await line in lines where line == word {
            task.cancel()
            break
        }
        return try await task.value
    }

    @Test func aTaskThatIsCancelledBeforeStartsNothing() async throws {
        let (host, command) = (bench.host, bench.script("echo > there"))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await host.run(command)
        }
        let error = await #expect(throws: MediaError.self) { try await task.value }
        #expect(error?.code == .cancelled && bench.names.isEmpty)
    }

    @Test func manyRunsLeaveNothing() async throws {
        let host = bench.host
        let before = ProcessFiles.names("/proc/self/fd").count
        try await withThrowingTaskGroup(of: Int32.self) { group in
            var sum: Int32 = 0
            for index in 0..<1000 {
                if index >= 8, let status = try await group.next() { sum += status }
                let command = bench.script("exit \(index % 100)")
                group.addTask {
                    guard case .exited(let status) = try await host.run(command).ending else { return 1_000_000 }
                    return status
                }
            }
            for try await status in group { sum += status }
            #expect(sum == (0..<1000).reduce(0) { $0 + $1 % 100 })
        }
        // Other tests of this process open files meanwhile.
        #expect(await Patience.wait { ProcessFiles.names("/proc/self/fd").count <= before + 20 })
    }
}
