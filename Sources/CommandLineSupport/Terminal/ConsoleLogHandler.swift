// SPDX-License-Identifier: GPL-2.0-or-later

package import Logging

/// Prints log messages of libraries on the console.
package struct ConsoleLogHandler: LogHandler {
    package let label: String
    package let console: Console
    package var metadata = Logger.Metadata()
    package var logLevel: Logger.Level

    package init(label: String, console: Console) {
        self.label = label
        self.console = console
        logLevel = console.detail >= .everything ? .debug : .warning
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let component = event.metadata?["component"].map { "\($0)" } ?? label
        let text = "\(component): \(event.message)"
        event.level >= .warning ? console.warning(text) : console.log(text)
    }
}
