// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CX265
internal import MediaTypes

/// A running x265 encoder. It works only during the calls of the session: x265's own threads never call back.
final class X265Encoder: EncoderBackend {
    let properties: EncoderProperties

    /// The number of frames that an encoder may hold beyond its normal maximum.
    ///
    /// x265's lookahead may return nothing for a frame although it has decided on one: it reports its progress before
    /// it records that it is finished, and a caller in between waits in vain (3.5 and earlier, observed under load).
    /// From then on, the encoder holds one more frame.
    static let mostFramesKeptTooLong = 8
    /// The number of consecutive empty results of an encoder that is being flushed, for the same reason.
    private static let mostEmptyAnswers = 64

    private let maximumReorderDepth: Int?
    private let output: @Sendable (EncoderOutput) -> Void
    private let staging: PlanarStaging
    /// The region offsets; `nil` without adaptive quantization. With it, every frame has offsets, which may be zero:
    /// x265 allocates memory for them when it first uses a frame's memory, and uses its old contents when it is used
    /// again.
    private let regions: RegionOffsets?
    /// The supported quantizers of a single frame.
    private let quantizers: ClosedRange<Int>

    private var settings: X265Settings
    /// The encoder instance; `nil` from a drain that had frames to finish until the next frame, because x265 accepts no
    /// frames after it was flushed.
    private var instance: X265Instance?
    /// The SEI units with the captions of frames in x265, by frame number. They are inserted afterwards, because x265
    /// copies messages into memory that was allocated for an earlier frame's, which may have been shorter.
    private var captions: [Int64: [UInt8]] = [:]
    /// The frames in x265 that must become key frames. In open GOPs, x265 makes them CRA pictures, without pictures
    /// before them in presentation order and after them in decoding order.
    private var askedKeyFrames: Set<Int64> = []
    private var format: FormatDescription
    private var hasToldSettings = false

    /// Makes an encoder.
    ///
    /// - Parameter library: The library to use; `nil` for that of the bit depth.
    init(_ request: EncoderRequest, library: X265Library? = nil) throws(MediaError) {
        var settings = try X265Settings(request.configuration, maximumReorderDepth: request.maximumReorderDepth)
        if let library { settings.library = library }
        let instance = try X265Instance(settings)
        let outcome = try X265Outcome(settings, instance)
        let (configuration, actual) = (settings.configuration, instance.parameters)
        properties = EncoderProperties(
            name: X265EncoderFactory.libraryName,
            profile: outcome.profile,
            level: outcome.level,
            reorderDepth: outcome.reorderDepth,
            maximumDelay: Self.maximumDelay(instance),
            isFailureFinal: true,
            pixelFormats: settings.pixelFormats,
            supportedProperties: settings.supportedProperties(actual),
            adjustments: settings.adjustments + outcome.adjustments,
            formatDescription: outcome.formatDescription
        )
        quantizers = settings.frameQuantizers(actual)
        maximumReorderDepth = request.maximumReorderDepth
        output = request.output
        regions =
            actual.rc.aqMode == X265_AQ_NONE
            ? nil : RegionOffsets(width: outcome.codedSize.width, height: outcome.codedSize.height)
        staging = PlanarStaging(configuration)
        self.settings = settings
        self.instance = instance
        format = outcome.formatDescription
    }

