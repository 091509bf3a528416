// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// An encoder in a helper process, as a session sees it.
final class RemoteEncoder: EncoderBackend {
    let properties: EncoderProperties
    var isInOtherProcess: Bool { true }
    /// How many pictures lay in memory that the helper cannot see, and were copied.
    private(set) var copiedPictures = 0

    private let link: HelperLink
    private let ledger: FrameLedger
    private let deadlines: RemoteEncoderFactory.Deadlines
    private var slots = PictureSlots()
    /// Where copies of pictures are made, by format.
    private var pools: [PixelFormat: PixelBufferPool] = [:]

    /// - Parameter connect: Opens a connection to a helper.
    init(
        _ identity: EncoderIdentity,
        _ request: EncoderRequest,
        _ deadlines: RemoteEncoderFactory.Deadlines,
        connect: (HelperLink.Handlers) throws(MediaError) -> HelperLink
    ) throws(MediaError) {
        let byteCount = CodedRing.byteCount(for: request.configuration)
        let memory = try SharedMapping.makeMemory(named: "vatoolbox-coded", byteCount: byteCount)
        let ring = CodedRing(try SharedMapping(memory, byteCount: byteCount, access: .read))
        let ledger = FrameLedger(ring: ring, output: request.output)
        let link = try connect(
            HelperLink.Handlers(
                message: { (message) throws(MediaError) in try ledger.handle(message) },
                failed: { ledger.fail($0) }
            )
        )
        ledger.connect(link)
        do {
            properties = try Self.create(identity, request, deadlines, link, memory, byteCount)
        } catch {
            ledger.close()
            link.close()
            throw error
        }
        ledger.open(properties)
        self.link = link
        self.ledger = ledger
        self.deadlines = deadlines
    }

    private static func create(
        _ identity: EncoderIdentity,
        _ request: EncoderRequest,
        _ deadlines: RemoteEncoderFactory.Deadlines,
        _ link: HelperLink,
        _ memory: borrowing Descriptor,
        _ byteCount: Int
    ) throws(MediaError) -> EncoderProperties {
        let order = EncoderOrder(
            encoder: identity,
            configuration: request.configuration,
            maximumReorderDepth: request.maximumReorderDepth,
            ringByteCount: byteCount
        )
        let answer = try link.call(
            .create(order),
            descriptor: memory.number,
            within: deadlines.creation,
            to: "create the encoder"
        )
        guard case .created(var properties) = answer else { throw refuse(link, "answered another order") }
        if let reason = properties.reasonAgainst(identity, request) { throw refuse(link, reason) }
        // A new process may succeed where this one failed.
        properties.isFailureFinal = false
        return properties
    }

    /// Ends a helper that lies.
    private static func refuse(_ link: HelperLink, _ reason: String) -> MediaError {
        let error = MediaError(.malformedData, "\(HelperLink.peer) \(reason)")
        link.abandon(error)
        return error
    }

    /// The helper's process, while it is there.
    var processID: Int32? { link.processID }

    deinit {
        ledger.close()
        link.close()
    }

    func encode(_ frame: EncoderFrame) throws(MediaError) {
        let shared = try sharedPicture(frame.buffer)
        let order = try place(frame, shared)
        ledger.lend(shared, frame.number)
        let answer = try link.call(.frame(order), within: deadlines.call, to: "encode a frame")
        guard case .accepted(frame.number) = answer else { throw Self.refuse(link, "answered another order") }
    }

    func update(_ configuration: EncoderConfiguration) throws(MediaError) -> EncoderUpdateOutcome {
        let answer = try link.call(.update(configuration), within: deadlines.call, to: "change its settings")
        guard case .updated(let outcome) = answer else { throw Self.refuse(link, "answered another order") }
        return outcome
    }

    func drain() throws(MediaError) {
        let answer = try link.call(.drain, within: deadlines.call, to: "finish its frames")
        guard case .drained = answer else { throw Self.refuse(link, "answered another order") }
        if let number = ledger.firstOutstanding {
            throw Self.refuse(link, "says that it has finished, and has not given frame \(number)")
        }
    }

    // MARK: - Pictures

    /// The picture itself if it lies in a memfd, else a copy of it that does.
    private func sharedPicture(_ buffer: PixelBuffer) throws(MediaError) -> PixelBuffer {
        if case .sharedMemory = buffer.storage { return buffer }
        let copy = try pool(buffer).make()
        try buffer.withPlanes { (source) throws(MediaError) in
            try copy.withPlanes { (target) throws(MediaError) in
                for (plane, (source, target)) in zip(source, target).enumerated() {
                    guard
                        let extent = buffer.format.planeExtent(plane, width: buffer.width, height: buffer.height)
                    else { continue }
                    for row in 0..<extent.rows {
                        (target.baseAddress + row * target.bytesPerRow).copyMemory(
                            from: source.baseAddress + row * source.bytesPerRow,
                            byteCount: extent.bytesPerRow
                        )
                    }
                }
            }
        }
        copiedPictures += 1
        return copy
    }

    private func pool(_ buffer: PixelBuffer) throws(MediaError) -> PixelBufferPool {
        if let pool = pools[buffer.format], pool.description.width == buffer.width,
            pool.description.height == buffer.height
        {
            return pool
        }
        let description = PixelBuffer.Description(format: buffer.format, width: buffer.width, height: buffer.height)
        let pool = try PixelBufferPool(description, memory: .shared)
        pools[buffer.format] = pool
        return pool
    }

    /// The order for a frame whose picture is in shared memory, after the helper was told about that memory.
    private func place(_ frame: EncoderFrame, _ shared: PixelBuffer) throws(MediaError) -> FrameOrder {
        guard case .sharedMemory(let memory) = shared.storage else {
            throw MediaError(.unsupported, "the helper cannot reach this picture", given: shared.storage.name)
        }
        let place = try slots.place(memory.fileDescriptor)
        if let forgotten = place.forgotten {
            try link.tell(.forget(slot: forgotten), within: deadlines.call)
        }
        if place.isNew {
            let offer = MemoryOffer(slot: place.slot, byteCount: memory.byteCount)
            try link.tell(.offer(offer), descriptor: memory.fileDescriptor, within: deadlines.call)
        }
        return FrameOrder(
            number: frame.number,
            picture: frame.buffer.pictureDescription,
            slot: place.slot,
            planes: memory.planes,
            presentationTime: frame.presentationTime,
            duration: frame.duration,
            options: frame.options
        )
    }
}

extension EncoderProperties {
    /// What no encoder of that kind can be, or `nil`.
    fileprivate func reasonAgainst(_ identity: EncoderIdentity, _ request: EncoderRequest) -> String? {
        let depths = 0...(request.maximumReorderDepth ?? 16)
        guard depths.contains(reorderDepth) else { return "claims a reorder depth of \(reorderDepth)" }
        guard (0...1000).contains(maximumDelay) else { return "claims a delay of \(maximumDelay) frames" }
        guard !pixelFormats.isEmpty else { return "takes no pixel format" }
        return formatDescription.reasonAgainst(
            codec: identity.codec,
            width: request.configuration.width,
            height: request.configuration.height
        )
    }
}
