// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA
internal import Synchronization

/// A buffer for the coded data of a picture (`VAEncCodedBufferType`). It is destroyed when it is released. Its release
/// waits for a picture in progress, because drivers crash otherwise, so it must not be released when the driver hangs.
///
/// The buffer can be used for one picture after another. Waiting and reading may happen on another thread than
/// submission.
public struct CodedBuffer: ~Copyable, Sendable {
    /// The libva ID of the buffer, which picture parameters refer to.
    public let id: UInt32
    /// The requested size in bytes.
    public let capacity: Int

    private let context: ContextHandle
    /// The input surface of the picture in progress; nil if there is none.
    private let input = Mutex<Surface?>(nil)

    init(id: UInt32, capacity: Int, _ context: ContextHandle) {
        self.id = id
        self.capacity = capacity
        self.context = context
    }

    deinit {
        settle()
        context.destroyBuffer(id)
    }

    /// Waits for the picture that was submitted last (`vaSyncBuffer`; if the driver does not implement it,
    /// `vaSyncSurface2` or `vaSyncSurface` on the input surface).
    ///
    /// - Parameter timeout: The time limit; nil for none. It depends on the driver: AMD's implements a wait with a
    ///   limit only as `vaSyncSurface`, which has no limit, and waits forever when its device hangs.
    /// - Returns: Whether the picture is coded, or none was submitted. If not, wait again.
    /// - Throws: ``VAError`` if the driver cannot wait. The picture is then still in progress.
    public func wait(atMost timeout: Duration? = nil) throws(VAError) -> Bool {
        guard let surface = input.withLock({ $0 }) else { return true }
        guard try context.connection.wait(forBuffer: id, codedFrom: surface.id, atMost: timeout) else { return false }
        input.withLock { $0 = nil }
        return true
    }

    /// Waits for the picture and calls a closure with the coded data (`vaMapBuffer`).
    ///
    /// - Parameter body: Receives the segments, whose bytes must not be used after it returns.
    public func withSegments<Result>(_ body: (CodedSegments) -> Result) throws(VAError) -> Result {
        _ = try wait()
        let capacity = capacity
        return try context.connection.withMapping(of: id) { address in
            body(CodedSegments(first: address, capacity: capacity))
        }
    }

    /// Records the input surface of a picture, which is retained until the picture is complete.
    func awaits(_ surface: Surface) { input.withLock { $0 = surface } }

    /// Waits for a picture in progress, ignoring failures.
    func settle() {
        context.connection.report { () throws(VAError) in _ = try wait() }
        input.withLock { $0 = nil }
    }
}

/// A segment of coded data (`VACodedBufferSegment`).
public struct CodedSegment {
    /// The size that the driver reports.
    public let size: Int
    /// The data. It is shorter than ``size`` if that exceeds the whole buffer. The output of such a driver cannot be
    /// correct, because the picture has overflowed the buffer.
    public let bytes: UnsafeRawBufferPointer
    /// The number of bits in the first byte that do not belong to the data.
    public let bitOffset: Int
    /// The bits of `VA_CODED_BUF_STATUS_*`. Drivers leave garbage in bits that they do not use.
    public let status: UInt32
}

/// The segments of a coded buffer, in order. Most drivers return one.
public struct CodedSegments: Sequence {
    /// The requested size of the whole buffer in bytes.
    public let capacity: Int
    private let first: UnsafeMutableRawPointer

    init(first: UnsafeMutableRawPointer, capacity: Int) {
        self.first = first
        self.capacity = capacity
    }

    /// Starts with the first segment.
    public func makeIterator() -> Iterator { Iterator(position: first, capacity: capacity) }

    /// Follows the linked list of segments.
    public struct Iterator: IteratorProtocol {
        private var position: UnsafeMutableRawPointer?
        private let capacity: Int
        /// Limits a cyclic list. No driver produces as many slices.
        private var left = 4096

        fileprivate init(position: UnsafeMutableRawPointer?, capacity: Int) {
            self.position = position
            self.capacity = capacity
        }

        /// Returns the next segment.
        public mutating func next() -> CodedSegment? {
            guard left > 0, let segment = position?.assumingMemoryBound(to: VACodedBufferSegment.self).pointee else {
                return nil
            }
            left -= 1
            position = segment.next
            let size = Int(segment.size)
            let readable = segment.buf == nil ? 0 : Swift.min(size, capacity)
            return CodedSegment(
                size: size,
                bytes: UnsafeRawBufferPointer(start: segment.buf, count: readable),
                bitOffset: Int(segment.bit_offset),
                status: segment.status
            )
        }
    }
}
