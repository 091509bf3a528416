// SPDX-License-Identifier: GPL-2.0-or-later

/// Tracks which reference pictures a receiver is expected to have, based on its reports.
///
/// It stores the pictures coded since the last IDR picture: the last ``capacity`` pictures and those that are still in
/// use. A report about an older picture is treated as a report about all stored pictures.
struct LossTracker {
    /// The number of pictures that are stored before old ones are discarded.
    static let capacity = 1024

    private struct Entry {
        let number: Int64
        let references: [Int64]
        /// Whether it was reported as lost.
        var isLost = false
        /// Whether it, or a picture that depends on it, was reported as decoded.
        var isAcknowledged = false
    }

    /// The pictures, in coding order.
    private var entries: [Entry] = []
    /// The highest number of a discarded picture.
    private var forgotten: Int64?
    /// The numbers of damaged pictures.
    private var damaged: Set<Int64> = []

    /// Returns whether pictures may refer to this one.
    func isUsable(_ number: Int64) -> Bool { !damaged.contains(number) }

    /// Discards all pictures: an IDR picture depends on none.
    mutating func restart() { self = LossTracker() }

    /// Registers a picture.
    ///
    /// - Parameters:
    ///   - number: The number of the picture.
    ///   - references: The references of the picture.
    ///   - inUse: The references that remain in the decoded picture buffer.
    mutating func record(_ number: Int64, references: [PictureReference], inUse: [PictureReference]) {
        entries.append(Entry(number: number, references: references.map(\.number)))
        guard entries.count >= 2 * Self.capacity else { return }
        // A picture that depends on a discarded damaged one must not appear intact.
        for index in entries.indices where damaged.contains(entries[index].number) { entries[index].isLost = true }
        let recent = entries.count - Self.capacity
        let used = Set(inUse.map(\.number))
        let gone = entries[..<recent].filter { !used.contains($0.number) }
        forgotten = (gone.map(\.number) + [forgotten].compactMap(\.self)).max()
        entries = entries[..<recent].filter { used.contains($0.number) } + entries[recent...]
        update()
    }

    /// Registers that the pictures with the given numbers were lost, as far as they have been coded.
    mutating func lose(_ numbers: ClosedRange<Int64>) {
        let concernsForgotten = forgotten.map { numbers.lowerBound <= $0 } ?? false
        for index in entries.indices where concernsForgotten || numbers.contains(entries[index].number) {
            entries[index].isLost = true
        }
        update()
    }

    /// Registers that the picture with the given number, and thus every picture on which it depends, was decoded. Later
    /// loss reports do not change this.
    mutating func acknowledge(_ number: Int64) {
        var known: Set<Int64> = [number]
        for index in entries.indices.reversed() where known.contains(entries[index].number) {
            entries[index].isAcknowledged = true
            known.formUnion(entries[index].references)
        }
        update()
    }

    private mutating func update() {
        damaged = []
        for entry in entries where !entry.isAcknowledged {
            if entry.isLost || entry.references.contains(where: damaged.contains) { damaged.insert(entry.number) }
        }
    }
}
