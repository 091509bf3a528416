// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// The memory that the helper already has, by slot number. Memory is sent once and then reused, as by a pool.
struct PictureSlots {
    /// The steps before a frame in that memory is sent.
    struct Place: Equatable {
        var slot: UInt32
        /// Whether the helper does not have the memory yet.
        var isNew: Bool
        /// The descriptor to send to the helper in that case. It is open as long as the slot exists.
        var descriptor: Int32
        /// The slots to remove from the helper.
        var forgotten: [UInt32] = []
    }

    private struct Memory: Hashable {
        var device: UInt64
        var file: UInt64
    }

    private final class Entry {
        let slot: UInt32
        let byteCount: Int
        /// Keeps the file open, so that its number is not reused for other memory.
        let descriptor: Descriptor
        var lastUse: UInt64 = 0

        init(_ slot: UInt32, _ byteCount: Int, _ descriptor: consuming Descriptor) {
            self.slot = slot
            self.byteCount = byteCount
            self.descriptor = descriptor
        }
    }

    /// The minimum number of slots to keep, regardless of their size: as many as an encoder and a session use at once.
    private static let fewest = 16

    private let limit: Int
    private let byteLimit: Int
    private var byteCount = 0
    private var entries: [Memory: Entry] = [:]
    private var uses: UInt64 = 0
    private var nextSlot: UInt32 = 0

    /// - Parameters:
    ///   - limit: The maximum number of slots. It exceeds what an encoder and a session use at once, so that memory of
    ///     a pool is not sent repeatedly.
    ///   - byteLimit: The maximum total size, because memory that a pool has freed stays allocated here. The last 16
    ///     slots are kept in any case.
    init(limit: Int = 128, byteLimit: Int = 256 << 20) {
        self.limit = limit
        self.byteLimit = byteLimit
    }

    /// Returns the place of a memfd, a DMA-BUF or a file. Each has a unique file number.
    ///
    /// - Parameters:
    ///   - byteCount: The size of the memory that the slot keeps allocated: 0 for a file.
    ///   - isReopened: Whether the helper receives a separately opened descriptor rather than the one that this process
    ///     uses.
    mutating func place(
        _ descriptor: Int32,
        byteCount: Int,
        isReopened: Bool = false
    ) throws(MediaError) -> Place {
        let memory = try Self.memory(descriptor)
        uses += 1
        if let entry = entries[memory] {
            entry.lastUse = uses
            return Place(slot: entry.slot, isNew: false, descriptor: entry.descriptor.number)
        }
        let kept = isReopened ? try Descriptor.reopening(descriptor) : try Descriptor.duplicate(descriptor)
        var forgotten: [UInt32] = []
        while entries.count >= limit || (entries.count >= Self.fewest && self.byteCount + byteCount > byteLimit) {
            forgotten += removeOldest().map { [$0] } ?? []
        }
        let entry = Entry(nextSlot, byteCount, kept)
        nextSlot &+= 1
        entry.lastUse = uses
        entries[memory] = entry
        self.byteCount += byteCount
        return Place(slot: entry.slot, isNew: true, descriptor: entry.descriptor.number, forgotten: forgotten)
    }

    /// Returns whether the helper already has a file, or can receive a separately opened descriptor.
    func canTake(file descriptor: Int32) throws(MediaError) -> Bool {
        if entries[try Self.memory(descriptor)] != nil { return true }
        do throws(MediaError) {
            _ = try Descriptor.reopening(descriptor)
            return true
        } catch {
            return false
        }
    }

    private static func memory(_ descriptor: Int32) throws(MediaError) -> Memory {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw systemError("fstat", "the memory of a picture is closed") }
        return Memory(device: UInt64(status.st_dev), file: UInt64(status.st_ino))
    }

    private mutating func removeOldest() -> UInt32? {
        guard let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return nil }
        entries[oldest.key] = nil
        byteCount -= oldest.value.byteCount
        return oldest.value.slot
    }
}
