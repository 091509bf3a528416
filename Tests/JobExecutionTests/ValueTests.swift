// SPDX-License-Identifier: GPL-2.0-or-later

import HelperSandbox
import MediaTypes
import Testing

@testable import JobExecution

/// When a process is ended, by times alone.
@Suite struct RunRulesTests {
    private func rules(
        stall: Int? = nil,
        limit: Int? = nil,
        _ cancellation: ConfinedCommand.Cancellation = .gentle(grace: .seconds(5))
    ) -> RunRules {
        var limits = ConfinedCommand.Limits()
        limits.stallTimeout = stall.map { .seconds($0) }
        limits.timeLimit = limit.map { .seconds($0) }
        return RunRules(limits, cancellation)
    }

    @Test func withoutLimitsNothingHappens() {
        var rules = rules()
        #expect(rules.next == nil)
        #expect(rules.tick(at: .seconds(1_000_000)) == nil)
    }

    @Test func onlyAProgressThatDiffersCounts() {
        var rules = rules(stall: 10)
        rules.advance(to: TaskProgress(framesIn: 1, elapsed: 1), at: .seconds(5))
        #expect(rules.next == .seconds(15))
        rules.advance(to: TaskProgress(framesIn: 1, elapsed: 9), at: .seconds(9))
        #expect(rules.next == .seconds(15) && rules.tick(at: .seconds(14)) == nil)
        rules.advance(to: TaskProgress(phase: "verifying", framesIn: 1, elapsed: 12), at: .seconds(12))
        #expect(rules.next == .seconds(22))
        // A large file that is completed has no new pictures.
        rules.advance(to: TaskProgress(phase: "verifying", framesIn: 1, written: 1, elapsed: 20), at: .seconds(20))
        rules.advance(to: TaskProgress(phase: "verifying", framesIn: 1, written: 1, elapsed: 21), at: .seconds(21))
        #expect(rules.next == .seconds(30) && rules.tick(at: .seconds(22)) == nil)
        #expect(rules.tick(at: .seconds(30)) == .kill && rules.interruption == .stalled)
        // Once.
        #expect(rules.next == nil && rules.tick(at: .seconds(99)) == nil)
    }

    @Test func theFirstLimitCounts() {
        var both = rules(stall: 10, limit: 8)
        #expect(both.next == .seconds(8) && both.tick(at: .seconds(8)) == .kill)
        #expect(both.interruption == .timeLimit && both.cancel(at: .seconds(9)) == nil)
        #expect(both.interruption == .timeLimit)
    }

    @Test func aCancelledProcessHasItsGrace() {
        var rules = rules(stall: 1, limit: 100)
        #expect(rules.cancel(at: .zero) == .terminate)
        // While it closes its output, it makes no progress.
        #expect(rules.next == .seconds(5) && rules.tick(at: .seconds(4)) == nil)
        #expect(rules.tick(at: .seconds(5)) == .kill && rules.interruption == .cancelled)
        var hard = self.rules(.immediate)
        #expect(hard.cancel(at: .zero) == .kill && hard.next == nil)
        #expect(hard.cancel(at: .seconds(1)) == nil)
    }
}

@Suite struct LogLinesTests {
    @Test func linesAreFoundWhereverTheBytesAreCut() {
        let bytes = Array("one\n\ntwo\r\nthree".utf8)
        for cut in 0...bytes.count {
            var lines = LogLines()
            let found = lines.log(bytes[..<cut]) + lines.log(bytes[cut...]) + lines.finishLog()
            #expect(found == ["one", "", "two\\u{D}", "three"])
            #expect(lines.last == found && lines.finishLog().isEmpty)
        }
    }

    @Test func longLinesAreSplitOrDropped() {
        let long = [UInt8](repeating: 0x61, count: 10_000) + Array("\nb\n".utf8)
        var split = LogLines()
        #expect(split.split(long).map(\.count) == [4096, 4096, 1808, 1])
        var dropped = LogLines(excess: .dropped)
        #expect(dropped.split(long).map(\.count) == [0, 1])
        var longer = LogLines(excess: .dropped, limit: 10_000)
        #expect(longer.split(long).map(\.count) == [10_000, 1])
    }

    @Test func controlCharactersAreShown() {
        #expect(LogLines.shown("plain\tüñ") == "plain\tüñ")
        #expect(LogLines.shown("\u{1B}[2J\u{7F}\u{9B}\u{202E}\u{2028}") == "\\u{1B}[2J\\u{7F}\\u{9B}\\u{202E}\\u{2028}")
        var lines = LogLines()
        #expect(lines.log([0x61, 0xFF, 0x62, 0x0A]) == ["a\u{FFFD}b"])
    }
}

