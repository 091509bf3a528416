// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import FuzzSupport
internal import Glibc

@testable internal import HelperIPC
@testable internal import MediaTypes

// Messages from bytes, without a socket: whatever is read is written as the very same bytes, and what is done with the
// values before anybody has checked them does not trap.
//
// Input: a byte that says which direction and how many descriptors, then the message. Magic number, length and message
// number are put right, so that damage goes into what they are about; ServerFuzz and ClientFuzz damage them too.

/// What libFuzzer calls before anything else.
@c(LLVMFuzzerInitialize) public func initialize(_: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?) -> CInt {
    FuzzProgram.start {
        (0..<12).flatMap { seed in
            RandomMessages.all(seed: seed).map { message in
                let kind = message.bytes[6]
                // The first kinds of the directions.
                let direction = [33, 65, 97, 129, 193].count { kind >= $0 }
                return [UInt8(direction) | UInt8(clamping: message.descriptorCount) << 3] + message.bytes
            }
        }
    }
}

/// What libFuzzer calls for every input.
@c(LLVMFuzzerTestOneInput) public func test(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = FuzzInput(bytes, count)
    let choice = input.byte()
    let message = corrected(input.remainder())
    let descriptorCount = Int(choice >> 3 & 7)
    switch choice & 7 {
    case 0: if let read = read(EncoderClientMessage.self, message, descriptorCount) { use(read) }
    case 1: if let read = read(DecoderClientMessage.self, message, descriptorCount) { use(read) }
    case 2: if let read = read(EncoderHelperMessage.self, message, descriptorCount) { use(read) }
    case 3: if let read = read(DecoderHelperMessage.self, message, descriptorCount) { use(read) }
    case 4: _ = read(ControlOrder.self, message, descriptorCount)
    default: _ = read(ControlNotice.self, message, descriptorCount)
    }
    return 0
}

/// The message with the parts of its header that only the transport knows.
private func corrected(_ message: [UInt8]) -> [UInt8] {
    guard message.count >= MessageHeader.byteCount else { return message }
    var writer = WireWriter()
    MessageHeader(
        kind: UInt16(message[6]) | UInt16(message[7]) << 8,
        descriptorCount: UInt16(message[10]) | UInt16(message[11]) << 8,
        payloadLength: UInt32(message.count - MessageHeader.byteCount),
        sequence: 0
    ).write(to: &writer)
    return writer.bytes + message[MessageHeader.byteCount...]
}

private func read<Message: WireMessage>(_ type: Message.Type, _ bytes: [UInt8], _ descriptorCount: Int) -> Message? {
    let message: Message
    do throws(WireError) {
        message = try Message(bytes, sequence: 0, descriptorCount: descriptorCount)
    } catch {
        // What is told to people does not trap either.
        precondition(!error.mediaError(from: "the fuzzer").description.isEmpty)
        return nil
    }
    do {
        let written = try message.bytes(sequence: 0)
        precondition(written == bytes, "\(message) was read from other bytes than it is written to")
    } catch {
        fatalError("\(message) was read and cannot be written: \(error)")
    }
    return message
}

// MARK: - What the ends do with values

private func use(_ message: EncoderClientMessage) {
    switch message {
    case .create(let order): use(order.configuration)
    case .update(let configuration): use(configuration)
    case .frame(let order): use(order)
    case .offer(let offer):
        var memory = PictureMemory()
        try? memory.remove(offer.slot)
    case .taken(let total):
        var space = RingSpace(capacity: 4096)
        precondition(space.release(total: total) == (total == 0))
    case .forget, .drain, .close, .inspect: break
    }
}

private func use(_ configuration: EncoderConfiguration) {
    for codec in VideoCodec.allCases {
        _ = configuration.rateLimit(codec: codec)
        guard let (checked, _) = try? configuration.validated(for: codec) else { continue }
        precondition(checked.width > 0 && checked.width % 2 == 0 && checked.height > 0 && checked.height % 2 == 0)
    }
    precondition(CodedRing.byteCount(for: configuration) >= 1 << 20)
    _ = configuration.allowsReordering
}

/// Memory for pictures, as large as a page and half of another. The search for leaks does not see references inside of
/// enumerations, so the objects stand beside them.
private let pictures: (mapping: SharedMapping, object: SharedDescriptor, memory: PictureMemory) = {
    var memory = PictureMemory()
    do {
        let file = try SharedMapping.makeMemory(named: "fuzz", byteCount: 6000)
        let mapping = try SharedMapping(file, byteCount: 6000, access: .read)
        for slot in [0, 1] as [UInt32] { try memory.add(.memory(mapping), slot: slot) }
        let object = SharedDescriptor(file)
        try memory.add(.descriptor(object), slot: 2)
        return (mapping, object, memory)
    } catch {
        fatalError("no memory for pictures: \(error)")
    }
}()

