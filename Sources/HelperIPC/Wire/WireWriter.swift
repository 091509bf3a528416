// SPDX-License-Identifier: GPL-2.0-or-later

/// Writes the values of one message, integers in little-endian order.
struct WireWriter {
    private(set) var bytes: [UInt8] = []

    /// Discards the contents and keeps the memory.
    mutating func clear() { bytes.removeAll(keepingCapacity: true) }

    /// Overwrites the bytes at a position.
    mutating func replace(at position: Int, with value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.littleEndian) { value in
            bytes.replaceSubrange(position..<position + value.count, with: value)
        }
    }

    mutating func integer(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    /// Writes bytes after their count.
    mutating func bytes(_ value: some Collection<UInt8>, atMost limit: Int) throws(WireError) {
        try count(value.count, atMost: limit, "bytes")
        bytes.append(contentsOf: value)
    }

    /// Writes values after their count.
    mutating func list<Value: WireValue>(_ values: [Value], atMost limit: Int) throws(WireError) {
        try count(values.count, atMost: limit, "list of \(Value.self)")
        for value in values { try value.write(to: &self) }
    }

    private mutating func count(_ count: Int, atMost limit: Int, _ field: String) throws(WireError) {
        guard count <= limit, let short = UInt32(exactly: count) else {
            throw WireError(field: field, position: bytes.count, reason: .tooLong(count, allowed: limit))
        }
        integer(short)
    }
}
