// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// A value in a file of the YAML subset that plans use.
package struct PlanNode: Sendable {
    /// A key with its value, in the order of the file.
    package struct Pair: Sendable {
        package var key: PlanNode
        package var value: PlanNode
    }

    package enum Content: Sendable {
        /// A word, a number or a quoted text, without its quotes. The reader interprets it.
        case scalar(String)
        case sequence([PlanNode])
        /// A mapping with unique scalar keys.
        case mapping([Pair])
    }

    package var content: Content
    /// The line where it begins, from 1.
    package var line: Int

    /// The text of a scalar.
    package var scalar: String? {
        if case .scalar(let text) = content { text } else { nil }
    }

    /// Parses a document.
    ///
    /// - Parameter name: The name of the file, for errors.
    /// - Returns: `nil` if the text contains only comments.
    /// - Throws: `invalidArgument` with the line.
    package static func document(_ text: String, name: String) throws(MediaError) -> PlanNode? {
        try PlanSyntax.node(of: text, name: name)
    }
}
