// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// The values of texts that are read again and again, such as those of a list that somebody looks at.
package final class KnownTexts: Sendable {
    private struct Key: Hashable {
        var type: ObjectIdentifier
        /// Its bytes: strings are equal in all normal forms.
        var text: [UInt8]
    }

    private let most: Int
    private let longest: Int
    private let values = Mutex<[Key: any Sendable]>([:])

    /// Knows none yet.
    ///
    /// - Parameters:
    ///   - most: The number of texts that are kept. With one more, all are forgotten.
    ///   - longest: The number of bytes of a text; longer ones are not kept.
    package init(most: Int, longest: Int) {
        self.most = most
        self.longest = longest
    }

    /// Returns the value of a text.
    ///
    /// - Parameter decode: Reads it, if it is not known. It depends on the text and the type alone.
    package func value<Value: Sendable, Failure: Error>(
        _ type: Value.Type,
        _ text: String,
        decode: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        guard text.utf8.count <= longest else { return try decode() }
        let key = Key(type: ObjectIdentifier(type), text: Array(text.utf8))
        if let known = values.withLock({ $0[key] }), let value = known as? Value { return value }
        let value = try decode()
        values.withLock { values in
            if values.count >= most { values = [:] }
            values[key] = value
        }
        return value
    }
}
