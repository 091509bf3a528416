// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// An encoder in a helper process, as a session sees it.
final class RemoteEncoder: EncoderBackend {
    let properties: EncoderProperties
    var isInOtherProcess: Bool { true }
    /// The number of pictures that were copied because the helper cannot access their memory, plus the copies of its
    /// encoder.
    private(set) var copiedPictures = 0
    let takesLater: Bool

    private let link: EncoderLink
    private let ledger: FrameLedger
    private let deadlines: RemoteEncoderFactory.Deadlines
    private var slots = PictureSlots()
    /// The pools for copies of pictures, by format.
    private var pools: [PixelFormat: PixelBufferPool] = [:]

    /// - Parameter connect: Opens a connection to a helper.
    init(
        _ identity: EncoderIdentity,
        _ request: EncoderRequest,
        _ deadlines: RemoteEncoderFactory.Deadlines,
        connect: (EncoderLink.Handlers) throws(MediaError) -> EncoderLink
    ) throws(MediaError) {
        let byteCount = CodedRing.byteCount(for: request.configuration)
        let memory = try SharedMapping.makeMemory(named: "vatoolbox-coded", byteCount: byteCount)
        let ring = CodedRing(try SharedMapping(memory, byteCount: byteCount, access: .read))
        let ledger = FrameLedger(ring: ring, taken: request.taken, output: request.output)
        let link = try connect(
            EncoderLink.Handlers(
                message: { (message) throws(MediaError) in try ledger.handle(message) },
                submissions: request.taken == nil ? nil : ledger.frames(within: deadlines.call),
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
        takesLater = request.taken != nil
    }

    private static func create(
        _ identity: EncoderIdentity,
        _ request: EncoderRequest,
        _ deadlines: RemoteEncoderFactory.Deadlines,
        _ link: EncoderLink,
        _ memory: borrowing Descriptor,
        _ byteCount: Int
    ) throws(MediaError) -> EncoderProperties {
        let order = EncoderOrder(
            encoder: identity,
            configuration: request.configuration,
            maximumReorderDepth: request.maximumReorderDepth,
            copiesOnDevice: request.copiesOnDevice,
            ringByteCount: byteCount
        )
        let answer = try link.call(
            .create(order),
            descriptor: memory.number,
            within: deadlines.creation,
            to: "create the encoder"
        )
        guard case .created(var properties) = answer else { throw link.refuse("replied to another request") }
        if let reason = properties.reasonAgainst(identity, request) { throw link.refuse(reason) }
        // A new process may succeed where this one failed.
        properties.isFailureFinal = false
        return properties
    }

    /// The ID of the helper process, while it runs.
    var processID: Int32? { link.processID }

    /// The missing parts of the helper's sandbox.
    var limitations: [String] { link.limitations }

    deinit {
        ledger.settle()
        // Orders that name pictures may be on the way to the encoder, so these are released after it.
        link.close(within: HelperHost.grace)
        ledger.close()
    }

    func encode(_ frame: EncoderFrame) throws(MediaError) {
        let before = copiedPictures
        let shared = try sharedPicture(frame.buffer)
        let order = try place(frame, shared)
        ledger.lend(shared, frame.number)
        // Whether a picture was converted must be known before the next one is submitted: if not, it is submitted
        // again.
        if takesLater, frame.conversion == nil {
            try give(order, copies: copiedPictures - before)
        } else {
            try giveAndWait(order)
            guard takesLater else { return }
            let copies = copiedPictures - before
            ledger.tell(TakenFrame(number: frame.number, copies: copies, isConverted: frame.conversion != nil))
        }
        // These were already reported.
        copiedPictures = before
    }

    private func give(_ order: FrameOrder, copies: Int) throws(MediaError) {
        let frame = TakenFrame(number: order.number, copies: copies, isConverted: order.conversion != nil)
        // Before an answer is pending; otherwise, the time since the last frame would count as the helper's.
        link.noteWork()
        ledger.expectAnswer(to: frame)
        do {
            try link.give(.frame(order), within: deadlines.call)
        } catch {
            ledger.settle()
            throw error
        }
    }

    private func giveAndWait(_ order: FrameOrder) throws(MediaError) {
        let answer = try call(.frame(order), to: "encode a frame")
        guard case .accepted(order.number, let released, let copies) = answer else {
            throw refuse("replied to another request")
        }
        copiedPictures += Int(copies)
        do {
            for number in released { try ledger.release(number) }
        } catch {
            ledger.settle()
            link.abandon(error)
            throw error
        }
    }

    func update(_ configuration: EncoderConfiguration) throws(MediaError) -> EncoderUpdateOutcome {
        let answer = try call(.update(configuration), to: "change its settings")
        guard case .updated(let outcome) = answer else { throw refuse("replied to another request") }
        return outcome
    }

    func drain() throws(MediaError) {
        let answer = try call(.drain, to: "finish its frames")
        guard case .drained = answer else { throw refuse("replied to another request") }
        if let failure = ledger.failure { throw failure }
        if let number = framesNotOut.min() {
            throw refuse("reports that it has finished, but did not return frame \(number)")
        }
    }

    /// The frames that were submitted and not returned. After a call has thrown or an error was passed to the output,
    /// nothing else is returned: these frames are then lost, and all others were returned. Refused updates and
    /// conversions are not such errors.
    var framesNotOut: Set<Int64> { ledger.outstanding }

    private func refuse(_ reason: String) -> MediaError {
        ledger.settle()
        return link.refuse(reason)
    }

    private func call(_ order: EncoderClientMessage, to purpose: String) throws(MediaError) -> EncoderHelperMessage {
        do {
            return try link.call(order, within: deadlines.call, to: purpose)
        } catch {
            if case .update = order, error.isPermanent { throw error }
            // The frame was not accepted and is submitted again.
            if case .frame = order, error.code == .conversionFailed { throw error }
            ledger.settle()
            throw error.ofRemoteEncoder
        }
    }

    // MARK: - Pictures

    /// Returns the picture itself if the helper can access it, otherwise a copy in a memfd. For a file, the helper
    /// receives a separately opened descriptor, because it could move the caller's offset or change its flags. A file
    /// that cannot be reopened is copied.
    private func sharedPicture(_ buffer: PixelBuffer) throws(MediaError) -> PixelBuffer {
        switch buffer.storage {
        case .sharedMemory, .dmaBuf: return buffer
        case .file(let file): return try slots.canTake(file: file.fileDescriptor) ? buffer : copy(buffer)
        case .deviceSurface(let surface): return isInHelper(surface) ? buffer : try copy(buffer)
        case .owned, .external: return try copy(buffer)
        }
    }

    /// Whether a surface is in the helper of the encoder.
    private func isInHelper(_ surface: any DeviceSurface) -> Bool {
        (surface as? RemoteSurface)?.isAt(link) == true
    }

    private func copy(_ buffer: PixelBuffer) throws(MediaError) -> PixelBuffer {
        let copy = try pool(buffer).make()
        try copy.withPlanes { (target) throws(MediaError) in try buffer.copySamples(to: target) }
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

    /// Returns the order for a frame whose picture the helper can access, after sending its memory to the helper.
    private func place(_ frame: EncoderFrame, _ shared: PixelBuffer) throws(MediaError) -> FrameOrder {
        let place: PicturePlace
        switch shared.storage {
        case .sharedMemory(let memory):
            let known = try slots.place(memory.fileDescriptor, byteCount: memory.byteCount)
            place = .memory(slot: try offer(known, byteCount: memory.byteCount), planes: memory.planes)
        case .file(let file):
            let known = try slots.place(file.fileDescriptor, byteCount: 0, isReopened: true)
            place = .file(slot: try offer(known, byteCount: nil), planes: file.planes)
        case .dmaBuf(let buffer):
            var slots: [UInt32] = []
            for (descriptor, byteCount) in zip(buffer.fileDescriptors, buffer.byteCounts) {
                slots.append(try offer(try self.slots.place(descriptor, byteCount: byteCount), byteCount: nil))
            }
            place = .dmaBuf(slots: slots, planes: buffer.planes, modifier: buffer.modifier)
        case .deviceSurface(let surface as RemoteSurface): place = .device(id: surface.id)
        case .owned, .external, .deviceSurface:
            throw MediaError(.unsupported, "the helper cannot access this picture", given: shared.storage.name)
        }
        return FrameOrder(
            number: frame.number,
            picture: frame.buffer.pictureDescription,
            place: place,
            conversion: frame.conversion,
            presentationTime: frame.presentationTime,
            duration: frame.duration,
            options: frame.options
        )
    }

    /// Returns the slot number of memory, which is sent to the helper if it is new.
    ///
    /// - Parameter byteCount: The size of a memfd; `nil` for a file or a DMA-BUF.
    private func offer(_ place: PictureSlots.Place, byteCount: Int?) throws(MediaError) -> UInt32 {
        for forgotten in place.forgotten { try link.tell(.forget(slot: forgotten), within: deadlines.call) }
        if place.isNew {
            let offer = MemoryOffer(slot: place.slot, byteCount: byteCount)
            try link.tell(.offer(offer), descriptor: place.descriptor, within: deadlines.call)
        }
        return place.slot
    }
}

extension EncoderProperties {
    /// Returns the reason why the properties cannot belong to such an encoder; `nil` if they can.
    fileprivate func reasonAgainst(_ identity: EncoderIdentity, _ request: EncoderRequest) -> String? {
        // Exceeding the request is not a violation, but the encoder is unsuitable: the session refuses it.
        guard (0...16).contains(reorderDepth) else { return "claims a reorder depth of \(reorderDepth)" }
        guard (0...1000).contains(maximumDelay) else { return "claims a delay of \(maximumDelay) frames" }
        guard !pixelFormats.isEmpty else { return "supports no pixel format" }
        return formatDescription.reasonAgainst(
            codec: identity.codec,
            width: request.configuration.width,
            height: request.configuration.height
        )
    }
}
