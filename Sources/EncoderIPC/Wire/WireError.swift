// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Why bytes from the other process are not a message, or why a value does not fit into one.
struct WireError: Error, Hashable, CustomStringConvertible {
    enum Reason: Hashable {
        /// The bytes end inside of a value.
        case truncated
        /// There are bytes behind the last value.
        case trailingBytes(Int)
        /// The bytes stand for no value of the type.
        case noSuchValue(given: String)
        /// A string, a list or a message is longer than allowed.
        case tooLong(Int, allowed: Int)
        /// Something in the header is not what this end speaks.
        case wrongHeader(given: String, expected: String)
    }

    /// What was read or written, for example a type's name.
    var field: String
    /// The byte of the message at which it begins.
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

    /// What a caller of an encoder is told.
    ///
    /// - Parameter peer: Who sent the bytes, for example `the encoder's helper process`.
    func mediaError(from peer: String) -> MediaError {
        MediaError(.malformedData, "\(peer) sent a message that cannot be read: \(self)")
    }
}
