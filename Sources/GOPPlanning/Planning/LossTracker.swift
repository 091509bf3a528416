// SPDX-License-Identifier: GPL-2.0-or-later

/// Which reference pictures a receiver can be expected to have, from what it reports.
///
/// It holds what was coded since the last IDR picture: the last ``capacity`` pictures and those that are still in use. A
/// report on something older is taken to concern all of them.
struct LossTracker {
    /// How many pictures are remembered before old ones are forgotten.
    static let capacity = 1024

    private struct Entry {
        let number: Int64
        let references: [Int64]
        /// Reported as lost.
        var isLost = false
        /// Reported as decoded, or a picture was that depends on it.
        var isAcknowledged = false
    }

    /// In coding order.
    private var entries: [Entry] = []
    /// The highest number that was forgotten.
    private var forgotten: Int64?
    /// Numbers of damaged pictures.
    private var damaged: Set<Int64> = []

    /// Whether pictures may refer to this one.
    func isUsable(_ number: Int64) -> Bool { !damaged.contains(number) }

    /// Forgets everything: an IDR picture depends on nothing.
    mutating func restart() { self = LossTracker() }

    /// Takes note of a picture.
    ///
    /// - Parameters:
    ///   - number: its number.
    ///   - references: what it refers to.
    ///   - inUse: the references that remain in the decoded picture buffer.
    mutating func record(_ number: Int64, references: [PictureReference], inUse: [PictureReference]) {
        entries.append(Entry(number: number, references: references.map(\.number)))
        guard entries.count >= 2 * Self.capacity else { return }
        // What is forgotten must not make what depends on it look whole.
        for index in entries.indices where damaged.contains(entries[index].number) { entries[index].isLost = true }
        let recent = entries.count - Self.capacity
        let used = Set(inUse.map(\.number))
        let gone = entries[..<recent].filter { !used.contains($0.number) }
        forgotten = (gone.map(\.number) + [forgotten].compactMap(\.self)).max()
        entries = entries[..<recent].filter { used.contains($0.number) } + entries[recent...]
        update()
    }

    /// The pictures of these numbers were lost, as far as they have been coded.
    mutating func lose(_ numbers: ClosedRange<Int64>) {
        let concernsForgotten = forgotten.map { numbers.lowerBound <= $0 } ?? false
        for index in entries.indices where concernsForgotten || numbers.contains(entries[index].number) {
            entries[index].isLost = true
        }
        update()
    }

    /// The picture of this number was decoded, so what it depends on was too. Later reports of loss do not change that.
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
