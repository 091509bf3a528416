// SPDX-License-Identifier: GPL-2.0-or-later

/// The settings of a queue.
package struct QueueSettings: Sendable, Hashable {
    /// The name of the queue that always exists.
    package static let defaultName = "default"

    /// The name: 1...64 characters of a-z, 0-9, `-` and `_`.
    package var name: String
    /// Whether no task of the queue is given to a worker. Tasks that run go on: a paused queue drains.
    package var isPaused: Bool
    /// The largest number of tasks that run at a time; `nil` for no limit.
    package var mostRunning: Int?
    /// The times at which tasks may begin; always, if there are none.
    package var windows: [TimeWindow]
    /// The queue to which a job moves after waiting too long; `nil` to leave it.
    package var hop: Hop?
    /// The weights of shares, 0.001...1000; 1 for all others.
    package var weights: [String: Double]

    /// A move to another queue.
    package struct Hop: Sendable, Hashable, Codable {
        /// How long a job may wait, in seconds, from 0 on.
        package var after: Double
        /// The other queue.
        package var queue: String

        /// Makes a hop.
        package init(after: Double, queue: String) {
            self.after = after
            self.queue = queue
        }
    }

    /// Makes the settings of a queue without limits.
    package init(
        name: String,
        isPaused: Bool = false,
        mostRunning: Int? = nil,
        windows: [TimeWindow] = [],
        hop: Hop? = nil,
        weights: [String: Double] = [:]
    ) {
        self.name = name
        self.isPaused = isPaused
        self.mostRunning = mostRunning
        self.windows = windows
        self.hop = hop
        self.weights = weights
    }

    /// Whether tasks may begin at a time.
    package func isOpen(at time: StoreTime) -> Bool {
        !isPaused && (windows.isEmpty || windows.contains { $0.contains(time) })
    }
}

/// A time of the week at which a queue is open, such as Monday to Friday from 20:00 to 06:00 UTC.
package struct TimeWindow: Sendable, Hashable, Codable {
    /// The days on which it begins, 1 (Monday) to 7 (Sunday).
    package var days: Set<Int>
    /// The minute of the day at which it begins, 0...1439, in UTC.
    package var start: Int
    /// Its length in minutes, 1...10080.
    package var length: Int

    /// Makes a window.
    package init(days: Set<Int>, start: Int, length: Int) {
        self.days = days
        self.start = start
        self.length = length
    }

    static let minutesPerDay = 1440
    static let minutesPerWeek = 7 * minutesPerDay

    /// Whether a time is in the window.
    package func contains(_ time: StoreTime) -> Bool {
        let minute = Self.minuteOfWeek(time)
        return days.contains { day in
            let begin = (day - 1) * Self.minutesPerDay + start
            return (minute - begin + Self.minutesPerWeek) % Self.minutesPerWeek < length
        }
    }

    /// The minutes since the beginning of the week, on Monday at 00:00 UTC.
    static func minuteOfWeek(_ time: StoreTime) -> Int {
        let minutes = Int((Double(time.milliseconds) / 60_000).rounded(.down))
        // 1970-01-01 was a Thursday.
        let shifted = (minutes + 3 * minutesPerDay) % minutesPerWeek
        return shifted < 0 ? shifted + minutesPerWeek : shifted
    }
}

/// A queue, and how many tasks are in it.
package struct QueueStatus: Sendable, Hashable {
    /// The settings.
    package var settings: QueueSettings
    /// The number of tasks that wait for a worker, those that wait for their time included.
    package var ready: Int
    /// The number of tasks that run.
    package var running: Int

    /// Whether it is paused, and nothing runs any more.
    package var isDrained: Bool { settings.isPaused && running == 0 }
}
