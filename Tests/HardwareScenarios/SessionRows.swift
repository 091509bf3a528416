// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
import Foundation
import Glibc
import MediaTypes

/// Sessions one after the other in one process, each with an environment of its own: a line of input is
/// `{"output": PATH, "words": [OPTION...], "environment": {NAME: VALUE}, "leavesThreads": BOOL}`. What a session says
/// stands between a `row` and a `rest`, which tell what the process held before it, and holds after it once it has come
/// to rest.
struct SessionRows {
    /// How long what a session leaves may take to go: a helper whose driver hangs at its end is waited for, then ended.
    private static let patience = Duration.seconds(20)

    private struct Row: Decodable {
        var output: String
        var words: [String]
        var environment: [String: String]
        /// Whether threads hang when it is over, which are not waited for.
        var leavesThreads: Bool
    }

    func run() async throws {
        var isFirst = true
        while let line = readLine() {
            let row = try JSONDecoder().decode(Row.self, from: Data(line.utf8))
            for (name, value) in row.environment { setenv(name, value, 1) }
            let before = ProcessState()
            say("row", before.values(row.output))
            do {
                try await RecordedSession(ScenarioOptions(row.words), output: row.output).run()
            } catch {
                say("error", ["text": "\(error)"])
            }
            let after = await Self.rest(row, after: before, isFirst: isFirst)
            say("rest", after.values(row.output))
            isFirst = false
        }
    }

    /// The state when nothing more goes; at once when it is what it was.
    private static func rest(_ row: Row, after before: ProcessState, isFirst: Bool) async -> ProcessState {
        let limit = ContinuousClock.now + patience
        var pause = Duration.milliseconds(2)
        var state = ProcessState()
        func isAtRest() -> Bool {
            state.children == 0 && (row.leavesThreads || !before.holdsLess(than: state, isFirst: isFirst))
        }
        while .now < limit, !isAtRest() {
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(200))
            state = ProcessState()
        }
        return state
    }
}

/// Waits until every process that this one has started has ended, for half a minute at most.
func waitForChildren() async {
    let limit = ContinuousClock.now + .seconds(30)
    while .now < limit, ProcessState().children > 0 { try? await Task.sleep(for: .milliseconds(5)) }
}

/// What a process holds.
private struct ProcessState {
    /// Open descriptors, without those of the library's own that a process opens once.
    var descriptors = 0
    /// Threads that this package has started.
    var threads = 0
    /// Processes that were started and have not ended.
    var children = 0
    /// Shared memory that is mapped, in regions.
    var mappings = 0
    /// Memory of its own that is in use, in KiB.
    var memory = 0

    init() {
        descriptors = Self.names("/proc/self/fd").count { !Self.isOfTheRuntime("/proc/self/fd/\($0)") }
        for task in Self.names("/proc/self/task") {
            let folder = "/proc/self/task/\(task)"
            if Self.text(folder + "/comm").hasPrefix("vt-") { threads += 1 }
            children += Self.text(folder + "/children").split(separator: " ").count
        }
        let status = Self.text("/proc/self/status").split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
        memory = status?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
        mappings = Self.text("/proc/self/maps").split(separator: "\n").count { $0.contains("/memfd:") }
    }

    /// Whether a descriptor belongs to the threads and timers of Swift's run-time library, which opens it when it first
    /// needs it and keeps it.
    private static func isOfTheRuntime(_ path: String) -> Bool {
        let target = (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) ?? ""
        return ["anon_inode:[eventpoll]", "anon_inode:[eventfd]", "anon_inode:[timerfd]"].contains(target)
    }

    /// - Parameter isFirst: Whether it is the state before the first session, which opens what a process opens once.
    func holdsLess(than other: ProcessState, isFirst: Bool) -> Bool {
        threads < other.threads || mappings < other.mappings || !isFirst && descriptors < other.descriptors
    }

    func values(_ output: String) -> [String: Any] {
        [
            "output": output, "descriptors": descriptors, "threads": threads, "children": children,
            "mappings": mappings, "memory": memory, "us": Self.microseconds,
        ]
    }

    private static var microseconds: Int {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return now.tv_sec * 1_000_000 + now.tv_nsec / 1000
    }

    private static func names(_ folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    private static func text(_ path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }
}
