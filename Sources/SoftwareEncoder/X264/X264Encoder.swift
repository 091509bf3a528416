// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CX264
internal import Logging
internal import MediaTypes

/// A running x264 encoder. It works only during the calls of the session: x264's own threads never call back, except
/// for logging.
final class X264Encoder: EncoderBackend {
    let properties: EncoderProperties

    private let maximumReorderDepth: Int?
    private let output: @Sendable (EncoderOutput) -> Void
    private let logger: Logger
    private let staging: TenBitStaging?
    private let regions: RegionOffsets
    /// The supported quantizers of a single frame.
    private let quantizers: ClosedRange<Int>

    private var settings: X264Settings
    /// The encoder instance; `nil` from a drain that had frames to finish until the next frame, because x264 accepts no
    /// frames after it was flushed.
    private var instance: X264Instance?
    private var clock: PresentationClock
    /// The captions of frames in x264, by frame number.
    private var captions: [Int64: CaptionMessages] = [:]
    private var format: FormatDescription

    init(_ request: EncoderRequest, logger: Logger) throws(MediaError) {
        var settings = try X264Settings(request.configuration, maximumReorderDepth: request.maximumReorderDepth)
        let instance = try X264Instance(settings.parameters, logger: logger)
        let actual = instance.parameters
        let outcome = try X264Outcome(settings, actual, parameterSets: try instance.parameterSets())
        properties = EncoderProperties(
            name: X264EncoderFactory.libraryName,
            profile: outcome.profile,
            level: outcome.level,
            reorderDepth: outcome.reorderDepth,
            maximumDelay: instance.maximumDelayedFrames,
            isFailureFinal: true,
            pixelFormats: settings.pixelFormats,
            supportedProperties: settings.supportedProperties(actual),
            adjustments: settings.adjustments + outcome.adjustments,
            formatDescription: outcome.formatDescription
        )
        settings.keepLevel(actual.i_level_idc)
        quantizers = settings.frameQuantizers(actual)
        maximumReorderDepth = request.maximumReorderDepth
        output = request.output
        self.logger = logger
        self.settings = settings
        self.instance = instance
        format = outcome.formatDescription
        clock = PresentationClock(isVariable: settings.usesPresentationTimes)
        regions = RegionOffsets(width: settings.configuration.width, height: settings.configuration.height)
        staging =
            settings.configuration.bitDepth == 10
            ? TenBitStaging(width: settings.configuration.width, height: settings.configuration.height) : nil
    }

    func encode(_ frame: EncoderFrame) throws(MediaError) {
        try frame.check(
            settings.configuration,
            library: X264Settings.library,
            formats: properties.pixelFormats,
            quantizers: quantizers
        )
        let instance = try openInstance()
        var picture = x264_picture_t()
        x264_picture_init(&picture)
        picture.i_pts = try clock.tick(at: frame.presentationTime)
        picture.opaque = UnsafeMutableRawPointer(bitPattern: Int(truncatingIfNeeded: frame.number))
        if frame.options.forceKeyFrame { picture.i_type = X264_TYPE_IDR }
        if let quantizer = frame.options.quantizer {
            picture.i_qpplus1 = Int32(clamping: quantizer + settings.quantizerOffset + 1)
        }
        let attachments = frame.buffer.attachments
        if let messages = CaptionMessages(attachments.captions) {
            picture.extra_sei = messages.reference
            captions[frame.number] = messages
        }
        if !attachments.regionsOfInterest.isEmpty {
            regions.fill(attachments.regionsOfInterest)
            picture.prop.quant_offsets = regions.baseAddress
        }
        try frame.buffer.withPlanes { (planes) throws(MediaError) in
            picture.img = image(of: frame.buffer.format, planes)
            try instance.encode(&picture, deliver)
        }
    }

    func update(_ configuration: EncoderConfiguration) throws(MediaError) -> EncoderUpdateOutcome {
        var new = try X264Settings(configuration, maximumReorderDepth: maximumReorderDepth)
        guard settings.canChange(to: new) else { return .needsNewEncoder }
        new.keepLevel(settings.parameters.i_level_idc)
        if let instance {
            var parameters = instance.parameters
            new.copyRate(to: &parameters)
            try instance.reconfigure(parameters)
        }
        let adjustments = new.adjustments.filter { !settings.adjustments.contains($0) }
        settings = new
        return .done(adjustments: adjustments)
    }

    func drain() throws(MediaError) {
        guard let instance, instance.delayedFrames > 0 else { return }
        while instance.delayedFrames > 0 {
            try instance.encode(nil, deliver)
        }
        self.instance = nil
    }

    private func openInstance() throws(MediaError) -> X264Instance {
        if let instance { return instance }
        let instance = try X264Instance(settings.parameters, logger: logger)
        clock = PresentationClock(isVariable: settings.usesPresentationTimes)
        self.instance = instance
        return instance
    }

    private func deliver(_ access: X264AccessUnit, number: Int64) {
        captions[number] = nil
        let isKeyFrame = access.isIDR
        var frame = CodedFrame(
            number: number,
            data: access.coded(),
            isKeyFrame: isKeyFrame,
            isReference: access.isReference
        )
        // No change is expected, because the level is kept; without this check, a change would silently corrupt the
        // stream.
        if isKeyFrame, !access.parameterSets.elementsEqual(format.parameterSets, by: { $0.elementsEqual($1) }) {
            format = format.with(parameterSets: access.parameterSets.map { Array($0) })
            frame.formatDescription = format
        }
        output(.coded(frame))
    }
}

// MARK: - Frames

extension X264Encoder {
    /// Returns the planes in place, for x264 to copy; 10-bit planes from ``staging``.
    private func image(of format: PixelFormat, _ planes: [PixelPlane]) -> x264_image_t {
        var image = x264_image_t()
        if let staging {
            staging.fill(luma: planes[0], chroma: planes[1])
            image.i_csp = X264_CSP_NV12 | X264_CSP_HIGH_DEPTH
            image.plane.0 = staging.luma.assumingMemoryBound(to: UInt8.self)
            image.plane.1 = staging.chroma.assumingMemoryBound(to: UInt8.self)
            image.i_stride.0 = Int32(clamping: staging.bytesPerRow)
            image.i_stride.1 = image.i_stride.0
        } else {
            image.i_csp = format == .nv12 ? X264_CSP_NV12 : X264_CSP_I420
            image.plane.0 = planes[0].baseAddress.assumingMemoryBound(to: UInt8.self)
            image.plane.1 = planes[1].baseAddress.assumingMemoryBound(to: UInt8.self)
            image.i_stride.0 = Int32(clamping: planes[0].bytesPerRow)
            image.i_stride.1 = Int32(clamping: planes[1].bytesPerRow)
            if format == .i420 {
                image.plane.2 = planes[2].baseAddress.assumingMemoryBound(to: UInt8.self)
                image.i_stride.2 = Int32(clamping: planes[2].bytesPerRow)
            }
        }
        image.i_plane = Int32(clamping: format.planeCount)
        return image
    }
}
