// SPDX-License-Identifier: GPL-2.0-or-later

import EncodingService
import Foundation
import Logging

/// Writes log lines to standard error, as text or as one JSON object each.
struct ServiceLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    private let label: String
    private let isJSON: Bool
    private let recentLog: RecentLog

    init(label: String, settings: ServiceSettings, recentLog: RecentLog) {
        self.label = label
        self.recentLog = recentLog
        logLevel = Logger.Level(rawValue: settings.logLevel) ?? .info
        isJSON = settings.logFormat == "json"
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let time = Date().formatted(.iso8601.year().month().day().time(includingFractionalSeconds: true))
        let line = isJSON ? json(event, all, time) : text(event, all, time)
        recentLog.add(line)
        // A log that cannot be written is no reason to end.
        try? FileHandle.standardError.write(contentsOf: Data((line + "\n").utf8))
    }

    private func text(_ event: LogEvent, _ all: Logger.Metadata, _ time: String) -> String {
        let values = all.sorted { $0.key < $1.key }.map { " \($0.key)=\(Self.shown("\($0.value)"))" }
        return
            "\(time) \(event.level.rawValue) \(Self.shown(event.message.description, quotes: false))\(values.joined())"
    }

    private func json(_ event: LogEvent, _ all: Logger.Metadata, _ time: String) -> String {
        var object = all.mapValues { "\($0)" }
        object["time"] = time
        object["level"] = event.level.rawValue
        object["message"] = event.message.description
        object["logger"] = label
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(object)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    /// A value on one line: what clients send may contain anything.
    private static func shown(_ text: String, quotes: Bool = true) -> String {
        let isPlain = text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value < 0x7F && $0 != "\"" && $0 != "=" }
        if isPlain || !quotes && text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value < 0x7F }) { return text }
        return text.debugDescription
    }
}
