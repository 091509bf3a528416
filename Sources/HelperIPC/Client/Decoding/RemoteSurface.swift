// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes
internal import Synchronization

/// A decoded picture on the device of a helper. An encoder in the same helper reads it there; for all others, it is copied
/// into memory when its samples are needed.
package final class RemoteSurface: DeviceSurface {
    /// Returns the picture from elsewhere after its helper was lost.
    package typealias Recovery = @Sendable (PixelBuffer.Description) throws(MediaError) -> PixelBuffer

    package let device: String
    /// The number of the picture in its helper.
    let id: UInt64
    /// The connection of its decoder, which exists as long as one of its pictures.
    private let connection: DecoderConnection
    private let recovery = Mutex<Recovery?>(nil)

    init(_ id: UInt64, device: String, _ connection: DecoderConnection) {
        connection.count(1)
        self.id = id
        self.device = device
        self.connection = connection
    }

    deinit { connection.release(id) }

    /// Sets what returns the picture after its helper was lost.
    package func recover(by recovery: @escaping Recovery) { self.recovery.withLock { $0 = recovery } }

    package var isReadable: Bool { true }

    /// Copies the samples from the device, or returns them from elsewhere.
    ///
    /// - Throws: `pictureLost` if neither is possible.
    package func copy(_ picture: PixelBuffer.Description) throws(MediaError) -> PixelBuffer {
        do throws(MediaError) {
            do throws(MediaError) {
                return try fetch(picture)
            } catch {
                guard let recovery = recovery.withLock({ $0 }) else { throw error }
                return try recovery(picture)
            }
        } catch {
            var lost = error
            (lost.code, lost.isPermanent) = (.pictureLost, true)
            lost.message = "a decoded picture on the GPU cannot be read: \(error.message)"
            throw lost
        }
    }

    /// Copies the samples from the device.
    ///
    /// - Throws: The error of the device or its helper.
    package func fetch(_ picture: PixelBuffer.Description) throws(MediaError) -> PixelBuffer {
        try connection.fetch(id, picture)
    }

    /// Exports the surface, as far as its helper has proved that the driver does so correctly. Not possible after the helper
    /// was lost.
    ///
    /// - Throws: `unsupported` with the reason; the error of the device or its helper, while the samples may still be
    ///   readable.
    package func export(_ picture: PixelBuffer.Description) throws(MediaError) -> PixelBuffer {
        try connection.export(id, picture)
    }

    /// Whether an encoder at the far end of a link can read the picture.
    func isAt(_ link: EncoderLink) -> Bool {
        connection.link.isServed && link.sharesHelper(with: connection.link)
    }
}

/// What a decoder in a helper and its pictures on the device have in common: the connection, which ends with the last of
/// them.
final class DecoderConnection: Sendable {
    let link: DecoderLink
    /// The number of pictures that the helper may leave on the device.
    let limit: Int
    private let slots: DecodedSlots
    private let deadlines: RemoteDecoderFactory.Deadlines
    /// The connection that copies and exports pictures, once one was needed.
    private let pictureLink = Mutex<PictureLink?>(nil)
    /// The device of the decoder.
    private let device: String?
    /// The number of its pictures on the device.
    private let pictures = Atomic(0)
    /// The number of the next picture at least.
    private let nextID = Mutex<UInt64>(0)

    init(
        _ link: DecoderLink,
        _ slots: DecodedSlots,
        _ deadlines: RemoteDecoderFactory.Deadlines,
        device: String?,
        limit: Int
    ) {
        self.link = link
        self.limit = limit
        self.device = device
        self.slots = slots
        self.deadlines = deadlines
    }

    deinit {
        pictureLink.withLock { $0.take() }?.close()
        // As the last message of a decoder that was given up, if it was not sent yet.
        slots.flush()
        // Does nothing if the decoder has closed it. This thread may be one that must not wait.
        link.close()
    }

    /// Whether there are pictures on the device.
    var hasPictures: Bool { pictures.load(ordering: .acquiring) > 0 }

