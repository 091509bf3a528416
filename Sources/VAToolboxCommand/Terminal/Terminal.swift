// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc

/// What there is to know about a descriptor that text goes to.
enum Terminal {
    /// Whether a person watches.
    static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// How many columns it has; `nil` if it is no terminal or does not say.
    static func width(_ descriptor: Int32) -> Int? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Waits until a descriptor takes more that somebody has set to not block (`O_NONBLOCK`).
    private static func waitForRoom(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&entry, 1, -1) > 0 || errno == EINTR
    }

    /// Writes all of the text; what cannot be written is lost, for there is no other place to tell.
    ///
    /// - Returns: Whether all was written.
    @discardableResult
    static func write(_ text: String, to descriptor: Int32) -> Bool {
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
