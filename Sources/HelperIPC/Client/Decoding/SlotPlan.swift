// SPDX-License-Identifier: GPL-2.0-or-later

/// Which slots of memory a decoder in a helper has for its pictures, and what the helper is told about them.
///
/// A slot belongs to the helper, which writes a picture there, or to the client, which reads it. All slots together
/// never exceed the limit: when the shape of the pictures changes, slots that the client still reads are replaced one
/// by one as they are released.
struct SlotPlan {
    /// What the helper is told.
    enum Action: Hashable {
        /// A new slot of the current shape.
        case offer(UInt32)
        /// The helper may write to the slot again.
        case free(UInt32)
        /// The slot no longer exists.
        case forget(UInt32)
    }

    private struct Slot {
        /// Whether the client reads its picture.
        var isHeld = false
        /// Whether it has the current shape.
        var isCurrent = true
    }

    /// The maximum number of slots.
    let limit: Int
    /// The shape of the pictures for which the helper last asked.
    private(set) var shape: PictureShape?
    /// Whether the helper waits for a slot, and has returned no picture since it asked.
    private var isAwaited = false
    private var slots: [UInt32: Slot] = [:]
    private var nextSlot: UInt32 = 0

    init(limit: Int) { self.limit = limit }

    /// The number of pictures that the client reads.
    var heldCount: Int { slots.values.count(where: \.isHeld) }

    /// Whether the helper waits for a slot and the client reads the pictures of all of them.
    var isStarved: Bool { isAwaited && slots.values.allSatisfy(\.isHeld) }

    /// Records that the helper waits for a slot for a picture of a shape.
    ///
    /// - Returns: `nil` if it has already asked and returned no picture since.
    mutating func await(_ shape: PictureShape) -> [Action]? {
        guard !isAwaited else { return nil }
        isAwaited = true
        guard shape != self.shape else { return offers() }
        self.shape = shape
        let idle = slots.filter { !$0.value.isHeld }.keys.sorted()
        for slot in idle { slots[slot] = nil }
        for slot in slots.keys { slots[slot]?.isCurrent = false }
        return idle.map { .forget($0) } + offers()
    }

    /// Records that the helper has returned a picture of a shape.
    ///
    /// - Returns: Whether it had such a slot.
    mutating func hold(_ slot: UInt32, _ shape: PictureShape) -> Bool {
        guard shape == self.shape, let known = slots[slot], known.isCurrent, !known.isHeld else { return false }
        slots[slot]?.isHeld = true
        isAwaited = false
        return true
    }

    /// Records that the client no longer reads a picture.
    mutating func release(_ slot: UInt32) -> [Action] {
        guard let known = slots[slot], known.isHeld else { return [] }
        guard known.isCurrent else {
            slots[slot] = nil
            return [.forget(slot)] + offers()
        }
        slots[slot]?.isHeld = false
        return [.free(slot)]
    }

    /// Adds as many slots as the limit allows.
    private mutating func offers() -> [Action] {
        var actions: [Action] = []
        while slots.count < limit {
            slots[nextSlot] = Slot()
            actions.append(.offer(nextSlot))
            nextSlot &+= 1
        }
        return actions
    }
}
