// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The memory that the client has offered for decoded pictures.
struct SlotTable {
    /// One slot.
    struct Slot {
        let number: UInt32
        let shape: PictureShape
        let planes: [PixelPlane]
        /// Keeps the planes mapped.
        let memory: SharedMapping
    }

    /// The maximum number of slots; the client uses fewer.
    static let maximumSlots = 256

    private var slots: [UInt32: Slot] = [:]
    /// The slots that may be written, the last one first: its memory is most likely in the caches.
    private var idle: [UInt32] = []

    /// Adds a slot, which may be written.
    ///
    /// - Throws: `malformedData` if the slot is in use or a plane exceeds its memory.
    mutating func add(_ offer: SlotOffer, _ memory: SharedMapping) throws(MediaError) {
        guard slots[offer.slot] == nil, slots.count < Self.maximumSlots else { throw Self.error(offer.slot) }
        let shape = offer.shape
        let picture = PixelBuffer.Description(format: shape.format, width: shape.width, height: shape.height)
        let planes = try PictureMemory.planes(offer.planes, of: picture, in: memory)
        slots[offer.slot] = Slot(number: offer.slot, shape: shape, planes: planes, memory: memory)
        idle.append(offer.slot)
    }

    /// Allows writing to a slot again.
    ///
    /// - Throws: `malformedData` if there is no such slot, or if it may already be written.
    mutating func free(_ slot: UInt32) throws(MediaError) {
        guard slots[slot] != nil, !idle.contains(slot) else { throw Self.error(slot) }
        idle.append(slot)
    }

    /// Removes a slot.
    ///
    /// - Throws: `malformedData` if there is no such slot.
    mutating func remove(_ slot: UInt32) throws(MediaError) {
        guard slots.removeValue(forKey: slot) != nil else { throw Self.error(slot) }
        idle.removeAll { $0 == slot }
    }

    /// Takes a slot for a picture of a shape.
    ///
    /// - Returns: `nil` if none may be written.
    mutating func take(_ shape: PictureShape) -> Slot? {
        guard let index = idle.lastIndex(where: { slots[$0]?.shape == shape }) else { return nil }
        return slots[idle.remove(at: index)]
    }

    private static func error(_ slot: UInt32) -> MediaError {
        MediaError(.malformedData, "the slot for pictures is in the wrong state", given: "slot \(slot)")
    }
}
