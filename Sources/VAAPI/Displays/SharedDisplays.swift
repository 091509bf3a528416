// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// The displays of a process whose encoders and decoders share one per device, so that one can use the surfaces of another.
///
/// A driver that has failed for one of them may have left the display in any state. Share displays only in a process that
/// accepts nothing new after a failure.
public final class SharedDisplays: Sendable {
    /// A display that others keep open.
    private struct Entry: Sendable {
        weak var connection: DisplayConnection?
        let version: APIVersion
        let openingMessages: [DriverMessage]
        let onStage: @Sendable (DisplayStage) -> Void
    }

    private let entries = Mutex<[String: Entry]>([:])

    /// Creates an object that knows no display.
    public init() {}

    /// Returns another display for the connection of a device that is still open, or opens one. One caller opens at a
    /// time.
    ///
    /// - Parameters:
    ///   - path: The path of the render node.
    ///   - open: Opens a display for it.
    public func display<Failure: Error>(
        path: String,
        open: () throws(Failure) -> Display
    ) throws(Failure) -> Display {
        try entries.withLock { (entries) throws(Failure) -> Display in
            if let entry = entries[path], let connection = entry.connection {
                return Display(connection, entry.version, entry.openingMessages, entry.onStage)
            }
            let display = try open()
            entries[path] = Entry(
                connection: display.connection,
                version: display.version,
                openingMessages: display.openingMessages,
                onStage: display.onStage
            )
            return display
        }
    }
}
