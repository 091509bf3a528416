// SPDX-License-Identifier: GPL-2.0-or-later

/// The bytes of a fuzzer as choices, read from the front. Behind the end there are zeros.
package struct FuzzInput {
    private var rest: ArraySlice<UInt8>

    /// Copies what libFuzzer hands over.
    package init(_ bytes: UnsafePointer<UInt8>?, _ count: Int) {
        rest = Array(UnsafeBufferPointer(start: bytes, count: count))[...]
    }

    /// Whether nothing is left.
    package var isEmpty: Bool { rest.isEmpty }

    /// One byte.
    package mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    /// Two bytes, the lower one first.
    package mutating func short() -> Int {
        let low = Int(byte())
        return low | Int(byte()) << 8
    }

    /// So many bytes, or what is left of them.
    package mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// All that is left.
    package mutating func remainder() -> [UInt8] { bytes(rest.count) }
}

/// Writes what ``FuzzInput`` reads, for seeds.
package struct FuzzOutput {
    /// What was written.
    package private(set) var bytes: [UInt8] = []

    /// Nothing yet.
    package init() {}

    /// One byte.
    package mutating func byte(_ value: UInt8) { bytes.append(value) }

    /// Two bytes, the lower one first.
    package mutating func short(_ value: Int) {
        bytes.append(UInt8(truncatingIfNeeded: value))
        bytes.append(UInt8(truncatingIfNeeded: value >> 8))
    }

    /// Bytes as they are.
    package mutating func append(_ more: [UInt8]) { bytes += more }
}
