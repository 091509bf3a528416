// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// Makes pixel buffers of one format and size, and reuses the memory of released ones.
///
/// Safe to use from several threads. A buffer's memory returns when its last reference is released; buffers may outlive
/// their pool.
public final class PixelBufferPool: Sendable {
    /// The type of a pool's memory.
    public enum Memory: Sendable, Hashable {
        /// Private memory.
        ///
        /// Planes have room for whole macroblocks, so that a GPU encoder can read them in place.
        case owned
        /// A sealed memfd for each buffer. Other processes can map it for reading only: its size never changes, and
        /// only the buffer can write to it (from Linux 5.1 on; before, every holder of the descriptor can).
        case shared
    }

    /// The description of each buffer.
    public let description: PixelBuffer.Description
    /// The type of memory.
    public let memory: Memory
    /// The maximum number of buffers in use at a time; `nil` for no limit.
    public let limit: Int?

    private struct State {
        var idle: [PixelMemory] = []
        var inUse = 0
    }

    private let layout: PackedLayout
    private let state = Mutex(State())

    /// The number of luma rows in a macroblock.
    private static let macroblock = 16

    /// Makes a pool; memory is allocated when the first buffers are made.
    ///
    /// - Throws: `invalidArgument` for a size outside 1...``PixelBuffer/maximumDimension``.
    public init(
        _ description: PixelBuffer.Description,
        memory: Memory = .owned,
        limit: Int? = nil
    ) throws(MediaError) {
        layout = try PackedLayout(
            format: description.format,
            width: description.width,
            height: description.height,
            rowUnit: memory == .owned ? Self.macroblock : 1
        )
        self.description = description
        self.memory = memory
        self.limit = limit
    }

    /// Makes a buffer, in the memory of a released one if possible. Its samples are undefined.
    ///
    /// - Parameters:
    ///   - color: The colour description, if it differs from the pool's.
    ///   - attachments: The attachments, if they differ from the pool's.
    /// - Throws: `unavailable`, not permanent, if ``limit`` buffers are in use; `outOfMemory`.
    public func make(
        color: ColorDescription? = nil,
        attachments: PixelAttachments? = nil
    ) throws(MediaError) -> PixelBuffer {
        let block = try takeMemory()
        var description = description
        if let color { description.color = color }
        if let attachments { description.attachments = attachments }
        let pages = memory == .owned ? PicturePages(block, layout) : nil
        return PixelBuffer(description, memory: block, layout: layout, pages: pages) { [weak self] in
            self?.takeBack(block)
        }
    }

    /// Frees the memory that is not in use.
    public func trim() {
        let idle = state.withLock { state in
            defer { state.idle = [] }
            return state.idle
        }
        withExtendedLifetime(idle) {}
    }

    private func takeMemory() throws(MediaError) -> PixelMemory {
        let limit = limit ?? .max
        let (recycled, isFull) = state.withLock { state -> (PixelMemory?, Bool) in
            guard state.inUse < limit else { return (nil, true) }
            state.inUse += 1
            return (state.idle.popLast(), false)
        }
        if isFull {
            throw MediaError(
                .unavailable,
                "all pixel buffers of the pool are in use",
                allowed: "\(limit)",
                isPermanent: false
            )
        }
        if let recycled { return recycled }
        do {
            switch memory {
            case .owned: return try PixelMemory.allocatePages(byteCount: layout.byteCount)
            case .shared: return try PixelMemory.allocate(memory, byteCount: layout.byteCount)
            }
        } catch {
            state.withLock { $0.inUse -= 1 }
            throw error
        }
    }

    private func takeBack(_ block: PixelMemory) {
        state.withLock { state in
            state.inUse -= 1
            state.idle.append(block)
        }
    }
}
