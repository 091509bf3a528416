// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
internal import MediaTypes
internal import Synchronization

/// The helper's end of the ring: writes coded data into memory that both processes see, and waits for room.
final class RingWriter: Sendable {
    private let mapping: SharedMapping
    private struct State {
        var space: RingSpace
        var isClosed = false
    }

    private let state: Mutex<State>
    private let change = DispatchSemaphore(value: 0)

    init(_ mapping: SharedMapping) {
        self.mapping = mapping
        state = Mutex(State(space: RingSpace(capacity: mapping.byteCount)))
    }

    /// Writes data, by one thread at a time.
    ///
    /// - Returns: Where they begin.
    /// - Throws: `frameFailed` if they are longer than the ring, `inputOutput` if nobody will take them.
    func write(_ data: CodedData) throws(MediaError) -> Int {
        guard data.count <= mapping.byteCount else {
            throw MediaError(
                .frameFailed,
                "a coded frame is larger than the memory for coded frames",
                given: "\(data.count) bytes",
                allowed: "\(mapping.byteCount) bytes"
            )
        }
        while true {
            let (offset, isClosed) = state.withLock { ($0.isClosed ? nil : $0.space.reserve(data.count), $0.isClosed) }
            if isClosed { throw MediaError(.inputOutput, "the client takes no more coded frames") }
            if let offset {
                let target = UnsafeMutableRawBufferPointer(start: mapping.base + offset, count: data.count)
                data.withUnsafeBytes { target.copyMemory(from: $0) }
                return offset
            }
            change.wait()
        }
    }

    /// Makes room.
    ///
    /// - Parameter total: How many frames have been taken out since the beginning.
    /// - Throws: `malformedData` if there are not so many.
    func release(total: UInt64) throws(MediaError) {
        guard state.withLock({ $0.space.release(total: total) }) else {
            throw MediaError(.malformedData, "the client took frames that were not there", given: "\(total)")
        }
        change.signal()
    }

    /// Lets nobody wait any more.
    func close() {
        state.withLock { $0.isClosed = true }
        change.signal()
    }
}
