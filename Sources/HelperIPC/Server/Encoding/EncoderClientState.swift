// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// What an encoder's helper knows from the messages of its client: the memory of pictures and of coded data.
struct EncoderClientState: ClientState {
    enum Order {
        case create(EncoderOrder, RingWriter)
        case frame(PendingFrame)
        case update(EncoderConfiguration)
        case drain
        case inspect(path: String)
    }

    private let releases: ReleaseNotes
    private var memory: PictureMemory
    private var ring: RingWriter?

    init(_ releases: ReleaseNotes, _ pictures: DevicePictures) {
        self.releases = releases
        memory = PictureMemory(pictures)
    }

    mutating func note(
        _ message: EncoderClientMessage,
        _ descriptor: consuming Descriptor?
    ) throws(MediaError) -> Noted<Order> {
        switch message {
        case .create(let order):
            guard ring == nil else { throw MediaError(.malformedData, "the client asked for a second encoder") }
            let writer = RingWriter(
                try SharedMapping(received: descriptor, byteCount: order.ringByteCount, access: .readWrite)
            )
            ring = writer
            return .order(.create(order, writer))
        case .offer(let offer): try memory.add(try Self.picture(descriptor, offer), slot: offer.slot)
        case .forget(let slot): try memory.remove(slot)
        case .frame(let order): return .order(.frame(PendingFrame(try frame(order))))
        case .update(let configuration): return .order(.update(configuration))
        case .drain: return .order(.drain)
        case .taken(let count): try ring?.release(total: count)
        case .inspect(let path): return .order(.inspect(path: path))
        case .close: return .end
        }
        return .change
    }

    private func frame(_ order: FrameOrder) throws(MediaError) -> EncoderFrame {
        let (releases, number) = (releases, order.number)
        let buffer = try memory.picture(order) { releases.add(number) }
        return EncoderFrame(
            number: number,
            buffer: buffer,
            conversion: order.conversion,
            presentationTime: order.presentationTime,
            duration: order.duration,
            options: order.options
        )
    }

    private static func picture(
        _ descriptor: consuming Descriptor?,
        _ offer: MemoryOffer
    ) throws(MediaError) -> PictureMemory.Slot {
        if let byteCount = offer.byteCount {
            return .memory(try SharedMapping(received: descriptor, byteCount: byteCount, access: .read))
        }
        switch consume descriptor {
        case .some(let descriptor): return .descriptor(SharedDescriptor(descriptor))
        case .none: throw MediaError.missingDescriptor
        }
    }
}

/// A frame that waits for the encoder. The code that takes it decides when its picture is released.
final class PendingFrame {
    let number: Int64
    private var frame: EncoderFrame?

    init(_ frame: EncoderFrame) {
        number = frame.number
        self.frame = frame
    }

    func take() -> EncoderFrame? { frame.take() }
}
