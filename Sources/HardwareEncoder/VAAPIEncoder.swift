// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CLibVA
internal import GOPPlanning
internal import HardwareDisplay
internal import Logging
internal import MediaTypes
internal import Synchronization
internal import VAAPI

/// A GPU encoder.
///
/// The session's thread plans, uploads and submits pictures, and collects coded pictures to make room. When it pauses,
/// a thread of the encoder waits for them. The ``Pipeline`` and the collector's state are shared between both threads.
final class VAAPIEncoder<Stream: CodedStream>: EncoderBackend {
    let properties: EncoderProperties

    private let setup: EncoderSetup<Stream>
    private let pipeline: Pipeline<PictureJob<Stream.Coder>>
    private let input: PictureInput
    private let converter: PictureConverter
    private let reconstructions: SurfacePool
    private let pageTrial: PageTrial
    private let logger: Logger
    /// Whether the device copies surfaces that cannot be encoded in place; not after a failure.
    private var copiesOnDevice: Bool

    private var planner: GOPPlanner
    private var coder: Stream.Coder
    private var miscellaneous: MiscellaneousParameters
    private var messages: PictureMessages<Stream>
    private var keyFrames: KeyFrameClock
    /// The rate control for the next pictures.
    private var rate: RatePlan
    private var shown = PresentationHistory()
    /// The frames that were accepted but not submitted, by number.
    private var waiting: [Int64: WaitingFrame] = [:]
    /// The surfaces of references, by number.
    private var references: [Int64: PooledSurface] = [:]

    /// The remaining data of a frame once its picture is in a surface.
    private struct WaitingFrame {
        var surface: InputSurface
        var presentationTime: MediaTime
        var options: FrameOptions
        var attachments: PixelAttachments
        /// The constant quantizer when the frame was accepted.
        var quantizer: Int
    }

    init(
        _ request: EncoderRequest,
        on display: borrowing Display,
        of device: String,
        logger: Logger
    ) throws(MediaError) {
        let driver = try calling(.creationFailed) { () throws(VAError) in try display.describe() }
        let capabilities = try Self.capabilities(display, driver, logger)
        let setup = try EncoderSetup<Stream>(
            request.configuration,
            capabilities: capabilities,
            vendor: driver.vendor,
            maximumReorderDepth: request.maximumReorderDepth
        )
        let stream = setup.stream
        let pixelFormat = Stream.pixelFormat(stream.profile, stream.configuration)
        let coder = try Stream.Coder(setup)
        let format = try FormatTracker(stream)
        planner = try GOPPlanner(setup.device.structure)
        miscellaneous = MiscellaneousParameters(setup.device, stream.configuration)
        messages = PictureMessages(setup)
        rate = setup.device.rate
        keyFrames = KeyFrameClock(request.configuration)
        properties = Self.properties(setup, driver, pixelFormat, format.format)
        self.setup = setup
        self.coder = coder

        let surfaces = SurfaceRequest(
            width: stream.codedSize.width,
            height: stream.codedSize.height,
            renderTargetFormat: pixelFormat.renderTargetFormat,
            format: setup.device.surfaceFormat
        )
        let pageTrial = PageTrial(device: device)
        self.pageTrial = pageTrial
        self.logger = logger
        copiesOnDevice = request.copiesOnDevice && properties.conversions != nil
        input = PictureInput(
            display,
            surfaces,
            quirks: setup.device.quirks,
            takesPages: setup.device.takesPages,
            trial: pageTrial,
            logger: logger
        )
        converter = PictureConverter(
            display,
            surfaces,
            quirks: setup.device.quirks,
            takesPages: setup.device.takesPages,
            trial: pageTrial,
            logger: logger
        )
        reconstructions = SurfacePool(display.share(), surfaces)
        let collector = Collector<Stream.Coder>(format, request.output)
        pipeline = try Pipeline(
            context: try Self.context(display, setup),
            depth: setup.device.framesInFlight,
            capacity: stream.largestPicture,
            take: { (job, segments) throws(MediaError) in
                let outcome = try collector.take(job, segments)
                if outcome == .taken { pageTrial.noteSuccess() }
                return outcome
            },
            fail: {
                pageTrial.noteFailure()
                request.output(.failed($0))
            }
        )
    }

