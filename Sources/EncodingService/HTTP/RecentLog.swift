// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// The last lines of the log, for those who look for what is wrong.
package final class RecentLog: Sendable {
    private let state = Mutex<(lines: [String], next: Int)>(([], 0))
    private static let most = 2000
    private static let longest = 2000

    /// Makes an empty one.
    package init() {}

    /// Adds a line; the oldest one gives way, and a very long one is cut.
    package func add(_ line: String) {
        let line = line.utf8.count <= Self.longest ? line : String(line.prefix(Self.longest / 4)) + "…"
        state.withLock { state in
            if state.lines.count < Self.most {
                state.lines.append(line)
            } else {
                state.lines[state.next] = line
                state.next = (state.next + 1) % Self.most
            }
        }
    }

    /// The lines, the oldest first.
    var lines: [String] {
        state.withLock { state in Array(state.lines[state.next...] + state.lines[..<state.next]) }
    }
}
