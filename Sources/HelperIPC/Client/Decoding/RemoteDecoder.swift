// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
package import MediaTypes

/// A decoder in a helper process, as a session sees it.
///
/// ``decode(_:)`` returns when the sample is sent and few enough samples are unanswered. Pictures arrive on the link's
/// thread.
package final class RemoteDecoder: DecoderBackend {
    package let properties: DecoderProperties
    /// Ends the call in progress and all later ones with `cancelled`, and the output.
    package let cancel: @Sendable () -> Void

    private let codec: VideoCodec
    private let connection: DecoderConnection
    private let ledger: SampleLedger
    private let slots: DecodedSlots
    private let ring: SampleRing
    private let patience: Duration
    /// The format of the last sample that was sent.
    private var format: FormatDescription

    /// - Parameter connect: Opens a connection to a helper.
    init(
        _ identity: DecoderIdentity,
        _ request: DecoderRequest,
        _ options: RemoteDecoderFactory.Options,
        connect: (DecoderLink.Handlers) throws(MediaError) -> DecoderLink
    ) throws(MediaError) {
        try options.validate()
        try Self.check(request.formatDescription, identity.codec)
        try request.formatDescription.checkFitsWire()
        let ring = try SampleRing(byteCount: CodedRing.byteCount(for: request.formatDescription))
        let slots = DecodedSlots(
            limit: options.pictureLimit,
            devicePictures: request.devicePictureLimit,
            report: options.starvation
        )
        let ledger = SampleLedger(ring: ring, slots: slots, output: request.output)
        let link = try connect(
            DecoderLink.Handlers(
                message: { (message) throws(MediaError) in try ledger.handle(message) },
                submissions: ledger.submissions(options),
                failed: { ledger.fail($0) }
            )
        )
        slots.connect(link)
        let connection = DecoderConnection(
            link,
            slots,
            options.deadlines,
            device: identity.device,
            limit: request.devicePictureLimit
        )
        ledger.connection.object = connection
        do throws(MediaError) {
            properties = try Self.create(identity, request, options.deadlines, link, ring)
        } catch {
            ledger.settle()
            link.close()
            throw error
        }
        codec = identity.codec
        self.connection = connection
        self.ledger = ledger
        self.slots = slots
        self.ring = ring
        patience = options.deadlines.call
        format = request.formatDescription
        cancel = {
            // First, so that a call that is woken finds the reason.
            slots.cancel(link, because: MediaError(.cancelled, "the decoder was cancelled"))
            ledger.settle()
        }
    }

    private static func create(
        _ identity: DecoderIdentity,
        _ request: DecoderRequest,
        _ deadlines: RemoteDecoderFactory.Deadlines,
        _ link: DecoderLink,
        _ ring: SampleRing
    ) throws(MediaError) -> DecoderProperties {
        let order = DecoderOrder(
            decoder: identity,
            formatDescription: request.formatDescription,
            isLowLatency: request.isLowLatency,
            threadCount: request.threadCount,
            devicePictureLimit: request.devicePictureLimit,
            ringByteCount: ring.byteCount
        )
        let memory = ring.descriptor
        let answer = try link.call(
            .create(order),
            descriptor: memory.number,
            within: deadlines.creation,
            to: "create the decoder"
        )
        guard case .created(let properties) = answer else { throw link.refuse("replied to another request") }
        guard (0...4096).contains(properties.threadCount) else {
            throw link.refuse("claims \(properties.threadCount) threads")
        }
        return properties
    }

    /// Whether pictures stay in a helper in which no new encoder can read them, because another has failed there.
    package var isOutdated: Bool { connection.limit > 0 && link.isHelperRetired }

    /// The ID of the helper process, while it runs.
    package var processID: Int32? { link.processID }

    /// The missing parts of the helper's sandbox.
    package var limitations: [String] { link.limitations }

    deinit {
        ledger.settle()
        if connection.hasPictures {
            // They need the connection, which is closed with the last one; the decoder is released now.
            slots.cancel(link, because: MediaError(.invalidState, "the decoder was released"))
        } else {
            link.close(within: HelperHost.grace)
        }
    }

    private var link: DecoderLink { connection.link }

    package func decode(_ sample: DecoderSample) throws(MediaError) {
        try Self.check(sample.sample.formatDescription, codec)
        ledger.noteCall(isWaiting: true)
        defer { ledger.noteCall(isWaiting: false) }
        do throws(MediaError) {
            // Before an answer is pending; otherwise, the time since the last sample would count as the helper's.
            link.noteWork()
            ledger.unanswered.waitForRoom()
            let order = try order(sample)
            ledger.expect(sample.number)
            try link.give(.sample(order), within: patience)
            format = sample.sample.formatDescription
        } catch {
            ledger.settle()
            throw error
        }
        slots.flush()
    }

    package func drain() throws(MediaError) {
        ledger.noteCall(isWaiting: true)
        defer { ledger.noteCall(isWaiting: false) }
        let answer: DecoderHelperMessage
        slots.sendReleased()
        do throws(MediaError) {
            answer = try link.call(.drain, within: patience, to: "finish its pictures")
        } catch {
            ledger.settle()
            throw error
        }
        guard case .drained = answer else {
            ledger.settle()
            throw link.refuse("replied to another request")
        }
        if let failure = ledger.failure { throw failure }
        ledger.noteDrained()
    }

    private static func check(_ format: FormatDescription, _ codec: VideoCodec) throws(MediaError) {
        guard format.codec == codec else {
            throw MediaError(
                .invalidArgument,
                "the codec is not that of the decoder",
                given: format.codec.rawValue,
                allowed: codec.rawValue
            )
        }
    }

    // MARK: - Samples

    /// Writes the data of a sample to the ring.
    private func order(_ numbered: DecoderSample) throws(MediaError) -> SampleOrder {
        let sample = numbered.sample
        let isNew = sample.formatDescription != format
        if isNew { try sample.formatDescription.checkFitsWire() }
        return SampleOrder(
            number: numbered.number,
            offset: try write(sample.data),
            byteCount: sample.data.count,
            presentationTime: sample.presentationTime,
            decodeTime: sample.decodeTime,
            duration: sample.duration,
            isKeyFrame: sample.isKeyFrame,
            isReference: sample.isReference,
            isDropped: sample.isDropped,
            formatDescription: isNew ? sample.formatDescription : nil,
            formatDescriptionChanged: sample.formatDescriptionChanged,
            released: slots.takeReleased()
        )
    }

    private func write(_ data: CodedData) throws(MediaError) -> Int {
        while true {
            if let offset = ring.write(data) { return offset }
            let count = ledger.unanswered.count
            guard count > 0 else {
                try enlargeRing(for: data.count)
                continue
            }
            guard ledger.unanswered.wait(forAtMost: count - 1) else {
                try link.check()
                throw ledger.failure ?? MediaError(.invalidState, "the decoder accepts no more samples")
            }
        }
    }

    private func enlargeRing(for byteCount: Int) throws(MediaError) {
        guard byteCount <= SampleRing.mostBytes else {
            throw MediaError(
                .invalidArgument,
                "a sample is too large",
                given: "\(byteCount) bytes",
                allowed: "at most \(SampleRing.mostBytes) bytes"
            )
        }
        try ring.replace(byteCount: byteCount * 2)
        let memory = ring.descriptor
        try link.tell(.ring(byteCount: ring.byteCount), descriptor: memory.number, within: patience)
    }
}