    private static func properties(
        _ setup: EncoderSetup<Stream>,
        _ driver: DriverDescription,
        _ pixelFormat: PixelFormat,
        _ format: FormatDescription
    ) -> EncoderProperties {
        EncoderProperties(
            name: driver.vendor,
            profile: setup.stream.profileName,
            level: setup.stream.levelName,
            reorderDepth: setup.device.structure.reorderDepth,
            maximumDelay: setup.device.structure.consecutiveBFrames + setup.device.framesInFlight,
            pixelFormats: pixelFormat.alikeForSurfaces,
            conversions: PictureConverter.support(driver, pixelFormat),
            supportedProperties: setup.device.supportedProperties,
            adjustments: setup.device.adjustments,
            formatDescription: format
        )
    }

    private static func context(
        _ display: borrowing Display,
        _ setup: EncoderSetup<Stream>
    ) throws(MediaError) -> Context {
        let size = setup.stream.contextSize(hasPackedHeaders: !setup.device.packedHeaders.isEmpty)
        return try calling(.creationFailed) { () throws(VAError) in
            try Context(
                config: try display.makeConfig(
                    profile: setup.device.profile,
                    entrypoint: setup.device.entrypoint,
                    attributes: setup.device.attributes
                ),
                width: size.width,
                height: size.height
            )
        }
    }

    deinit { pipeline.close() }

    var copiedPictures: Int { input.copies + converter.copies }

    func encode(_ frame: EncoderFrame) throws(MediaError) {
        try check(frame)
        let surface = try surface(frame)
        noteLosses(frame.options)
        shown.record(frame.number, at: frame.presentationTime)
        waiting[frame.number] = WaitingFrame(
            surface: surface,
            presentationTime: frame.presentationTime,
            options: frame.options,
            attachments: frame.attachments,
            quantizer: rate.quantizer
        )
        let planned = try planner.add(
            InputPicture(
                number: frame.number,
                forceKeyFrame: frame.options.forceKeyFrame,
                isKeyFrameDue: keyFrames.isDue(at: frame.presentationTime),
                longTermIndex: longTermIndex(frame.options)
            )
        )
        for picture in planned { try submit(picture) }
    }

    func pause() { pipeline.pause() }

    func update(_ configuration: EncoderConfiguration) throws(MediaError) -> EncoderUpdateOutcome {
        guard let plan = setup.rate(changedTo: configuration) else { return .needsNewEncoder }
        // Frames that were accepted before are encoded with the previous settings.
        for picture in planner.endGroup() { try submit(picture) }
        let known = setup.device.adjustments + rate.adjustments
        rate = plan
        coder.change(plan)
        miscellaneous.change(plan, frameRate: configuration.frameRate)
        return .done(adjustments: plan.adjustments.filter { !known.contains($0) })
    }

    func drain() throws(MediaError) {
        for picture in planner.finish() { try submit(picture) }
        try pipeline.drain()
    }

    // MARK: - Pictures

    private func surface(_ frame: EncoderFrame) throws(MediaError) -> InputSurface {
        if let conversion = frame.conversion { return try converter.surface(for: frame.buffer, conversion) }
        // The device copies a picture that is too small for whole blocks, or has another format.
        if copiesOnDevice, let isImport = try deviceCopy(frame.buffer) {
            do throws(MediaError) {
                let conversion = PictureConversion.copy(of: frame.buffer.pictureDescription)
                return try converter.surface(for: frame.buffer, conversion, importsOnly: isImport)
            } catch {
                logger.notice("pictures are copied by the CPU, because the device cannot copy one: \(error)")
                copiesOnDevice = false
            }
        }
        return try input.surface(for: frame.buffer)
    }

    /// Whether the device must import a picture to copy it; `nil` if it need not copy it.
    private func deviceCopy(_ buffer: PixelBuffer) throws(MediaError) -> Bool? {
        if input.isOnDevice(buffer) { return input.isInPlace(buffer) ? nil : false }
        return try input.isTooSmall(buffer) ? true : nil
    }

