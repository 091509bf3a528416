// SPDX-License-Identifier: GPL-2.0-or-later

/// Whether results of watched folders become their inputs. Pure values.
enum WatchLoops {
    /// A watched folder, and the folder of its results.
    struct Link: Sendable, Hashable {
        var folder: String
        var isRecursive: Bool
        var destination: String

        /// Whether files appear here that are delivered to a folder. Each has a folder of its own there.
        func receives(_ destination: String) -> Bool {
            isRecursive && (destination == folder || destination.hasPrefix(folder + "/"))
        }
    }

    /// Whether results of a folder come back to it, directly or by way of others.
    static func hasLoop(_ link: Link, _ others: [Link]) -> Bool {
        var waiting = [link.destination]
        var seen: Set<String> = []
        while let destination = waiting.popLast() {
            guard seen.insert(destination).inserted else { continue }
            if link.receives(destination) { return true }
            waiting += others.filter { $0.receives(destination) }.map(\.destination)
        }
        return false
    }
}
