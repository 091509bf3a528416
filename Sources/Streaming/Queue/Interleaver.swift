// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Brings the units of several tracks into the order of their decode times.
///
/// Encoders of audio and video have different latencies. A unit waits until every track has delivered a later one, at most
/// for ``patience``, so that a track that delivers nothing holds nobody up.
package struct Interleaver: Sendable {
    /// The longest wait for another track, in seconds.
    package let patience: Double
    private var waiting: [[(unit: LiveUnit, arrival: Double)]]

    /// Makes an interleaver.
    ///
    /// - Parameters:
    ///   - tracks: The number of tracks.
    ///   - patience: The longest wait for another track, in seconds.
    package init(tracks: Int, patience: Double = 0.5) {
        waiting = Array(repeating: [], count: max(tracks, 1))
        self.patience = patience
    }

    /// Adds a unit.
    ///
    /// - Parameters:
    ///   - unit: The unit.
    ///   - track: The number of its track; units of tracks that do not exist are not waited for.
    ///   - now: The present time in seconds.
    /// - Returns: The units that are due, in order.
    package mutating func add(_ unit: LiveUnit, track: Int, at now: Double) -> [LiveUnit] {
        guard waiting.indices.contains(track) else { return [unit] }
        waiting[track].append((unit, now))
        var due: [LiveUnit] = []
        while let first = earliest(), isDue(first, now) { due.append(waiting[first].removeFirst().unit) }
        return due
    }

    /// Returns what is left, in order.
    package mutating func finish() -> [LiveUnit] {
        var due: [LiveUnit] = []
        while let first = earliest() { due.append(waiting[first].removeFirst().unit) }
        return due
    }

    private func earliest() -> Int? {
        waiting.indices.filter { !waiting[$0].isEmpty }
            .min { waiting[$0][0].unit.decodeTime < waiting[$1][0].unit.decodeTime }
    }

    private func isDue(_ track: Int, _ now: Double) -> Bool {
        waiting.allSatisfy { !$0.isEmpty } || now - waiting[track][0].arrival >= patience
    }
}
