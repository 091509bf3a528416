// SPDX-License-Identifier: GPL-2.0-or-later

/// The bytes of one coded picture: immutable, shared by reference, freed or given back with the last reference.
public final class CodedData: @unchecked Sendable {
    /// How many bytes there are.
    public let count: Int

    private let base: UnsafeMutableRawPointer
    private let release: @Sendable (UnsafeMutableRawPointer) -> Void

    /// Takes over memory without a copy.
    ///
    /// - Parameters:
    ///   - base: The first byte.
    ///   - count: How many bytes are valid; below zero counts as zero.
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

    /// Allocates memory and lets `fill` write into it; the bytes that `fill` reports as written are kept.
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

    deinit { release(base) }

    /// Calls `body` with the bytes; the pointer is valid inside of it only.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: base, count: count))
    }
}
