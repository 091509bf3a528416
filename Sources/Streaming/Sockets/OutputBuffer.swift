// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Bytes that wait for a connection.
struct OutputBuffer: Sendable {
    private var bytes: [UInt8] = []
    private var start = 0
    private var replyBytes = 0

    /// The number of bytes that were removed so far.
    private(set) var removedBytes: Int64 = 0
    /// The most bytes of replies that may wait.
    static let greatestReplies = 256 << 10

    var count: Int { bytes.count - start }
    var isEmpty: Bool { count == 0 }

    /// Adds bytes behind the others.
    mutating func append(_ more: [UInt8]) {
        if isEmpty { (bytes, start) = (more, 0) } else { bytes += more }
    }

    /// Adds what a server asked for.
    ///
    /// - Throws: `malformedData` if it asks for answers and does not take them.
    mutating func append(reply: [UInt8]) throws(MediaError) {
        replyBytes += reply.count
        guard replyBytes <= Self.greatestReplies else {
            throw MediaError(.malformedData, "the server asks for more answers than it takes")
        }
        append(reply)
    }

    /// Removes the first bytes.
    mutating func remove(_ count: Int) {
        start += count
        removedBytes += Int64(count)
        if isEmpty { (bytes, start, replyBytes) = ([], 0, 0) }
    }

    /// Calls `body` with the bytes, without changing them.
    func withBytes<Value>(_ body: (UnsafeRawBufferPointer) throws(MediaError) -> Value) throws(MediaError) -> Value {
        try bytes.withUnsafeBytes { memory in
            Result { () throws(MediaError) in try body(UnsafeRawBufferPointer(rebasing: memory[start...])) }
        }.get()
    }
}
