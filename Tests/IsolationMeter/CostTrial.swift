// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import VAToolbox

/// Two sessions, one with its encoder here and one in a helper, that work in turn: A B B A. While one works the other
/// waits, so each pair meets nearly the same state of the machine.
struct CostTrial {
    private let options: MeterOptions

    private struct Pair: Encodable {
        var inProcess: MeteredSession.Segment
        var process: MeteredSession.Segment
    }

    init(_ options: MeterOptions) { self.options = options }

    /// Prints a line of JSON for each pair.
    func run(isPaced: Bool) async throws {
        let sessions = [
            try await MeteredSession(options, isolation: .inProcess),
            try await MeteredSession(options, isolation: .process),
        ]
        // The helper maps each picture, and encoders fill their memory.
        for session in sessions { _ = try await segment(session, isPaced) }
        for index in 0..<options.pairs {
            let first = index % 2
            let one = try await segment(sessions[first], isPaced)
            let other = try await segment(sessions[1 - first], isPaced)
            let pair = first == 0 ? Pair(inProcess: one, process: other) : Pair(inProcess: other, process: one)
            say(String(decoding: try JSONEncoder().encode(pair), as: UTF8.self))
        }
        for session in sessions { try await session.finish() }
    }

    private func segment(_ session: MeteredSession, _ isPaced: Bool) async throws -> MeteredSession.Segment {
        isPaced
            ? try await session.paced(options.frames, interval: options.interval)
            : try await session.full(options.frames)
    }
}
