// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA
internal import Synchronization

/// A buffer that a picture is coded into (`VAEncCodedBufferType`). Destroyed at the end of its life, which waits for the
/// picture that is under way, because drivers crash otherwise: whoever has a driver that hangs must not let it end.
///
/// One picture after the other may be coded into it. It may be waited for and read on another thread than that which
/// submits.
public struct CodedBuffer: ~Copyable, Sendable {
    /// The number that libva knows the buffer by; picture parameters refer to it.
    public let id: UInt32
    /// Its size in bytes, as asked for.
    public let capacity: Int

    private let context: ContextHandle
    /// The surface that the picture under way is coded from; nil when there is none.
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

    /// Waits for the picture that was submitted last (`vaSyncBuffer`; where the driver has it not `vaSyncSurface2` or
    /// `vaSyncSurface` on its input).
    ///
    /// - Parameter timeout: How long; nil is for ever. It is as good as the driver: AMD's has only `vaSyncSurface` for
    ///   waits with a limit, which knows none, and waits for ever when its device hangs.
    /// - Returns: Whether the picture is coded, or none was submitted. If not, wait again.
    /// - Throws: ``VAError`` if the driver cannot wait. The picture then still counts as under way.
    public func wait(atMost timeout: Duration? = nil) throws(VAError) -> Bool {
        guard let surface = input.withLock({ $0 }) else { return true }
        guard try context.connection.wait(forBuffer: id, codedFrom: surface.id, atMost: timeout) else { return false }
        input.withLock { $0 = nil }
        return true
    }

    /// Lends what was coded (`vaMapBuffer`), after having waited for it.
    ///
    /// - Parameter body: Gets the segments, whose bytes must not be used after it.
    public func withSegments<Result>(_ body: (CodedSegments) -> Result) throws(VAError) -> Result {
        _ = try wait()
        let capacity = capacity
        return try context.connection.withMapping(of: id) { address in
            body(CodedSegments(first: address, capacity: capacity))
        }
    }

    /// Notes that a picture is coded from a surface, which is kept until the picture has been waited for.
    func awaits(_ surface: Surface) { input.withLock { $0 = surface } }

    /// Waits for what may be under way, whatever comes of it.
    func settle() {
        context.connection.report { () throws(VAError) in _ = try wait() }
        input.withLock { $0 = nil }
    }
}

/// A piece of what was coded (`VACodedBufferSegment`).
public struct CodedSegment {
    /// The size that the driver states.
    public let size: Int
    /// The data. Fewer bytes than ``size`` when that is more than the whole buffer: nothing that comes from such a driver
    /// can be right, its picture has overflowed.
    public let bytes: UnsafeRawBufferPointer
    /// How many bits of the first byte do not belong to it.
    public let bitOffset: Int
    /// `VA_CODED_BUF_STATUS_*`, as the driver set it. Drivers leave garbage in bits that they do not use.
    public let status: UInt32
}

/// The segments of a coded buffer, in order; one for most drivers.
public struct CodedSegments: Sequence {
    /// The size of the whole buffer in bytes, as it was asked for.
    public let capacity: Int
    private let first: UnsafeMutableRawPointer

    init(first: UnsafeMutableRawPointer, capacity: Int) {
        self.first = first
        self.capacity = capacity
    }

    /// Begins with the first segment.
    public func makeIterator() -> Iterator { Iterator(position: first, capacity: capacity) }

    /// Follows the list from segment to segment.
    public struct Iterator: IteratorProtocol {
        private var position: UnsafeMutableRawPointer?
        private let capacity: Int
        /// A list that leads back to itself ends some time: no driver makes as many slices.
        private var left = 4096

        fileprivate init(position: UnsafeMutableRawPointer?, capacity: Int) {
            self.position = position
            self.capacity = capacity
        }

        /// The next segment.
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
