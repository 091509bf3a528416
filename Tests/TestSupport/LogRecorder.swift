// SPDX-License-Identifier: GPL-2.0-or-later

package import Logging
internal import Synchronization

/// A log handler that keeps everything.
package final class LogRecorder: LogHandler, Sendable {
    package struct Line: Sendable, CustomStringConvertible {
        package let level: Logger.Level
        package let text: String
        package let metadata: Logger.Metadata

        package var description: String { "\(level) \(metadata) \(text)" }
    }

    private let state = Mutex<(lines: [Line], level: Logger.Level)>(([], .trace))

    package init() {}

    package var lines: [Line] { state.withLock { $0.lines } }

    /// A logger whose messages come here.
    package func logger(_ label: String) -> Logger { Logger(label: label) { _ in self } }

    package var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    package var logLevel: Logger.Level {
        get { state.withLock { $0.level } }
        set { state.withLock { $0.level = newValue } }
    }

    package subscript(metadataKey _: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    package func log(event: LogEvent) {
        let line = Line(level: event.level, text: "\(event.message)", metadata: event.metadata ?? [:])
        state.withLock { $0.lines.append(line) }
    }
}