private func use(_ order: FrameOrder) {
    let times = [order.presentationTime, order.duration, .zero, .invalid, MediaTime(value: .min, timescale: .max)]
    for time in times {
        let sum = order.presentationTime + time
        _ = (order.presentationTime - time, time < sum, time.hashValue, time.seconds)
        _ = (time.converted(to: 90_000), time * order.number)
    }
    var order = order
    switch order.place {
    case .memory(let slot, let planes): order.place = .memory(slot: slot % 4, planes: planes)
    case .dmaBuf(let slots, let planes, let modifier):
        order.place = .dmaBuf(slots: slots.map { $0 % 4 }, planes: planes, modifier: modifier)
    case .file(let slot, let planes): order.place = .file(slot: slot % 4, planes: planes)
    }
    guard let picture = try? pictures.memory.picture(order, release: {}) else { return }
    try? picture.withPlanes { check($0, picture.format, width: picture.width, height: picture.height) }
}

/// Checks that planes lie in the memory.
private func check(_ planes: [PixelPlane], _ format: PixelFormat, width: Int, height: Int) {
    for (index, plane) in planes.enumerated() {
        guard let extent = format.planeExtent(index, width: width, height: height) else {
            fatalError("a picture has a plane too many")
        }
        for row in 0..<extent.rows {
            let start = plane.baseAddress + row * plane.bytesPerRow
            precondition(start >= pictures.mapping.base)
            precondition(start + extent.bytesPerRow <= pictures.mapping.base + pictures.mapping.byteCount)
        }
    }
}

private func use(_ message: DecoderClientMessage) {
    switch message {
    case .create(let order):
        use(order.formatDescription)
        precondition(CodedRing.byteCount(for: order.formatDescription) >= 1 << 20)
    case .sample(let order):
        if let format = order.formatDescription { use(format) }
        let ring = CodedRing(pictures.mapping)
        let data = try? ring.data(offset: order.offset, byteCount: order.byteCount, from: "the fuzzer")
        precondition(data == nil || data?.count == order.byteCount)
    case .offer(let offer):
        var table = SlotTable()
        guard (try? table.add(offer, pictures.mapping)) != nil else { return }
        guard let slot = table.take(offer.shape) else { fatalError("a slot that was offered is not there") }
        check(slot.planes, offer.shape.format, width: offer.shape.width, height: offer.shape.height)
    case .free(let slot), .forget(let slot):
        var table = SlotTable()
        precondition((try? table.free(slot)) == nil && (try? table.remove(slot)) == nil)
    case .ring, .drain, .close: break
    }
}

private func use(_ message: DecoderHelperMessage) {
    switch message {
    case .created(let properties): precondition(properties.fittingWire == properties)
    case .refused(let error), .callFailed(let error), .failed(let error), .damaged(_, let error):
        precondition(error.fittingWire == error)
    case .picture(let notice): use(notice.picture.shape)
    case .slotAwaited(let shape): use(shape)
    case .accepted, .drained: break
    }
}

private func use(_ shape: PictureShape) {
    guard let layout = try? shape.layout() else { return }
    precondition(layout.planes.count == shape.format.planeCount && layout.byteCount > 0)
    var plan = SlotPlan(limit: 2)
    precondition(plan.await(shape) == [.offer(0), .offer(1)] && plan.hold(1, shape) && plan.release(1) == [.free(1)])
}

private func use(_ message: EncoderHelperMessage) {
    switch message {
    case .created(let properties):
        use(properties.formatDescription)
        _ = properties.supportedProperties.hashValue
    case .coded(let notice): if let format = notice.formatDescription { use(format) }
    case .refused(let error), .callFailed(let error), .failed(let error):
        precondition(error.fittingWire == error)
        _ = error.description
    case .updated(let outcome): _ = outcome.hashValue
    case .stage(let stage):
        var stages = StageRecord()
        stages.add(stage)
        precondition(stages.last == stage && stages.lastFile == stage.file)
    case .report(let report): precondition(report.fittingWire == report)
    case .encoder(let encoder): precondition(encoder.fittingWire == encoder)
    case .accepted(_, let released, _): precondition(released.count <= EncoderHelperMessage.mostReleased)
    case .released, .drained, .roomWanted, .inspected: break
    }
}

private func use(_ format: FormatDescription) {
    _ = try? format.decoderConfigurationRecord()
    _ = (format.hashValue, format.pixelAspectRatio.reduced, "\(format.pixelAspectRatio)", format == format)
}
