// SPDX-License-Identifier: GPL-2.0-or-later

/// The bytes of one coded picture: immutable and shared by reference. The memory is released with the last reference.
public final class CodedData: @unchecked Sendable {
    /// The number of bytes.
    public let count: Int

    private let base: UnsafeMutableRawPointer
    private let release: @Sendable (UnsafeMutableRawPointer) -> Void

    /// Takes ownership of memory without a copy.
    ///
    /// - Parameters:
    ///   - base: The address of the first byte.
    ///   - count: The number of valid bytes; a negative number counts as zero.
    ///   - release: Called exactly once with `base`, on any thread, when nothing reads the bytes any more.
    public init(
        noCopy base: UnsafeMutableRawPointer,
        count: Int,
        release: @escaping @Sendable (UnsafeMutableRawPointer) -> Void
    ) {
        self.base = base
        self.count = max(count, 0)
        self.release = release
    }

    /// Allocates memory for `fill` to write into, and keeps the number of bytes that `fill` returns.
    public convenience init(capacity: Int, filledBy fill: (UnsafeMutableRawBufferPointer) -> Int) {
        let byteCount = max(capacity, 1)
        let base = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 16)
        let written = fill(UnsafeMutableRawBufferPointer(start: base, count: byteCount))
        self.init(noCopy: base, count: min(written, byteCount)) { $0.deallocate() }
    }

    /// Copies bytes.
    public convenience init(_ bytes: some Collection<UInt8>) {
        self.init(capacity: bytes.count) { memory in
            memory.copyBytes(from: bytes)
            return bytes.count
        }
    }

    /// Copies bytes, and puts zero bytes behind them, which do not count, as FFmpeg's parsers require.
    package convenience init(_ bytes: [UInt8], padding: Int) {
        self.init(capacity: bytes.count + padding) { memory in
            memory.copyBytes(from: bytes)
            UnsafeMutableRawBufferPointer(rebasing: memory[bytes.count...]).initializeMemory(
                as: UInt8.self,
                repeating: 0
            )
            return bytes.count
        }
    }

    deinit { release(base) }

    /// Calls `body` with the bytes; the pointer is valid only inside `body`.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: base, count: count))
    }
}
