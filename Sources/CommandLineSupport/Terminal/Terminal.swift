// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc

/// Properties of a descriptor for text output.
package enum Terminal {
    /// Returns whether it is a terminal.
    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Returns the number of columns; `nil` if it is not a terminal or does not report them.
    package static func width(_ descriptor: Int32) -> Int? {
        let columns = Int(linux_terminal_columns(descriptor))
        return columns > 0 ? columns : nil
    }

    /// Waits until a non-blocking descriptor (`O_NONBLOCK`) accepts more data.
    private static func waitForRoom(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&entry, 1, -1) > 0 || errno == EINTR
    }

    /// Writes the whole text. If this fails, the rest is lost, because there is no other place to report it.
    ///
    /// - Returns: Whether the whole text was written.
    @discardableResult
    package static func write(_ text: String, to descriptor: Int32) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while let base = rest.baseAddress, rest.count > 0 {
                let written = Glibc.write(descriptor, base, rest.count)
                if written < 0 {
                    if errno == EINTR || errno == EAGAIN && waitForRoom(descriptor) { continue }
                    return false
                }
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            }
            return true
        }
    }
}
