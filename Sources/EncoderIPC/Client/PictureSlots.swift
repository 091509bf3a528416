// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// Which memory the helper knows already, and under which number. It is sent once and used again and again, as a pool
/// does with it.
struct PictureSlots {
    /// What has to be done before a frame in that memory is sent.
    struct Place: Equatable {
        var slot: UInt32
        /// Whether the helper does not know the memory.
        var isNew: Bool
        /// What the helper is sent if it does not: open as long as the slot is kept.
        var descriptor: Int32
        /// Slots that the helper is to forget.
        var forgotten: [UInt32] = []
    }

    private struct Memory: Hashable {
        var device: UInt64
        var file: UInt64
    }

    private final class Entry {
        let slot: UInt32
        let byteCount: Int
        /// Keeps the file, and so its number, from being used for another memory.
        let descriptor: Descriptor
        var lastUse: UInt64 = 0

        init(_ slot: UInt32, _ byteCount: Int, _ descriptor: consuming Descriptor) {
            self.slot = slot
            self.byteCount = byteCount
            self.descriptor = descriptor
        }
    }

    /// What is kept however large it is: as much as an encoder and a session hold at once.
    private static let fewest = 16

    private let limit: Int
    private let byteLimit: Int
    private var byteCount = 0
    private var entries: [Memory: Entry] = [:]
    private var uses: UInt64 = 0
    private var nextSlot: UInt32 = 0

    /// - Parameters:
    ///   - limit: How many memories are kept. More than an encoder and a session hold at once, so that those of a pool are
    ///     not sent again and again.
    ///   - byteLimit: How large they may be together, since memory that a pool has freed lives on here. The last 16 are
    ///     kept in any case.
    init(limit: Int = 128, byteLimit: Int = 256 << 20) {
        self.limit = limit
        self.byteLimit = byteLimit
    }

    /// The place of a memfd, a DMA-BUF or a file. Each has a file number of its own.
    ///
    /// - Parameters:
    ///   - byteCount: How much memory lives as long as the slot is kept: none of a file.
    ///   - isReopened: Whether the helper gets an opening of its own, and not the one that this process reads by.
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

    /// Whether the helper knows a file already, or can be given an opening of its own.
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
