// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import HelperIPC
import MediaTypes
import VAToolbox

/// Many sessions with encoders in helpers, some at a time: what they leave behind in this process.
struct SessionTrial {
    /// How a session ends.
    private enum Ending: CaseIterable {
        case finished
        /// Nobody holds it any more.
        case dropped
        case cancelled
        /// Its helper was killed on the way; another one finishes.
        case killed
    }

    private let options: MeterOptions

    init(_ options: MeterOptions) { self.options = options }

    /// Prints a table; the last line says what has grown, if anything has.
    func run() async throws {
        let pool = try options.makePool()
        say("sessions  seconds  descriptors  threads  encoder's  RSS KiB  PSS KiB  children  zombies")
        let step = max(options.sessions / 20, options.together)
        let start = Clocks.now
        var states = [try await quiet(pool)]
        report(0, 0, states[0])
        var done = 0
        while done < options.sessions {
            let end = min(done + step, options.sessions)
            while done < end {
                let count = min(options.together, end - done)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for index in done..<done + count { group.addTask { try await play(index, pool) } }
                    try await group.waitForAll()
                }
                done += count
            }
            states.append(try await quiet(pool))
            report(done, (Clocks.now - start) / 1e6, states[states.count - 1])
        }
        withExtendedLifetime(pool) {}
        let growth = Growth(states)
        say(growth.description)
        guard growth.isNone else { throw MediaError(.invalidState, "something grows with the number of sessions") }
    }

    private func report(_ sessions: Int, _ seconds: Double, _ state: ProcessState) {
        let numbers = [
            sessions, Int(seconds), state.descriptors, state.threads, state.encoderThreads, state.residentKiB,
            state.proportionalKiB, state.children.count, state.zombies,
        ]
        let widths = [8, 9, 13, 9, 11, 9, 9, 10, 9]
        say(
            zip(numbers, widths)
                .map { number, width in
                    let text = "\(number)"
                    return String(repeating: " ", count: max(1, width - text.count)) + text
                }
                .joined()
        )
    }

    /// The state when helpers that were closed are gone.
    private func quiet(_ pool: HelperPool) async throws -> ProcessState {
        let children = options.spare > 0 ? 1 : 0
        let end = Clocks.now + 60e6
        while Clocks.now < end {
            let state = ProcessState.now
            // A spare helper has one thread that watches it.
            if state.children.count == children, state.encoderThreads == children { return state }
            // The spare helper was among those that were killed: the next encoder makes the pool start another.
            if state.children.isEmpty, state.encoderThreads == 0 { try await play(0, pool) }
            usleep(10_000)
        }
        throw MediaError(.deadlineExceeded, "helpers or their threads stay", given: "\(ProcessState.now)")
    }

    private func play(_ index: Int, _ pool: HelperPool) async throws {
        let ending = Ending.allCases[(options.ending ?? index / options.together) % Ending.allCases.count]
        let counted = try await CountedSession(
            width: options.width,
            height: options.height,
            options.selection(options.here > 0 ? .inProcess : .process, pool)
        )
        try await counted.encode(options.frames) { number in
            if ending == .killed, number == options.frames / 2, let helper = ProcessState.children.randomElement() {
                kill(helper, SIGKILL)
            }
        }
        switch ending {
        case .finished, .killed: try await counted.finish(expecting: options.frames)
        case .cancelled: counted.session.cancel()
        case .dropped: break
        }
    }
}

/// What is more at the end than it was after the first quarter.
private struct Growth: CustomStringConvertible {
    private let first: ProcessState
    private let last: ProcessState
    /// What heaps may do without a leak: no session leaves as much as a picture or a ring.
    private static let residentKiB = 4096

    init(_ states: [ProcessState]) {
        first = states[states.count / 4]
        last = states[states.count - 1]
    }

    var isNone: Bool {
        last.descriptors <= first.descriptors && last.threads <= first.threads && last.zombies == 0
            && last.residentKiB <= first.residentKiB + Self.residentKiB
    }

    var description: String {
        "since the first quarter: \(last.descriptors - first.descriptors) descriptors, "
            + "\(last.threads - first.threads) threads, \(last.residentKiB - first.residentKiB) KiB, "
            + "\(last.zombies) zombies"
    }
}
