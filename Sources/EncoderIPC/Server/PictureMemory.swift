// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The memory that the client has offered for pictures, mapped read-only into the helper.
struct PictureMemory {
    /// The most slots; the client uses fewer.
    static let maximumSlots = 1024

    private var slots: [UInt32: SharedMapping] = [:]

    /// - Throws: `malformedData` if the slot is in use.
    mutating func add(_ memory: SharedMapping, slot: UInt32) throws(MediaError) {
        guard slots[slot] == nil, slots.count < Self.maximumSlots else {
            throw MediaError(.malformedData, "memory for pictures has no free slot", given: "slot \(slot)")
        }
        slots[slot] = memory
    }

    /// Forgets a slot; pictures in it stay readable until they are released.
    mutating func remove(_ slot: UInt32) throws(MediaError) {
        guard slots.removeValue(forKey: slot) != nil else {
            throw MediaError(.malformedData, "there is no memory in the slot", given: "slot \(slot)")
        }
    }

    /// The picture of a frame where it lies.
    ///
    /// - Parameter release: Called when nothing reads the picture any more; not if this call throws.
    /// - Throws: `malformedData` if it lies outside of the memory, `invalidArgument` if it is no picture.
    func picture(_ order: FrameOrder, release: @escaping @Sendable () -> Void) throws(MediaError) -> PixelBuffer {
        guard let memory = slots[order.slot] else {
            throw MediaError(.malformedData, "there is no memory in the slot", given: "slot \(order.slot)")
        }
        let picture = order.picture
        guard order.planes.count == picture.format.planeCount else {
            throw MediaError(.malformedData, "wrong number of planes", given: "\(order.planes.count)")
        }
        for (index, plane) in order.planes.enumerated() {
            guard let extent = picture.format.planeExtent(index, width: picture.width, height: picture.height),
                plane.isInside(memory.byteCount, extent)
            else {
                throw MediaError(
                    .malformedData,
                    "a plane lies outside of its memory",
                    given: "offset \(plane.offset), \(plane.bytesPerRow) bytes a row",
                    allowed: "\(memory.byteCount) bytes"
                )
            }
        }
        let planes = order.planes.map {
            PixelPlane(baseAddress: memory.base + $0.offset, bytesPerRow: $0.bytesPerRow)
        }
        return try PixelBuffer(picture, planes: planes) { withExtendedLifetime(memory) { release() } }
    }
}

extension PlaneLayout {
    /// Whether every used byte of a plane is among the first `byteCount`.
    fileprivate func isInside(_ byteCount: Int, _ extent: PlaneExtent) -> Bool {
        guard (0...byteCount).contains(offset),
            (extent.bytesPerRow...PixelBuffer.maximumBytesPerRow).contains(bytesPerRow)
        else { return false }
        // At most 24 + 15 bits.
        return bytesPerRow * (extent.rows - 1) + extent.bytesPerRow <= byteCount - offset
    }
}
