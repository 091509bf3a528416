// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The reason why bytes of the other process are not a message, or why a value does not fit into one.
struct WireError: Error, Hashable, CustomStringConvertible {
    enum Reason: Hashable {
        /// The bytes end within a value.
        case truncated
        /// There are bytes after the last value.
        case trailingBytes(Int)
        /// The bytes do not represent a value of the type.
        case noSuchValue(given: String)
        /// A string, a list or a message is longer than allowed.
        case tooLong(Int, allowed: Int)
        /// A header field does not match what this end supports.
        case wrongHeader(given: String, expected: String)
    }

    /// The field that was read or written, for example the name of a type.
    var field: String
    /// The offset in the message at which it begins.
    var position: Int
    var reason: Reason

    var description: String {
        let explanation =
            switch reason {
            case .truncated: "is cut off"
            case .trailingBytes(let count): "is followed by \(count) bytes too many"
            case .noSuchValue(let given): "cannot be \(given)"
            case .tooLong(let count, let allowed): "has the length \(count), allowed \(allowed)"
            case .wrongHeader(let given, let expected): "is \(given), expected \(expected)"
            }
        return "\(field) at byte \(position) \(explanation)"
    }

    /// Returns the error for a caller of an encoder.
    ///
    /// - Parameter peer: The sender of the bytes, for example `the encoder's helper process`.
    func mediaError(from peer: String) -> MediaError {
        MediaError(.malformedData, "\(peer) sent a message that cannot be read: \(self)")
    }
}
