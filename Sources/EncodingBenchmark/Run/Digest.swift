// SPDX-License-Identifier: GPL-2.0-or-later

/// 64-bit FNV-1a, to detect differences. It has no security purpose.
package struct Digest: Sendable {
    /// The digest.
    package private(set) var hash: UInt64 = 0xcbf2_9ce4_8422_2325

    /// Creates an empty digest.
    package init() {}

    /// Adds bytes.
    package mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var hash = hash
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        self.hash = hash
    }

    /// Adds the bytes of a text.
    package mutating func add(_ text: String) {
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }

    /// The kind and the digest, in hexadecimal.
    package var text: String {
        let digits = String(hash, radix: 16)
        return "fnv1a64:" + String(repeating: "0", count: 16 - digits.count) + digits
    }
}
