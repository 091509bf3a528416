// SPDX-License-Identifier: GPL-2.0-or-later

extension JobDraft {
    /// The largest number of tasks of a job.
    static let mostTasks = 10_000

    /// - Throws: `invalidArgument` with the value given and the values allowed.
    func validate() throws(StoreError) {
        try check(priority, in: 0...100, "the priority")
        try check(tasks.count, in: 1...Self.mostTasks, "the number of tasks")
        try check(retention.wholeMilliseconds, in: 0...Int64.max / 4, "the retention in milliseconds")
        try check(share.utf8.count, in: 0...256, "the length of the share in bytes")
        try check(labels.count, in: 0...64, "the number of labels")
        for (name, value) in labels {
            try check(name.utf8.count, in: 1...128, "the length of a label's name in bytes")
            try check(value.utf8.count, in: 0...256, "the length of a label's value in bytes")
        }
        if let idempotency { try check(idempotency.key.utf8.count, in: 1...256, "the length of the idempotency key") }
        for (index, task) in tasks.enumerated() {
            try check(task.kind.utf8.count, in: 1...64, "the length of a task's kind in bytes")
            guard task.cost > 0, task.cost.isFinite else {
                throw StoreError(.invalidArgument, "the cost of a task", given: "\(task.cost)", allowed: "above 0")
            }
            guard task.dependencies.allSatisfy((0..<index).contains) else {
                let given = task.dependencies.map(String.init).joined(separator: ", ")
                throw StoreError(
                    .invalidArgument,
                    "task \(index) depends on a task that is not before it",
                    given: given,
                    allowed: index == 0 ? "none" : "0...\(index - 1)"
                )
            }
            try check(task.retries.mostFailures, in: 1...100, "the number of failures of a task")
            try check(task.retries.mostLosses, in: 1...100, "the number of lost attempts of a task")
            try check(task.retries.pause, in: 0...86400, "the pause between attempts in seconds")
            try check(task.retries.longestPause, in: 0...86400, "the longest pause in seconds")
        }
    }
}

extension QueueSettings {
    /// - Throws: `invalidArgument` with the value given and the values allowed.
    func validate() throws(StoreError) {
        let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy(letters.contains) else {
            throw StoreError(
                .invalidArgument,
                "the name of a queue",
                given: name,
                allowed: "1...64 characters of a-z, 0-9, - and _"
            )
        }
        if let mostRunning { try check(mostRunning, in: 0...1_000_000, "the number of running tasks") }
        try check(windows.count, in: 0...64, "the number of time windows")
        for window in windows {
            guard !window.days.isEmpty, window.days.allSatisfy((1...7).contains) else {
                let given = window.days.sorted().map(String.init).joined(separator: ", ")
                throw StoreError(.invalidArgument, "the days of a time window", given: given, allowed: "some of 1...7")
            }
            try check(window.start, in: 0...TimeWindow.minutesPerDay - 1, "the start of a time window in minutes")
            try check(window.length, in: 1...TimeWindow.minutesPerWeek, "the length of a time window in minutes")
        }
        if let hop {
            try check(hop.after, in: 0...31_622_400, "the time before a hop in seconds")
            guard hop.queue != name else {
                throw StoreError(.invalidArgument, "a queue hops to itself", given: name, allowed: "another queue")
            }
        }
        for (share, weight) in weights where !(weight > 0 && weight <= 1e6) {
            throw StoreError(
                .invalidArgument,
                "the weight of the share \(share)",
                given: "\(weight)",
                allowed: "above 0, up to 1000000"
            )
        }
    }
}

/// - Throws: `invalidArgument` if the value is not in the range.
func check<Value: Comparable>(_ value: Value, in range: ClosedRange<Value>, _ what: String) throws(StoreError) {
    guard !range.contains(value) else { return }
    throw StoreError(
        .invalidArgument,
        "\(what) is out of range",
        given: "\(value)",
        allowed: "\(range.lowerBound)...\(range.upperBound)"
    )
}
