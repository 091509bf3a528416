// SPDX-License-Identifier: GPL-2.0-or-later

extension JobDraft {
    /// The largest number of tasks of a job.
    static let mostTasks = 2000

    /// - Throws: `invalidArgument` with the value given and the values allowed.
    func validate() throws(StoreError) {
        try check(priority, in: 0...100, "the priority")
        try check(tasks.count, in: 1...Self.mostTasks, "the number of tasks")
        try check(retention.wholeMilliseconds, in: 0...Int64.max / 4, "the retention in milliseconds")
        if let timeLimit {
            try check(timeLimit.wholeMilliseconds, in: 0...Int64.max / 4, "the time limit in milliseconds")
        }
        try checkTexts([share, request] + labels.flatMap { [$0.key, $0.value] })
        try check(share.utf8.count, in: 0...256, "the length of the share in bytes")
        try check(labels.count, in: 0...64, "the number of labels")
        for (name, value) in labels {
            try check(name.utf8.count, in: 1...128, "the length of a label's name in bytes")
            try check(value.utf8.count, in: 0...256, "the length of a label's value in bytes")
        }
        if let idempotency {
            try check(idempotency.key.utf8.count, in: 1...256, "the length of the idempotency key in bytes")
            try checkTexts([idempotency.key, idempotency.hash])
        }
        for (index, task) in tasks.enumerated() {
            try check(task.kind.utf8.count, in: 1...64, "the length of a task's kind in bytes")
            try checkTexts([task.kind, task.payload])
            try check(task.cost, in: 0.001...1e6, "the cost of a task")
            try task.demand.validate()
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
        try checkTexts(Array(weights.keys))
        for (share, weight) in weights { try check(weight, in: 0.001...1000, "the weight of the share \(share)") }
    }
}

extension Demand {
    /// - Throws: `invalidArgument` with the value given and the values allowed.
    func validate() throws(StoreError) {
        try check(abilities.count + amounts.count, in: 0...64, "the number of abilities and amounts")
        let names = Array(abilities) + Array(amounts.keys)
        for name in names { try check(name.utf8.count, in: 1...128, "the length of an ability or amount in bytes") }
        try checkTexts(names)
        for (name, amount) in amounts { try check(amount, in: 0...1e18, "the amount of \(name)") }
    }
}

/// - Throws: `invalidArgument` if a text contains a NUL character, at which databases end texts.
private func checkTexts(_ texts: [String]) throws(StoreError) {
    for text in texts where text.utf8.contains(0) {
        throw StoreError(
            .invalidArgument,
            "a text contains a NUL character",
            given: String(text.prefix(100)),
            allowed: "all other characters"
        )
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
