// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Synchronization

/// The client's end of the ring for coded samples: memory that the client writes and the helper reads. Samples are
/// freed in the order in which they were written.
final class SampleRing: Sendable {
    private struct State {
        let descriptor: SharedDescriptor
        let mapping: SharedMapping
        var space: RingSpace

        init(byteCount: Int) throws(MediaError) {
            let memory = try SharedMapping.makeMemory(named: "vatoolbox-samples", byteCount: byteCount)
            mapping = try SharedMapping(memory, byteCount: byteCount, access: .readWrite)
            descriptor = SharedDescriptor(memory)
            space = RingSpace(capacity: byteCount)
        }
    }

    /// The maximum size of a sample, far above what any level of H.264 or HEVC allows.
    static let mostBytes = 1 << 30

    private let state: Mutex<State>

    init(byteCount: Int) throws(MediaError) { state = Mutex(try State(byteCount: byteCount)) }

    /// Replaces the memory. Samples in it must no longer be read.
    func replace(byteCount: Int) throws(MediaError) {
        let new = try State(byteCount: byteCount)
        state.withLock { $0 = new }
    }

    /// The descriptor of the memory, for the helper.
    var descriptor: SharedDescriptor { state.withLock { $0.descriptor } }

    /// The size of the memory.
    var byteCount: Int { state.withLock { $0.mapping.byteCount } }

    /// Writes data.
    ///
    /// - Returns: Its offset; `nil` if there is no space until another sample is freed.
    func write(_ data: CodedData) -> Int? {
        let (offset, mapping) = state.withLock { ($0.space.reserve(data.count), $0.mapping) }
        guard let offset else { return nil }
        let target = UnsafeMutableRawBufferPointer(start: mapping.base + offset, count: data.count)
        data.withUnsafeBytes { target.copyMemory(from: $0) }
        return offset
    }

    /// Frees the oldest sample.
    func releaseFirst() {
        state.withLock { state in _ = state.space.release(total: state.space.released + 1) }
    }
}
