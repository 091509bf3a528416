// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Synchronization

/// The helper's end of the ring: writes coded data to memory that both processes share.
final class RingWriter: Sendable {
    private struct State {
        var space: RingSpace
        /// Whether a request to the client for its progress is unanswered.
        var isAsked = false
    }

    private let mapping: SharedMapping
    private let state: Mutex<State>

    init(_ mapping: SharedMapping) {
        self.mapping = mapping
        state = Mutex(State(space: RingSpace(capacity: mapping.byteCount)))
    }

    /// Returns the size of the data in bytes.
    ///
    /// - Throws: `frameFailed` if the data is longer than the ring.
    func fittingByteCount(of data: CodedData) throws(MediaError) -> Int {
        guard data.count <= mapping.byteCount else {
            throw MediaError(
                .frameFailed,
                "a coded frame is larger than the shared memory for coded frames",
                given: "\(data.count) bytes",
                allowed: "\(mapping.byteCount) bytes"
            )
        }
        return data.count
    }

    /// Returns whether to ask the client for its progress before that many bytes are written: when half of the ring is
    /// used, so that the answer arrives before it is needed.
    func asks(for byteCount: Int) -> Bool {
        state.withLock { state in
            let used = state.space.usedByteCount
            guard !state.isAsked, used > 0, used + byteCount > mapping.byteCount / 2 else { return false }
            state.isAsked = true
            return true
        }
    }

    enum Attempt {
        /// The data was written at this offset.
        case written(Int)
        /// There is no space, and the client has answered the last request: a new one is due.
        case answered
    }

    /// Writes data, from one thread at a time.
    ///
    /// - Returns: `nil` if there is no space until the client answers.
    func attempt(_ data: CodedData) -> Attempt? {
        let (offset, isAsked) = state.withLock { ($0.space.reserve(data.count), $0.isAsked) }
        guard let offset else { return isAsked ? nil : .answered }
        let target = UnsafeMutableRawBufferPointer(start: mapping.base + offset, count: data.count)
        data.withUnsafeBytes { target.copyMemory(from: $0) }
        return .written(offset)
    }

    /// Frees space.
    ///
    /// - Parameter total: The number of frames that were taken since the beginning.
    /// - Throws: `malformedData` if there are not that many.
    func release(total: UInt64) throws(MediaError) {
        let isTrue = state.withLock { state in
            state.isAsked = false
            return state.space.release(total: total)
        }
        if !isTrue {
            throw MediaError(.malformedData, "the client released frames that it did not have", given: "\(total)")
        }
    }
}
