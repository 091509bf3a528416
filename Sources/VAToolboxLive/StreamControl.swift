// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import Glibc
import MediaTypes
import Synchronization

/// What a program tells `stream --control` by standard input: arguments, which no other user of the machine sees there,
/// one a line up to an empty line, and then commands.
final class StreamControl: Sendable {
    /// A command.
    enum Command: Equatable {
        /// Ends the stream.
        case stop
        /// Uses another input, counted from 1.
        case use(Int)
        /// Changes the highest bitrate of the video, in bit/s.
        case bitrate(Int)

        /// Reads `stop`, `use NUMBER` or `bitrate RATE`.
        ///
        /// - Throws: `invalidArgument`.
        init(_ line: String) throws(MediaError) {
            guard let command = Self.read(line.split(separator: " ").map(String.init)) else {
                throw MediaError(
                    .invalidArgument,
                    "the command is unknown",
                    given: Readable.oneLine(line),
                    allowed: "stop, use NUMBER, bitrate RATE"
                )
            }
            self = command
        }

        private static func read(_ words: [String]) -> Command? {
            switch (words.first, words.count) {
            case ("stop", 1): .stop
            case ("use", 2): Int(words[1]).flatMap { $0 > 0 ? .use($0) : nil }
            case ("bitrate", 2): BitRate(argument: words[1]).map { .bitrate($0.bitsPerSecond) }
            default: nil
            }
        }
    }

    private let descriptor: Int32
    private let state = Mutex(State())

    private struct State {
        var bytes: [UInt8] = []
        var isAtEnd = false
    }

    /// - Parameter descriptor: Where lines are read from, without taking it over.
    init(descriptor: Int32 = STDIN_FILENO) { self.descriptor = descriptor }

    /// The longest line, in bytes.
    private static let longestLine = 64 << 10

    /// Waits for the next line.
    ///
    /// - Returns: `nil` at the end.
    func line() -> String? {
        state.withLock { state in
            while true {
                if let end = state.bytes.firstIndex(of: UInt8(ascii: "\n")) {
                    defer { state.bytes.removeFirst(end + 1) }
                    return String(decoding: state.bytes[..<end], as: UTF8.self)
                }
                guard !state.isAtEnd, state.bytes.count < Self.longestLine else { return nil }
                var part = [UInt8](repeating: 0, count: 4096)
                let count = read(descriptor, &part, part.count)
                if count < 0, errno == EINTR { continue }
                if count > 0 { state.bytes += part[..<count] } else { state.isAtEnd = true }
            }
        }
    }

    /// The lines up to an empty one.
    func arguments() -> [String] {
        var lines: [String] = []
        while let line = line(), !line.isEmpty { lines.append(line) }
        return lines
    }
}
