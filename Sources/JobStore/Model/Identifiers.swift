// SPDX-License-Identifier: GPL-2.0-or-later

/// Names a job: 26 characters of Crockford's base 32, of which the first 10 are the time and the others are random. IDs
/// sort by their times, and cannot be guessed.
package struct JobID: RawRepresentable, Sendable, Hashable {
    package let rawValue: String

    /// - Returns: `nil` if the text is no ID.
    package init?(rawValue: String) {
        guard rawValue.utf8.count == Self.length, rawValue.utf8.allSatisfy(Self.digits.contains) else { return nil }
        self.rawValue = rawValue
    }

    /// Makes an ID from the present time and random numbers.
    package init(at time: StoreTime, using generator: inout some RandomNumberGenerator) {
        var value = UInt64(max(time.milliseconds, 0))
        var text: [UInt8] = []
        for _ in 0..<10 {
            text.append(Self.digits[Int(value & 31)])
            value >>= 5
        }
        text.reverse()
        for _ in 0..<16 { text.append(Self.digits[Int.random(in: 0..<32, using: &generator)]) }
        rawValue = String(decoding: text, as: UTF8.self)
    }

    private static let length = 26
    private static let digits = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)
}

extension JobID: CustomStringConvertible {
    package var description: String { rawValue }
}

/// Names a task: one of the steps of a job.
package struct TaskID: Sendable, Hashable {
    /// The job.
    package var job: JobID
    /// The index of the task in ``JobDraft/tasks``.
    package var index: Int

    /// Makes an ID.
    package init(job: JobID, index: Int) {
        self.job = job
        self.index = index
    }
}

extension TaskID: CustomStringConvertible {
    package var description: String { "\(job)/\(index)" }
}

/// Names an attempt at a task. A store numbers attempts in the order of their claims: an attempt with a smaller number
/// than the task's present one has lost the task.
package struct AttemptToken: RawRepresentable, Sendable, Hashable, Comparable {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
    package static func < (first: AttemptToken, second: AttemptToken) -> Bool { first.rawValue < second.rawValue }
}
