// SPDX-License-Identifier: GPL-2.0-or-later

internal import CVideo4Linux
internal import Glibc
internal import MediaTypes
internal import Synchronization

/// The buffers of a camera, in memory of the driver that is mapped here.
///
/// A buffer is either with the driver, which fills it, or taken. A taken one is given back from any thread. The memory
/// of one that is taken when the queue is closed, or when the camera is unplugged, stays valid until then.
final class CameraQueue: Sendable {
    /// Enough for pictures that an encoder holds, and for the driver to go on meanwhile.
    static let wantedCount: UInt32 = 6

    /// A memory plane of a buffer.
    struct Memory: @unchecked Sendable {
        var bytes: UnsafeMutableRawBufferPointer
        /// Its DMA-BUF; -1 if it was not exported.
        var exported: Int32 = -1

        func free() {
            munmap(bytes.baseAddress, bytes.count)
            if exported >= 0 { Glibc.close(exported) }
        }
    }

    /// The bytes of one memory plane that a picture takes.
    struct Filled: Sendable, Hashable {
        /// How many bytes were filled, those before the picture included.
        var byteCount: Int
        /// How many bytes come before the picture.
        var offset: Int
    }

    /// How many buffers are where.
    struct Counts: Sendable, Hashable {
        var queued = 0
        var taken = 0
    }

    private struct State {
        var node: VideoNode?
        /// The memory of each buffer; empty if it is freed.
        var memory: [[Memory]] = []
        var isTaken: [Bool] = []
        var counts = Counts()
    }

    let type: UInt32
    private let state: Mutex<State>
    /// An `eventfd` that is readable after a buffer was given back.
    private let returns: Int32

    /// Allocates buffers, and gives them all to the driver.
    ///
    /// - Parameter exports: Whether to export them as DMA-BUF, if the driver can.
    /// - Throws: `busy` if another program has buffers of the camera; `outOfMemory`; `unavailable`; `inputOutput`.
    init(_ node: VideoNode, type: UInt32, exports: Bool) throws(MediaError) {
        self.type = type
        returns = video_event()
        state = Mutex(State(node: node))
        guard returns >= 0 else {
            throw MediaError(.outOfMemory, "no descriptor for a camera", call: "eventfd", status: Int(errno))
        }
        do throws(MediaError) {
            try allocate(node, exports: exports)
        } catch {
            close()
            throw error
        }
    }

    deinit {
        close()
        if returns >= 0 { Glibc.close(returns) }
    }

    private func allocate(_ node: VideoNode, exports: Bool) throws(MediaError) {
        var count = Self.wantedCount
        try node.check(
            video_request_buffers(node.descriptor, type, &count),
            "VIDIOC_REQBUFS",
            "no buffers for pictures"
        )
        guard count >= 2 else {
            throw MediaError(
                .outOfMemory,
                "the camera has too few buffers",
                given: "\(count)",
                allowed: "at least 2",
                call: "VIDIOC_REQBUFS"
            )
        }
        var canExport = exports
        for index in 0..<count {
            var buffer = video_buffer()
            buffer.index = index
            let status = video_query_buffer(node.descriptor, type, &buffer)
            try node.check(status, "VIDIOC_QUERYBUF", "a buffer of the camera cannot be found")
            try map(buffer, node, isExported: &canExport)
        }
        for index in 0..<count {
            let status = enqueue(Int(index), node)
            try node.check(status, "VIDIOC_QBUF", "the camera does not take a buffer")
            state.withLock { $0.counts.queued += 1 }
        }
    }

