// SPDX-License-Identifier: GPL-2.0-or-later

/// A value in the file of a plan.
struct PlanNode: Sendable {
    /// A key with its value, in the order of the file.
    struct Pair: Sendable {
        var key: PlanNode
        var value: PlanNode
    }

    enum Content: Sendable {
        /// A word, a number or a quoted text, without its quotes. The reader interprets it.
        case scalar(String)
        case sequence([PlanNode])
        /// A mapping with unique scalar keys.
        case mapping([Pair])
    }

    var content: Content
    /// The line where it begins, from 1.
    var line: Int

    /// The text of a scalar.
    var scalar: String? {
        if case .scalar(let text) = content { text } else { nil }
    }
}