    private func submit(_ planned: PlannedPicture) throws(MediaError) {
        guard let frame = waiting.removeValue(forKey: planned.number) else { return }
        if planned.kind == .idr || planned.kind == .recoveryPoint {
            keyFrames.restart(at: frame.presentationTime)
        }
        let picture = coder.picture(planned, quantizer: quantizer(planned.kind, frame))
        let reconstruction = try calling(.frameFailed) { () throws(VAError) in try reconstructions.take() }
        var parameters = ParameterList()
        miscellaneous.append(
            to: &parameters,
            MiscellaneousParameters.Picture(
                isIDR: picture.isIDR,
                regions: frame.attachments.regionsOfInterest,
                refreshPosition: planned.refreshPosition
            )
        )
        let job = PictureJob(
            coder: coder,
            picture: picture,
            miscellaneous: parameters,
            inputSurface: frame.surface,
            reconstruction: reconstruction,
            references: picture.keptReferences.reduce(into: [:]) { $0[$1] = references[$1] },
            units: try messages.units(planned, frame.attachments)
        )
        // Pictures in flight retain dropped references as long as they need them.
        for dropped in planned.dropped { references[dropped.number] = nil }
        if planned.isReference { references[planned.number] = reconstruction }
        do {
            try pipeline.submit(job)
        } catch {
            pageTrial.noteFailure()
            throw error
        }
    }

    /// Returns the quantizer of a picture's slices. With a constant quantizer, I pictures have a lower one because much
    /// depends on them, and B pictures a higher one because little does; the differences are those of x264.
    private func quantizer(_ kind: PlannedPicture.Kind, _ frame: WaitingFrame) -> Int {
        guard rate.mode == .cqp else { return setup.stream.initialQuantizer }
        if let asked = frame.options.quantizer { return min(max(asked, 1), 51) }
        let offset =
            switch kind {
            case .idr, .recoveryPoint: -3
            case .p: 0
            case .b: 2
            }
        return rate.constantQuantizers.clamping(frame.quantizer + offset)
    }

    /// Returns the long-term mark, without marks beyond the capacity of the decoded picture buffer, which was reported.
    private func longTermIndex(_ options: FrameOptions) -> Int? {
        options.longTermReference.flatMap { $0 < setup.device.structure.longTermReferences ? $0 : nil }
    }

    private func noteLosses(_ options: FrameOptions) {
        if let time = options.decodedFrame, let number = shown.number(at: time) { planner.acknowledge(number) }
        if let times = options.lostFrames, let numbers = shown.numbers(in: times) { planner.invalidate(numbers) }
    }

    private func check(_ frame: EncoderFrame) throws(MediaError) {
        let (width, height) = (setup.stream.configuration.width, setup.stream.configuration.height)
        let picture = frame.conversion?.result ?? frame.buffer.pictureDescription
        guard picture.width == width, picture.height == height else {
            throw MediaError(
                .invalidArgument,
                "the picture's size differs from the video's",
                given: "\(picture.width)x\(picture.height)",
                allowed: "\(width)x\(height)"
            )
        }
        guard properties.pixelFormats.contains(picture.format) else {
            throw MediaError(
                .invalidArgument,
                "the encoder does not support this pixel format",
                given: picture.format.rawValue,
                allowed: properties.pixelFormats.map(\.rawValue).joined(separator: ", ")
            )
        }
    }
}

// MARK: - The driver

extension VAAPIEncoder {
    /// Returns the capabilities for every encoding profile and entrypoint of the codec, except for those that the
    /// driver fails to describe.
    private static func capabilities(
        _ display: borrowing Display,
        _ driver: DriverDescription,
        _ logger: Logger
    ) throws(MediaError) -> [EncodeCapabilities] {
        var list: [EncodeCapabilities] = []
        var failure: VAError?
        let known = Stream.profiles.compactMap(Profile.init)
        for profile in driver.profiles where known.contains(profile.profile) {
            for entrypoint in profile.entrypoints where [.encSlice, .encSliceLowPower].contains(entrypoint) {
                do throws(VAError) {
                    list.append(try display.encodeCapabilities(profile: profile.profile, entrypoint: entrypoint))
                } catch {
                    logger.warning("\(profile.profile) with \(entrypoint) is skipped: \(error)")
                    failure = error
                }
            }
        }
        if list.isEmpty {
            if let failure { throw MediaError(failure, .creationFailed) }
            let isListed = driver.profiles.contains { known.contains($0.profile) }
            throw MediaError(
                .unsupported,
                isListed
                    ? "the driver lists \(Stream.codecName) for decoding only"
                    : "the driver lists no profile of \(Stream.codecName)",
                given: driver.vendor,
                cause: isListed ? .gpuWithoutEncoder : .driverWithoutCodec
            )
        }
        return list
    }
}