    private func map(_ buffer: video_buffer, _ node: VideoNode, isExported: inout Bool) throws(MediaError) {
        guard (1...UInt32(VIDEO_PLANES)).contains(buffer.plane_count) else {
            throw MediaError(
                .unsupported,
                "a buffer of the camera has another number of memory planes",
                given: "\(buffer.plane_count)",
                allowed: "1...\(VIDEO_PLANES)"
            )
        }
        let slot = state.withLock { state in
            state.memory.append([])
            state.isTaken.append(false)
            return state.memory.count - 1
        }
        for (index, plane) in buffer.used.enumerated() {
            let (length, offset) = (Int(plane.length), Int(plane.offset))
            let base = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, node.descriptor, offset)
            guard let base, base != MAP_FAILED else {
                throw CameraFailure.error(-errno, "mmap", "a buffer of the camera cannot be mapped", path: node.path)
            }
            var memory = Memory(bytes: UnsafeMutableRawBufferPointer(start: base, count: length))
            if isExported {
                let flags = O_CLOEXEC | O_RDWR
                let status = video_export_buffer(
                    node.descriptor,
                    type,
                    buffer.index,
                    UInt32(index),
                    flags,
                    &memory.exported
                )
                isExported = status == 0
            }
            state.withLock { [memory] in $0.memory[slot].append(memory) }
        }
    }

    private func enqueue(_ index: Int, _ node: VideoNode) -> Int32 {
        var buffer = video_buffer()
        buffer.index = UInt32(index)
        buffer.plane_count = UInt32(state.withLock { $0.memory[index].count })
        return video_queue_buffer(node.descriptor, type, &buffer)
    }

    /// Begins or ends capture.
    func stream(_ isOn: Bool) throws(MediaError) {
        guard let node = state.withLock({ $0.node }) else { return }
        try node.check(
            video_stream(node.descriptor, type, isOn ? 1 : 0),
            isOn ? "VIDIOC_STREAMON" : "VIDIOC_STREAMOFF",
            "the camera does not start"
        )
    }

    /// The length of each memory plane of a buffer.
    var lengths: [Int] { state.withLock { $0.memory.first?.map(\.bytes.count) ?? [] } }

    /// Whether the buffers are exported as DMA-BUF.
    var isExported: Bool {
        state.withLock { state in
            !state.memory.isEmpty && state.memory.allSatisfy { $0.allSatisfy { $0.exported >= 0 } }
        }
    }

    var counts: Counts { state.withLock { $0.counts } }

    // MARK: - Taking and giving back

    /// Takes the next filled buffer; `nil` if there is none.
    func take() throws(MediaError) -> TakenBuffer? {
        let (node, result) = state.withLock { state -> (VideoNode?, Result<TakenBuffer.Contents?, Failure>) in
            guard let node = state.node else { return (nil, .success(nil)) }
            var buffer = video_buffer()
            buffer.plane_count = UInt32(state.memory.first?.count ?? 1)
            let status = video_take_buffer(node.descriptor, type, &buffer)
            if status == -EAGAIN { return (node, .success(nil)) }
            guard status == 0 else { return (node, .failure(Failure(status: status))) }
            let index = Int(buffer.index)
            guard state.memory.indices.contains(index), !state.isTaken[index] else {
                return (node, .failure(Failure(status: -EPROTO)))
            }
            state.isTaken[index] = true
            state.counts.queued -= 1
            state.counts.taken += 1
            return (node, .success(TakenBuffer.Contents(buffer, state.memory[index])))
        }
        switch result {
        case .success(let contents): return contents.map { TakenBuffer($0, queue: self) }
        case .failure(let failure):
            throw CameraFailure.error(
                failure.status,
                "VIDIOC_DQBUF",
                "the camera does not deliver its pictures",
                path: node?.path ?? ""
            )
        }
    }

    private struct Failure: Error { var status: Int32 }

    /// Gives a buffer back to the driver, or frees its memory if the queue is closed.
    fileprivate func giveBack(_ index: Int) {
        state.withLock { state in
            guard state.isTaken[index] else { return }
            state.isTaken[index] = false
            state.counts.taken -= 1
            guard let node = state.node else {
                for memory in state.memory[index] { memory.free() }
                state.memory[index] = []
                return
            }
            var buffer = video_buffer()
            buffer.index = UInt32(index)
            buffer.plane_count = UInt32(state.memory[index].count)
            if video_queue_buffer(node.descriptor, type, &buffer) == 0 { state.counts.queued += 1 }
        }
        video_event_signal(returns)
    }

    /// Waits until a buffer is given back, for a short while.
    func waitForReturn(_ stop: StopSignal) throws(MediaError) {
        try stop.wait(for: [(returns, Int16(POLLIN))], until: 500)
    }

    /// Forgets what was given back until now, so that ``waitForReturn(_:)`` waits for later ones.
    func forgetReturns() { video_event_clear(returns) }

    /// Ends capture, and frees the buffers that are not taken. Others are freed when they are given back.
    func close() {
        state.withLock { state in
            guard let node = state.node else { return }
            state.node = nil
            _ = video_stream(node.descriptor, type, 0)
            for index in state.memory.indices where !state.isTaken[index] {
                for memory in state.memory[index] { memory.free() }
                state.memory[index] = []
            }
            // Other programs can then use the camera, even if its controls are still open.
            var count: UInt32 = 0
            _ = video_request_buffers(node.descriptor, type, &count)
        }
    }
}

/// A filled buffer, which is given back with the last reference.
final class TakenBuffer: Sendable {
    /// What a buffer contains.
    struct Contents: Sendable {
        var index: Int
        /// `V4L2_BUF_FLAG_*`.
        var flags: UInt32
        /// `V4L2_FIELD_*`.
        var field: UInt32
        var sequence: UInt32
        /// In nanoseconds, on the clock that the flags say.
        var time: Int64
        var filled: [CameraQueue.Filled]
        var memory: [CameraQueue.Memory]
    }

    let contents: Contents
    private let queue: CameraQueue

    init(_ contents: Contents, queue: CameraQueue) { (self.contents, self.queue) = (contents, queue) }

    deinit { queue.giveBack(contents.index) }

    /// The bytes of the first memory plane.
    var bytes: UnsafeRawBufferPointer {
        guard let memory = contents.memory.first, let filled = contents.filled.first, filled.offset < filled.byteCount
        else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return UnsafeRawBufferPointer(rebasing: memory.bytes[filled.offset..<filled.byteCount])
    }
}

extension TakenBuffer.Contents {
    init(_ buffer: video_buffer, _ memory: [CameraQueue.Memory]) {
        index = Int(buffer.index)
        (flags, field, sequence, time) = (buffer.flags, buffer.field, buffer.sequence, buffer.time)
        filled = zip(memory, buffer.used).map { memory, plane in
            CameraQueue.Filled(
                byteCount: min(Int(plane.bytes_used), memory.bytes.count),
                offset: min(Int(plane.data_offset), memory.bytes.count)
            )
        }
        self.memory = memory
    }
}

extension video_buffer {
    /// The memory planes that are in use.
    fileprivate var used: [video_plane] { [planes.0, planes.1, planes.2].prefix(Int(plane_count)).map { $0 } }
}