    /// Returns the reason why the helper cannot have left such a picture on the device; `nil` if it can.
    func reasonAgainst(_ notice: DevicePictureNotice) -> (what: String, given: String)? {
        guard limit > 0 else {
            return ("left a picture on the device without being asked to", "sample \(notice.number)")
        }
        guard pictures.load(ordering: .acquiring) < limit else {
            return ("left more than \(limit) pictures on the device", "sample \(notice.number)")
        }
        guard notice.device == device else {
            return ("left a picture on another device than \(device ?? "none")", notice.device)
        }
        // A helper numbers its pictures in the order in which it leaves them.
        let isNew = nextID.withLock { next in
            guard notice.id >= next, notice.id < .max else { return false }
            next = notice.id + 1
            return true
        }
        return isNew ? nil : ("left two pictures with the same number on the device", "picture \(notice.id)")
    }

    func count(_ change: Int) { pictures.add(change, ordering: .acquiringAndReleasing) }

    func release(_ id: UInt64) {
        // Before the helper may learn of it, and leave another picture in its place.
        count(-1)
        slots.releaseDevicePicture(id)
    }

    /// Copies a picture into memory.
    func fetch(_ id: UInt64, _ picture: PixelBuffer.Description) throws(MediaError) -> PixelBuffer {
        let memory = try SlotMemory(picture.shape)
        let order = FetchOrder(
            id: id,
            shape: picture.shape,
            byteCount: memory.layout.byteCount,
            planes: memory.layout.planes
        )
        try withPictureLink { (link) throws(MediaError) in
            let answer = try link.call(
                .fetch(order),
                descriptor: memory.descriptor.number,
                within: deadlines.fetch,
                to: "copy a picture"
            )
            guard case .fetched = answer else { throw link.refuse("replied to another request") }
        }
        return try memory.picture(picture) {}
    }

    /// Exports a picture.
    func export(_ id: UInt64, _ picture: PixelBuffer.Description) throws(MediaError) -> PixelBuffer {
        try withPictureLink { (link) throws(MediaError) in
            let answer = try link.answer(to: .export(id: id), within: deadlines.fetch, to: "export a picture")
            guard case .exported(let notice) = answer.message else { throw link.refuse("replied to another request") }
            do throws(MediaError) {
                return try notice.picture(picture, in: answer.descriptors)
            } catch {
                throw link.refuse("exported a picture wrongly: \(error)")
            }
        }
    }

    /// Calls a closure with the connection for pictures, one caller at a time.
    private func withPictureLink<Result>(
        _ body: (PictureLink) throws(MediaError) -> Result
    ) throws(MediaError) -> Result {
        try pictureLink.withLock { (pictureLink) throws(MediaError) in
            let link = if let pictureLink { pictureLink } else { try makeLink() }
            pictureLink = link
            return try body(link)
        }
    }

    private func makeLink() throws(MediaError) -> PictureLink {
        try link.connect(PictureLink.Handlers(message: { _ throws(MediaError) in false }, failed: { _ in }))
    }
}

extension ExportNotice {
    /// Returns the picture, which keeps the descriptors open.
    ///
    /// - Throws: An error if they cannot contain the planes, or are no memory whose size is fixed: access to memory that is
    ///   truncated meanwhile would end this process.
    fileprivate func picture(
        _ picture: PixelBuffer.Description,
        in descriptors: [SharedDescriptor]
    ) throws(MediaError) -> PixelBuffer {
        let buffer = DMABuffer(fileDescriptors: descriptors.map(\.number), planes: planes, modifier: modifier)
        for number in buffer.fileDescriptors where !SharedMapping.hasFixedSize(number) {
            throw MediaError(.malformedData, "the descriptor is neither a DMA-BUF nor a memfd of sealed size")
        }
        let exported = try PixelBuffer(picture, dmaBuf: buffer) { withExtendedLifetime(descriptors) {} }
        let sizes = buffer.byteCounts
        for (plane, extent) in zip(planes, exported.planeExtents)
        where !plane.layout.isInside(sizes[plane.object], extent) {
            throw MediaError(
                .malformedData,
                "a plane exceeds its memory",
                given: "offset \(plane.layout.offset), \(plane.layout.bytesPerRow) bytes per row",
                allowed: "\(sizes[plane.object]) bytes"
            )
        }
        return exported
    }
}
