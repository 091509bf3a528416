// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The memory that the client has offered for pictures: memfds, which the helper maps read-only, files, which it reads,
/// and DMA-BUFs; and the pictures that decoders of the helper have left on the device.
struct PictureMemory {
    /// One memory object.
    enum Slot {
        case memory(SharedMapping)
        case descriptor(SharedDescriptor)
    }

    /// The maximum number of slots; the client uses fewer.
    static let maximumSlots = 1024

    private let pictures: DevicePictures
    private var slots: [UInt32: Slot] = [:]

    init(_ pictures: DevicePictures = .init()) { self.pictures = pictures }

    /// - Throws: `malformedData` if the slot is in use.
    mutating func add(_ memory: Slot, slot: UInt32) throws(MediaError) {
        guard slots[slot] == nil, slots.count < Self.maximumSlots else {
            throw MediaError(
                .malformedData,
                "the picture memory slot is in use, or no slot is free",
                given: "slot \(slot)"
            )
        }
        slots[slot] = memory
    }

    /// Removes a slot; pictures in it stay readable until they are released.
    mutating func remove(_ slot: UInt32) throws(MediaError) {
        guard slots.removeValue(forKey: slot) != nil else { throw Self.emptySlot(slot) }
    }

    private static func emptySlot(_ slot: UInt32) -> MediaError {
        MediaError(.malformedData, "the slot does not contain such memory", given: "slot \(slot)")
    }

    /// Returns the picture of a frame without copying.
    ///
    /// - Parameter release: Called when nothing reads the picture any more; not if this call throws.
    /// - Throws: `malformedData` if it exceeds the memory, `invalidArgument` if it is not a valid picture.
    func picture(_ order: FrameOrder, release: @escaping @Sendable () -> Void) throws(MediaError) -> PixelBuffer {
        switch order.place {
        case .memory(let slot, let layouts):
            guard case .memory(let memory) = slots[slot] else { throw Self.emptySlot(slot) }
            let planes = try Self.planes(layouts, of: order.picture, in: memory)
            return try PixelBuffer(order.picture, planes: planes) { withExtendedLifetime(memory) { release() } }
        case .dmaBuf(let slots, let planes, let modifier):
            let objects = try slots.map { (slot) throws(MediaError) in try descriptor(slot) }
            let descriptors = objects.map(\.number)
            let buffer = DMABuffer(fileDescriptors: descriptors, planes: planes, modifier: modifier)
            return try PixelBuffer(order.picture, dmaBuf: buffer) { withExtendedLifetime(objects) { release() } }
        case .file(let slot, let planes):
            let object = try descriptor(slot)
            let file = FilePicture(fileDescriptor: object.number, planes: planes)
            return try PixelBuffer(order.picture, file: file) { withExtendedLifetime(object) { release() } }
        case .device(let id):
            let picture = try pictures.picture(id)
            guard case .deviceSurface(let surface) = picture.storage,
                picture.pictureDescription.shape == order.picture.shape
            else {
                throw MediaError(.malformedData, "the picture on the device is another one", given: "picture \(id)")
            }
            return try PixelBuffer(order.picture, surface: surface, release: release)
        }
    }

    private func descriptor(_ slot: UInt32) throws(MediaError) -> SharedDescriptor {
        guard case .descriptor(let object) = slots[slot] else { throw Self.emptySlot(slot) }
        return object
    }

    /// Returns the planes of a picture.
    ///
    /// - Throws: `malformedData` if one exceeds the memory.
    static func planes(
        _ layouts: [PlaneLayout],
        of picture: PixelBuffer.Description,
        in memory: SharedMapping
    ) throws(MediaError) -> [PixelPlane] {
        guard layouts.count == picture.format.planeCount else {
            throw MediaError(.malformedData, "wrong number of planes", given: "\(layouts.count)")
        }
        for (index, plane) in layouts.enumerated() {
            guard let extent = picture.format.planeExtent(index, width: picture.width, height: picture.height),
                plane.isInside(memory.byteCount, extent)
            else {
                throw MediaError(
                    .malformedData,
                    "a plane exceeds its memory",
                    given: "offset \(plane.offset), \(plane.bytesPerRow) bytes per row",
                    allowed: "\(memory.byteCount) bytes"
                )
            }
        }
        return layouts.map { PixelPlane(baseAddress: memory.base + $0.offset, bytesPerRow: $0.bytesPerRow) }
    }
}
