// SPDX-License-Identifier: GPL-2.0-or-later

/// A part of a path that varies.
package struct PathParameter: Sendable {
    /// The name in braces.
    package let name: String
    /// What it holds.
    package let documentation: String
    /// What is allowed.
    let rule: Rule<String>

    /// Checks what was given.
    ///
    /// - Parameter text: The text, without percent-encoding.
    /// - Throws: `invalid-parameter`.
    package func check(_ text: String) throws(APIError) {
        guard let violation = rule.check(text) else { return }
        throw APIError(
            .invalidParameter,
            violation.detail,
            field: name,
            value: .string(text),
            allowed: violation.allowed
        )
    }

    /// The parameter of a segment such as `{id}` after another one such as `jobs`.
    init(name: String, after collection: Substring?) {
        let kind = Self.kind(of: name, after: collection)
        self.name = name
        documentation = kind.documentation
        rule = kind.rule
    }

    private static func kind(
        of name: String,
        after collection: Substring?
    ) -> (documentation: String, rule: Rule<String>) {
        switch (collection, name) {
        case ("jobs", _): ("ID of the job", .text(26...26, .identifier))
        case ("live", _): ("ID of the live job", .text(26...26, .identifier))
        case ("hls", _): ("Index of the output", .text(1...2, .name))
        case ("{output}", _): ("Path within the stream, which may contain slashes", .text(1...1024, .resultPath))
        case ("tus", _): ("ID of the upload", .text(26...26, .identifier))
        case ("uploads", "name"): ("File name", .text(1...200, .fileName))
        case ("uploads", _): ("ID or file name", .text(1...200, .fileName))
        case ("files", _): ("Path within the results, which may contain slashes", .text(1...1024, .resultPath))
        case ("preview", _): ("Name of the output", .text(1...200, .fileName))
        case ("errors", _): ("Code of an error or a failure", .text(1...64, .name))
        case ("queues", _): ("Name of the queue", .text(1...64, .name))
        case ("watches", _): ("Name of the watched folder", .text(1...64, .name))
        case ("presets", _): ("Name of the preset", .text(1...64, .name))
        default: ("ID", .text(1...64, .name))
        }
    }
}

extension Operation {
    /// The parameters in the path, in their order.
    package var pathParameters: [PathParameter] {
        let segments = path.split(separator: "/")
        return segments.indices.filter { segments[$0].hasPrefix("{") }.map { index in
            let name = segments[index].dropFirst().dropLast()
            return PathParameter(
                name: String(name.hasSuffix("...") ? name.dropLast(3) : name),
                after: index > 0 ? segments[index - 1] : nil
            )
        }
    }
}
