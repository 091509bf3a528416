// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import LiveSessions
import Synchronization
import VAToolbox

/// Tells on the console what happens to inputs and to the encoder.
final class LiveTeller: Sendable {
    private let console: Console
    private let told = Mutex(Told())

    /// What was told.
    private struct Told {
        /// The losses of each input.
        var losses: [Int] = []
        /// The number of replacements of the encoder.
        var switches = 0
    }

    init(console: Console) { self.console = console }

    /// Tells what is new in a status.
    func tell(_ status: LiveStatus) {
        let (losses, switches) = told.withLock { told in
            defer { told = Told(losses: status.inputs.map(\.losses), switches: status.switches.count) }
            let losses = status.inputs.enumerated().filter { index, input in
                input.losses > (told.losses.indices.contains(index) ? told.losses[index] : 0)
            }
            return (losses.map(\.element.lossText), status.switches.dropFirst(told.switches))
        }
        for text in losses { console.warning(text) }
        for change in switches {
            if change.failures.isEmpty { console.note(change.readable) } else { console.warning(change.readable) }
        }
    }
}
