// SPDX-License-Identifier: GPL-2.0-or-later

import Logging

/// Prints log messages of libraries on the console.
struct ConsoleLogHandler: LogHandler {
    let label: String
    let console: Console
    var metadata = Logger.Metadata()
    var logLevel: Logger.Level

    init(label: String, console: Console) {
        self.label = label
        self.console = console
        logLevel = console.detail >= .everything ? .debug : .warning
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let component = event.metadata?["component"].map { "\($0)" } ?? label
        let text = "\(component): \(event.message)"
        event.level >= .warning ? console.warning(text) : console.log(text)
    }
}
