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

/// Where libva's callbacks for one display lead: to the display's handler, and into a record of its opening.
///
/// Drivers may call from threads of their own.
final class MessageRelay: Sendable {
    private let handler: @Sendable (DriverMessage) -> Void
    /// Nil once the display is open, so that a talkative driver does not fill the memory.
    private let record = Mutex<[DriverMessage]?>([])

    init(handler: @escaping @Sendable (DriverMessage) -> Void) { self.handler = handler }

    func receive(_ severity: DriverMessage.Severity, _ line: UnsafePointer<CChar>?) {
        guard let line else { return }
        var text = Substring(String(cString: line))
        while text.last?.isNewline == true { text.removeLast() }
        let message = DriverMessage(severity: severity, text: String(text))
        record.withLock { $0?.append(message) }
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
