// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// The last lines that a helper logged, for the error when it ends.
struct LogTail {
    static let lineCount = 5
    static let longestLine = 1024

    private(set) var lines: [String] = []
    /// The bytes after the last line feed.
    private var rest: [UInt8] = []

    mutating func add(_ line: String) {
        lines.append(line)
        if lines.count > Self.lineCount { lines.removeFirst() }
    }

    /// Adds output of the helper.
    ///
    /// - Returns: The complete lines. A very long line is split.
    mutating func add(_ bytes: some Sequence<UInt8>) -> [String] {
        var complete: [String] = []
        for byte in bytes {
            if byte == UInt8(ascii: "\n") || rest.count == Self.longestLine { complete += finish().map { [$0] } ?? [] }
            if byte != UInt8(ascii: "\n") { rest.append(byte) }
        }
        return complete
    }

    /// Adds the last line, which has no line feed.
    mutating func finish() -> String? {
        guard !rest.isEmpty else { return nil }
        let line = String(decoding: rest, as: UTF8.self)
        rest = []
        add(line)
        return line
    }

    /// The lines as part of an error message.
    var explanation: String { lines.isEmpty ? "" : "; it said: " + lines.joined(separator: " | ") }
}
