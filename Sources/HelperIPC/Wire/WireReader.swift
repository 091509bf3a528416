// SPDX-License-Identifier: GPL-2.0-or-later

/// Reads the values of one message. No input can make it trap, or allocate more than the size of the message.
struct WireReader {
    private let bytes: [UInt8]
    /// The end of the message.
    private let end: Int
    /// The number of bytes that were read.
    private(set) var position = 0

    /// - Parameter count: The number of bytes in the message; `nil` for all.
    init(_ bytes: [UInt8], count: Int? = nil) {
        self.bytes = bytes
        end = min(count ?? bytes.count, bytes.count)
    }

    var remaining: Int { end - position }

    mutating func integer<Value: FixedWidthInteger>(_ type: Value.Type = Value.self) throws(WireError) -> Value {
        let size = MemoryLayout<Value>.size
        let start = try skip(size, "\(type)")
        return bytes.withUnsafeBytes { Value(littleEndian: $0.loadUnaligned(fromByteOffset: start, as: Value.self)) }
    }

    /// Reads bytes that follow their count.
    mutating func bytes(atMost limit: Int) throws(WireError) -> ArraySlice<UInt8> {
        let count = try count(atMost: limit, "bytes")
        let start = try skip(count, "bytes")
        return bytes[start..<start + count]
    }

    /// Reads values that follow their count.
    mutating func list<Value: WireValue>(of type: Value.Type = Value.self, atMost limit: Int) throws(WireError)
        -> [Value]
    {
        let count = try count(atMost: limit, "list of \(type)")
        var values: [Value] = []
        for _ in 0..<count { values.append(try Value(from: &self)) }
        return values
    }

    /// - Throws: An error if any bytes are left.
    func finish(_ field: String) throws(WireError) {
        guard remaining == 0 else { throw error(field, .trailingBytes(remaining)) }
    }

    /// Creates an error about the value at a position, by default the current one.
    func error(_ field: String, at position: Int? = nil, _ reason: WireError.Reason) -> WireError {
        WireError(field: field, position: position ?? self.position, reason: reason)
    }

    private mutating func count(atMost limit: Int, _ field: String) throws(WireError) -> Int {
        let start = position
        let count = Int(try integer(UInt32.self))
        guard count <= limit else { throw error(field, at: start, .tooLong(count, allowed: limit)) }
        return count
    }

    private mutating func skip(_ count: Int, _ field: String) throws(WireError) -> Int {
        guard count <= remaining else { throw error(field, .truncated) }
        defer { position += count }
        return position
    }
}
