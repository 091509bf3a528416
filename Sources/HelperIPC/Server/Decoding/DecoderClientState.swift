// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

/// What a decoder's helper knows from the messages of its client: the memory of samples and pictures, and the format.
struct DecoderClientState: ClientState {
    enum Order {
        case create(DecoderOrder)
        case sample(PendingSample)
        case drain
    }

    /// A sample whose data is still in the ring.
    struct PendingSample {
        let order: SampleOrder
        let ring: CodedRing
        let formatDescription: FormatDescription
    }

    private var ring: CodedRing?
    private var format: FormatDescription?
    private var slots = SlotTable()
    private let kept: KeptPictures

    init(_ pictures: DevicePictures) { kept = KeptPictures(pictures) }

    mutating func note(
        _ message: DecoderClientMessage,
        _ descriptor: consuming Descriptor?
    ) throws(MediaError) -> Noted<Order> {
        switch message {
        case .create(let order):
            guard ring == nil else { throw MediaError(.malformedData, "the client asked for a second decoder") }
            ring = try Self.ring(descriptor, order.ringByteCount)
            format = order.formatDescription
            try kept.allow(order.devicePictureLimit)
            return .order(.create(order))
        case .ring(let byteCount): ring = try Self.ring(descriptor, byteCount)
        case .sample(let order): return .order(.sample(try sample(order)))
        case .drain: return .order(.drain)
        case .offer(let offer):
            let memory = try SharedMapping(received: descriptor, byteCount: offer.byteCount, access: .readWrite)
            try slots.add(offer, memory)
        case .free(let slot): try slots.free(slot)
        case .forget(let slot): try slots.remove(slot)
        case .release(let ids): try release(ids)
        case .close: return .end
        }
        return .change
    }

    /// Keeps a picture on the device for the client.
    ///
    /// - Returns: Its number; `nil` if the client keeps as many as it may.
    func keep(_ picture: PixelBuffer) -> UInt64? { kept.add(picture) }

    /// Whether the client keeps pictures on the device.
    var keepsPictures: Bool { !kept.isEmpty }

    /// Releases pictures that the client has kept on the device.
    func release(_ ids: [UInt64]) throws(MediaError) { try kept.release(ids) }

    /// Takes memory for a picture of a shape.
    ///
    /// - Returns: `nil` if the client has to free or offer some first.
    mutating func takeSlot(_ shape: PictureShape) -> SlotTable.Slot? { slots.take(shape) }

    private static func ring(_ descriptor: borrowing Descriptor?, _ byteCount: Int) throws(MediaError) -> CodedRing {
        CodedRing(try SharedMapping(received: descriptor, byteCount: byteCount, access: .read))
    }

    private mutating func sample(_ order: SampleOrder) throws(MediaError) -> PendingSample {
        guard let ring, let current = format else {
            throw MediaError(.malformedData, "the client sent a sample before it created a decoder")
        }
        try release(order.released)
        let new = order.formatDescription ?? current
        guard new.codec == current.codec else {
            throw MediaError(
                .malformedData,
                "a sample has another codec than its decoder",
                given: new.codec.rawValue,
                allowed: current.codec.rawValue
            )
        }
        format = new
        return PendingSample(order: order, ring: ring, formatDescription: new)
    }
}

extension DecoderClientState.PendingSample {
    /// Returns the sample with a copy of its data, which the client can no longer change.
    ///
    /// - Throws: `malformedData` if the data is not in the ring.
    func sample() throws(MediaError) -> DecoderSample {
        let data = try ring.data(offset: order.offset, byteCount: order.byteCount, from: "the client")
        return DecoderSample(
            number: order.number,
            sample: SampleBuffer(
                data: data,
                presentationTime: order.presentationTime,
                decodeTime: order.decodeTime,
                duration: order.duration,
                isKeyFrame: order.isKeyFrame,
                isReference: order.isReference,
                isDropped: order.isDropped,
                formatDescription: formatDescription,
                formatDescriptionChanged: order.formatDescriptionChanged
            )
        )
    }
}