    func encode(_ frame: EncoderFrame) throws(MediaError) {
        try frame.check(
            settings.configuration,
            library: X265Settings.library,
            formats: properties.pixelFormats,
            quantizers: quantizers
        )
        let instance = try openInstance()
        var picture = instance.makePicture()
        picture.pts = frame.number
        picture.userData = UnsafeMutableRawPointer(bitPattern: Int(truncatingIfNeeded: frame.number))
        if frame.options.forceKeyFrame {
            picture.sliceType = X265_TYPE_IDR
            askedKeyFrames.insert(frame.number)
        }
        // One more than the quantizer, because 0 means none.
        if let quantizer = frame.options.quantizer { picture.forceqp = Int32(clamping: quantizer + 1) }
        let attachments = frame.buffer.attachments
        let messages = CaptionMessage.messages(attachments.captions)
        if !messages.isEmpty { captions[frame.number] = SEIMessage.nalUnit(messages, codec: .hevc) }
        if let regions {
            regions.fill(attachments.regionsOfInterest)
            picture.quantOffsets = regions.baseAddress
        }
        try frame.buffer.withPlanes { (planes) throws(MediaError) in
            setPlanes(of: &picture, frame.buffer.format, planes)
            try instance.encode(&picture, deliver)
        }
        // Frames that are held too long are returned at once, and the next frame starts a new sequence.
        if instance.delayedFrames > Self.maximumDelay(instance) { try drain() }
    }

    /// Returns the maximum number of frames that are held; none if each is returned at once, because there is no
    /// lookahead then.
    private static func maximumDelay(_ instance: X265Instance) -> Int {
        let frames = instance.maximumDelayedFrames
        return frames > 0 ? frames + mostFramesKeptTooLong : 0
    }

    func update(_ configuration: EncoderConfiguration) throws(MediaError) -> EncoderUpdateOutcome {
        let new = try X265Settings(configuration, maximumReorderDepth: maximumReorderDepth)
        guard settings.serves(new) else { return .needsNewEncoder }
        let adjustments = new.adjustments.filter { !settings.adjustments.contains($0) }
        settings = new
        return .done(adjustments: adjustments)
    }

    func drain() throws(MediaError) {
        guard let instance, instance.delayedFrames > 0 else { return }
        var emptyAnswers = 0
        while instance.delayedFrames > 0 {
            emptyAnswers = try instance.encode(nil, deliver) ? 0 : emptyAnswers + 1
            guard emptyAnswers <= Self.mostEmptyAnswers else {
                let reason = "x265 finished without \(instance.delayedFrames) of its frames"
                throw MediaError(.frameFailed, reason, call: "x265_encoder_encode")
            }
        }
        self.instance = nil
    }

    private func openInstance() throws(MediaError) -> X265Instance {
        if let instance { return instance }
        let instance = try X265Instance(settings)
        self.instance = instance
        return instance
    }

    private func deliver(_ access: X265AccessUnit, number: Int64) {
        let wasAsked = askedKeyFrames.remove(number) != nil
        let isKeyFrame = access.isIDR || wasAsked && access.isCRA
        var frame = CodedFrame(
            number: number,
            data: access.coded(
                withLibraryInformation: !hasToldSettings,
                inserting: captions.removeValue(forKey: number)
            ),
            isKeyFrame: isKeyFrame,
            isReference: access.isReference
        )
        hasToldSettings = true
        // After a drain with another bitrate, the level may differ.
        if isKeyFrame, !access.parameterSets.elementsEqual(format.parameterSets, by: { $0.elementsEqual($1) }) {
            format = format.with(parameterSets: access.parameterSets.map { Array($0) })
            frame.formatDescription = format
        }
        output(.coded(frame))
    }

    /// Sets the planes in place, for x265 to copy, or in ``staging`` if x265 does not support their layout.
    private func setPlanes(of picture: inout x265_picture, _ format: PixelFormat, _ planes: [PixelPlane]) {
        picture.bitDepth = Int32(clamping: format.bitDepth)
        picture.colorSpace = format.chromaFormat.colorSpace
        let (configuration, arrangement) = (settings.configuration, format.arrangement)
        let given = PictureComponents(
            arrangement,
            width: configuration.width,
            height: configuration.height,
            planes: planes
        )
        let read = staging.planar(given)
        // Newer versions have a fourth plane.
        (picture.planes.0, picture.planes.1) = (read[0].base, read[1].base)
        picture.planes.2 = read[2].base
        picture.stride.0 = Int32(clamping: read[0].bytesPerRow)
        picture.stride.1 = Int32(clamping: read[1].bytesPerRow)
        picture.stride.2 = Int32(clamping: read[2].bytesPerRow)
    }
}