extension RemoteDecoderFactory.Options {
    /// - Throws: `invalidArgument` for a number of pictures that is out of range.
    fileprivate func validate() throws(MediaError) {
        guard (1...128).contains(pictureLimit) else {
            throw MediaError(
                .invalidArgument,
                "number of pictures of a decoder is out of range",
                given: "\(pictureLimit)",
                allowed: "1...128"
            )
        }
    }
}

extension SampleLedger {
    /// Returns the link's handlers for samples, which are submitted without waiting.
    fileprivate func submissions(_ options: RemoteDecoderFactory.Options) -> DecoderLink.Submissions {
        let limit = options.deadlines.release
        return DecoderLink.Submissions(
            patience: options.deadlines.call,
            purpose: "decode a sample",
            areDue: { self.unanswered.count > 0 },
            answer: { (message) throws(MediaError) in try self.answer(message) },
            isExcused: { self.slots.isStarved },
            longestPause: min(options.starvationNotice, limit, .seconds(1)) / 2,
            watch: { link in
                self.slots.flush()
                do throws(MediaError) {
                    let waited = try self.slots.checkStarvation(reportedAfter: options.starvationNotice)
                    guard let waited, let call = self.callDuration, min(waited, call) >= limit else { return }
                    throw MediaError(
                        .unavailable,
                        "all pictures of the decoder are in use, and none was released in time",
                        given: "\(options.pictureLimit) pictures",
                        allowed: "\(limit)",
                        // Another helper with as much memory would come to the same end.
                        isPermanent: true
                    )
                } catch {
                    // No fault of the helper: other connections to it go on.
                    self.slots.cancel(link, because: error)
                    self.settle()
                }
            }
        )
    }
}

extension CodedRing {
    /// The size of a ring for samples: room for two that are as large as their pictures, and at least 1 MiB.
    static func byteCount(for format: FormatDescription) -> Int {
        byteCount(width: format.width, height: format.height, chromaFormat: .yuv420, bitDepth: 8)
    }
}