@Suite struct LauncherValueTests {
    @Test func requestsAreReadAsTheyAreWritten() throws {
        let access = TaskAccess(
            programs: ["/bin/sh", "/bin/cat"],
            readable: ["/a b", "--write"],
            writable: ["/c"],
            devices: true,
            network: true
        )
        var request = LaunchRequest(access: access, command: ["/bin/sh", "--", "-c", ""])
        #expect(try LaunchRequest(request.arguments) == request)
        request.largestFile = 1
        request.mostDescriptors = 2
        request.memory = 3
        request.mostProcesses = 5
        request.niceness = 6
        request.requiresConfinement = true
        request.control = 4
        #expect(try LaunchRequest(request.arguments) == request)
    }

    @Test(arguments: [
        [], ["--"], ["/bin/sh"], ["--read", "--", "/bin/sh"], ["--unknown", "x", "--", "/bin/sh"],
        ["--memory", "0", "--", "/bin/sh"], ["--memory", "-1", "--", "/bin/sh"], ["--memory", "x", "--", "/bin/sh"],
        ["--nice", "20", "--", "/bin/sh"], ["--nice", "2147483647", "--", "/bin/sh"],
        ["--nice", "-1", "--", "/bin/sh"],
    ])
    func otherArgumentsAreErrors(arguments: [String]) {
        let error = #expect(throws: MediaError.self) { try LaunchRequest(arguments) }
        #expect(error?.code == .invalidArgument)
    }

    @Test func messagesAreReadAsTheyAreWritten() {
        let report = LauncherReport(
            status: -11,
            excess: .processes,
            leftProcesses: 2,
            processorTime: 3,
            largestProcess: 4,
            memory: 5
        )
        let messages = [
            LauncherMessage.started(12), .limitation("no Landlock"), .failed("no luck", status: 13), .ended(report),
        ]
        for message in messages { #expect(LauncherMessage(message.text.utf8) == message) }
        for text in [
            "", "ended", "ended 1 2", "ended 1 2 3 4 5 -6", "ended 1 3 3 4 5 6", "failed x y", "failed 1", "other 1",
            "started 0", "started -5",
        ] {
            #expect(LauncherMessage(text.utf8) == nil)
        }
    }

    @Test func treesAreFoundByParents() throws {
        let entry = try #require(ProcessTree.Entry(stat: "12 (a) b) c) S 3 4 5 0 -1 4194304"))
        #expect(entry == .init(process: 12, parent: 3, group: 4))
        #expect(ProcessTree.Entry(stat: "12 (a) Z 3 4 5")?.isZombie == true)
        for text in ["", "12", "12 (a", "12 (a) S", "x (a) S 3 4 5"] { #expect(ProcessTree.Entry(stat: text) == nil) }
        let tree = ProcessTree(entries: [
            .init(process: 2, parent: 1, group: 2), .init(process: 3, parent: 2, group: 2),
            .init(process: 4, parent: 3, group: 4, isZombie: true), .init(process: 5, parent: 4, group: 5),
            .init(process: 6, parent: 1, group: 6),
        ])
        #expect(Set(tree.descendants(of: 2).map(\.process)) == [3, 5])
        #expect(tree.descendants(of: 7).isEmpty)
    }

    @Test func memoryIsWhatNoFileHolds() {
        let status = "VmRSS:\t  900 kB\nRssAnon:\t     100 kB\nRssFile:\t  700 kB\nRssShmem:\t      20 kB\n"
        #expect(ProcessTree.memory(status: status) == 120 * 1024)
        #expect(ProcessTree.memory(status: "") == 0 && ProcessTree.memory(status: "RssAnon:\nRssShmem: x kB") == 0)
    }
}

@Suite struct TaskProgressTests {
    @Test func linesOfTheCommandAreRead() {
        let line =
            #"{"elapsed":3.5,"phase":"encoding","time":12.48,"expectedDuration":60.0,"framesIn":312,"#
            + #""expectedFrames":1500,"framesOut":290,"bytes":1843021,"new":[1]}"#
        let progress = TaskProgress(
            phase: "encoding",
            time: 12.48,
            expectedDuration: 60,
            framesIn: 312,
            expectedFrames: 1500,
            framesOut: 290,
            bytes: 1_843_021,
            elapsed: 3.5
        )
        #expect(TaskProgress(line: Array(line.utf8)) == progress)
        #expect(TaskProgress(line: Array("{\"packets\":4,\"time\":null}".utf8)) == TaskProgress(framesIn: 4))
    }

    @Test(arguments: [
        "", "{", "7", "null", "[]", #"{"time":"1"}"#, #"{"framesIn":-1}"#, #"{"framesIn":1.5}"#, #"{"bytes":1e300}"#,
        #"{"time":1e999}"#, "{\"phase\":\"\u{0}\"}", String(repeating: "[", count: 4000),
    ])
    func everythingElseIsNone(line: String) { #expect(TaskProgress(line: Array(line.utf8)) == nil) }

    @Test func theClockAloneIsNoAdvance() {
        let progress = TaskProgress(framesIn: 1, elapsed: 1)
        #expect(progress.hasAdvanced(since: nil))
        #expect(!TaskProgress(framesIn: 1, elapsed: 2).hasAdvanced(since: progress))
        #expect(TaskProgress(framesIn: 2, elapsed: 1).hasAdvanced(since: progress))
    }
}
