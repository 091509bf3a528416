// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// A line that libva or a driver would print.
public struct DriverMessage: Sendable, Hashable {
    /// The severity of the line.
    public let severity: Severity
    /// The line, without its trailing newline.
    public let text: String

    /// The severities of libva.
    public enum Severity: String, Sendable, Hashable {
        /// Progress, such as the file that is being loaded.
        case info
        /// A failure.
        case error
    }
}

/// Forwards libva's callbacks for one display to the display's handlers, and records the messages while it is opened.
///
/// Drivers may call from their own threads.
final class MessageRelay: Sendable {
    private let handler: @Sendable (DriverMessage) -> Void
    /// Receives the stages that libva indicates while a display is opened.
    private let onStage: @Sendable (DisplayStage) -> Void
    /// The recorded messages; nil once the display is open, so that a verbose driver does not fill the memory.
    private let record = Mutex<[DriverMessage]?>([])

    init(
        onStage: @escaping @Sendable (DisplayStage) -> Void = { _ in },
        handler: @escaping @Sendable (DriverMessage) -> Void
    ) {
        self.onStage = onStage
        self.handler = handler
    }

    func receive(_ severity: DriverMessage.Severity, _ line: UnsafePointer<CChar>?) {
        guard let line else { return }
        var text = Substring(String(cString: line))
        while text.last?.isNewline == true { text.removeLast() }
        let message = DriverMessage(severity: severity, text: String(text))
        let stage = record.withLock { record in
            record?.append(message)
            return record.flatMap(DisplayStage.init(announcedBy:))
        }
        if let stage { onStage(stage) }
        handler(message)
    }

    /// Returns the recorded messages and stops recording.
    func endRecord() -> [DriverMessage] {
        record.withLock { record in
            defer { record = nil }
            return record ?? []
        }
    }
}
