// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// A line that libva or a driver would have printed.
public struct DriverMessage: Sendable, Hashable {
    /// How libva ranks the line.
    public let severity: Severity
    /// The line, without the newline at its end.
    public let text: String

    /// libva's ranks.
    public enum Severity: String, Sendable, Hashable {
        /// Progress, such as which file is being loaded.
        case info
        /// A failure.
        case error
    }
}

/// Where libva's callbacks for one display lead: to the display's handlers, and into a record of its opening.
///
/// Drivers may call from threads of their own.
final class MessageRelay: Sendable {
    private let handler: @Sendable (DriverMessage) -> Void
    /// Takes the stages that libva announces while a display opens.
    private let onStage: @Sendable (DisplayStage) -> Void
    /// Nil once the display is open, so that a talkative driver does not fill the memory.
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

    /// What was said so far. Nothing is recorded from now on.
    func endRecord() -> [DriverMessage] {
        record.withLock { record in
            defer { record = nil }
            return record ?? []
        }
    }
}
