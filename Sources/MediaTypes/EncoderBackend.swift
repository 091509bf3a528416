// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax

/// The identity of an encoder, for lists and logs.
public struct EncoderIdentity: Sendable, Hashable, CustomStringConvertible {
    /// The encoder's name, for example `x264`.
    public var name: String
    /// The codec that it encodes.
    public var codec: VideoCodec
    /// The device on which it runs, for example `/dev/dri/renderD128`; `nil` for the CPU.
    public var device: String?

    /// Makes an identity.
    public init(name: String, codec: VideoCodec, device: String? = nil) {
        self.name = name
        self.codec = codec
        self.device = device
    }

    /// Whether it runs on a GPU.
    public var isHardware: Bool { device != nil }

    /// For example `x264` or `vaapi-h264 on /dev/dri/renderD128`.
    public var description: String { device.map { "\(name) on \($0)" } ?? name }
}

/// A factory for encoders of one kind: one of the candidates that a session may use.
public protocol EncoderFactory: Sendable {
    /// The identity of the encoders that it makes.
    var identity: EncoderIdentity { get }

    /// Creates an encoder. A session calls it on a thread of the encoder's own; the call may block.
    ///
    /// - Throws: An error with ``MediaError/isPermanent`` set if a retry cannot succeed.
    func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend
}

/// The parameters for the creation of an encoder.
public struct EncoderRequest: Sendable {
    /// The validated configuration, with an even size.
    public var configuration: EncoderConfiguration
    /// The maximum reorder depth: how many frames may precede a frame in decoding order and follow it in presentation
    /// order; `nil` leaves it to the encoder. A session fixes it when its first encoder is created, because decode
    /// times depend on it.
    public var maximumReorderDepth: Int?
    /// Whether the device may copy decoded pictures that are in its memory and cannot be encoded there; if not, the CPU does.
    /// A session forbids it after an encoder has failed that was given pictures on a device.
    public var copiesOnDevice: Bool
    /// Reports frames that the encoder accepts after ``EncoderBackend/encode(_:)`` has returned, in their order; see
    /// ``EncoderBackend/takesLater``. Safe to call on any thread; never blocks. If it is `nil`, `encode` must return
    /// only after the encoder has accepted the frame.
    public var taken: (@Sendable (TakenFrame) -> Void)?
    /// Receives the encoder's output, in decoding order. Safe to call on any thread; never blocks.
    public var output: @Sendable (EncoderOutput) -> Void

    /// Makes a request.
    public init(
        configuration: EncoderConfiguration,
        maximumReorderDepth: Int? = nil,
        copiesOnDevice: Bool = true,
        taken: (@Sendable (TakenFrame) -> Void)? = nil,
        output: @escaping @Sendable (EncoderOutput) -> Void
    ) {
        self.configuration = configuration
        self.maximumReorderDepth = maximumReorderDepth
        self.copiesOnDevice = copiesOnDevice
        self.taken = taken
        self.output = output
    }
}

/// A frame that an encoder has accepted.
public struct TakenFrame: Sendable, Hashable {
    /// The number of the frame.
    public var number: Int64
    /// The number of copies made of its picture, counted as in ``EncoderBackend/copiedPictures``, which does not
    /// include these.
    public var copies: Int
    /// Whether the encoder has converted its picture.
    public var isConverted: Bool

    /// Makes a record of an accepted frame.
    public init(number: Int64, copies: Int, isConverted: Bool) {
        self.number = number
        self.copies = copies
        self.isConverted = isConverted
    }
}

/// A running encoder. A session calls it from one thread at a time, its *submit thread*; every call may block.
///
/// An encoder may have its own threads, on which it waits for a device and calls ``EncoderRequest/output``. After an
/// error of ``encode(_:)`` or ``drain()``, or the output ``EncoderOutput/failed(_:)``, the session makes no more calls
/// and releases it.
public protocol EncoderBackend: AnyObject {
    /// The actual properties of the encoder.
    var properties: EncoderProperties { get }

    /// Whether the encoder runs in another process, so that it can be released even if it hangs. The default is
    /// `false`.
    var isInOtherProcess: Bool { get }

    /// The number of whole pictures that the encoder has copied because it cannot read their memory, for example into a
    /// GPU surface. The default is 0. Called on the submit thread.
    var copiedPictures: Int { get }

    /// Whether the encoder accepts frames after ``encode(_:)`` has returned, and reports each by
    /// ``EncoderRequest/taken``. A failure on such a frame is reported as the output ``EncoderOutput/failed(_:)``. The
    /// default is `false`.
    var takesLater: Bool { get }

    /// Accepts a frame. Finished output goes to ``EncoderRequest/output``, before or after the call returns.
    ///
    /// - Throws: `conversionFailed` if the encoder could not perform ``EncoderFrame/conversion``. It has then not
    ///   accepted the frame and still works: the same frame can be submitted with a picture that needs no conversion.
    func encode(_ frame: EncoderFrame) throws(MediaError)

    /// Announces a pause in the input and returns immediately. The default implementation does nothing.
    ///
    /// From here on, the encoder must deliver finished output without further calls. Without this call, it may keep
    /// coded frames until it gets the next one, which saves waking a thread.
    func pause()

    /// Changes to another configuration for the following frames.
    ///
    /// - Parameter configuration: A validated configuration that differs from the present one only in settings that an
    ///   ``EncoderUpdate`` can change.
    func update(_ configuration: EncoderConfiguration) throws(MediaError) -> EncoderUpdateOutcome

    /// Finishes every accepted frame. When it returns, ``EncoderRequest/output`` has received all of them. The next
    /// frame may become an IDR picture, because an encoder restarts after its lookahead was drained.
    func drain() throws(MediaError)
}

/// The result of a configuration change.
public enum EncoderUpdateOutcome: Sendable, Hashable {
    /// The change applies to the following frames. Lists new differences from the request.
    case done(adjustments: [Adjustment] = [])
    /// Only a new encoder can apply the change; nothing was changed.
    case needsNewEncoder
}

extension EncoderBackend {
    /// Returns `false`: the encoder works in this process.
    public var isInOtherProcess: Bool { false }
    /// Returns 0: the encoder reads pictures in place.
    public var copiedPictures: Int { 0 }
    /// Returns `false`: the encoder has accepted a frame when `encode` returns.
    public var takesLater: Bool { false }
    /// Does nothing: the encoder returns all output as soon as possible.
    public func pause() {}
}

/// The actual properties of an encoder.
public struct EncoderProperties: Sendable {
    /// The name and version for display, for example `x264 core 164`.
    public var name: String
    /// The name of the profile, for example `High`.
    public var profile: String
    /// The level, for example `4.1`.
    public var level: String
    /// The maximum number of frames that precede a frame in decoding order and follow it in output order
    /// (`max_num_reorder_frames`).
    public var reorderDepth: Int
    /// The maximum number of frames that the encoder holds before it returns the first. Beyond that, a missing frame is
    /// overdue: the encoder receives no more frames, and is replaced if it returns none before the deadline.
    public var maximumDelay: Int
    /// Whether a retry after a failure is pointless, as for an encoder in this process that fails only for lack of
    /// memory. If no other candidate is left either, a session releases each picture as soon as
    /// ``EncoderBackend/encode(_:)`` has returned, and ends when the encoder fails.
    public var isFailureFinal: Bool
    /// The pixel formats that the encoder accepts without a conversion, the best first.
    public var pixelFormats: [PixelFormat]
    /// The conversions that the encoder supports; `nil` if it accepts only pictures that need none.
    public var conversions: ConversionSupport?
    /// The options of a configuration that the encoder supports.
    public var supportedProperties: Set<EncoderOption>
    /// The options that the encoder applies only approximately.
    public var adjustments: [Adjustment]
    /// The codec, size and parameter sets.
    public var formatDescription: FormatDescription

    /// Makes the properties of an encoder.
    public init(
        name: String,
        profile: String,
        level: String,
        reorderDepth: Int,
        maximumDelay: Int,
        isFailureFinal: Bool = false,
        pixelFormats: [PixelFormat],
        conversions: ConversionSupport? = nil,
        supportedProperties: Set<EncoderOption>,
        adjustments: [Adjustment] = [],
        formatDescription: FormatDescription
    ) {
        self.name = name
        self.profile = profile
        self.level = level
        self.reorderDepth = reorderDepth
        self.maximumDelay = maximumDelay
        self.isFailureFinal = isFailureFinal
        self.pixelFormats = pixelFormats
        self.conversions = conversions
        self.supportedProperties = supportedProperties
        self.adjustments = adjustments
        self.formatDescription = formatDescription
    }
}

/// An option that an encoder may or may not support.
public struct EncoderOption: Sendable, Hashable, RawRepresentable {
    /// The stable name.
    public let rawValue: String
    /// Makes the option with the given name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// ``RateControl/averageBitRate(_:peak:)``.
    public static let averageBitRate = EncoderOption(rawValue: "average-bit-rate")
    /// ``RateControl/constantBitRate(_:window:)``.
    public static let constantBitRate = EncoderOption(rawValue: "constant-bit-rate")
    /// ``RateControl/constantQuality(_:peak:)``.
    public static let constantQuality = EncoderOption(rawValue: "constant-quality")
    /// ``RateControl/constantQuantizer(_:)``.
    public static let constantQuantizer = EncoderOption(rawValue: "constant-quantizer")
    /// A peak limit.
    public static let peakBitRate = EncoderOption(rawValue: "peak-bit-rate")
    /// B-frames.
    public static let bFrames = EncoderOption(rawValue: "b-frames")
    /// B-frames that are used as references.
    public static let bPyramid = EncoderOption(rawValue: "b-pyramid")
    /// Open GOPs.
    public static let openGOP = EncoderOption(rawValue: "open-gop")
    /// A choice between CAVLC and CABAC.
    public static let entropyMode = EncoderOption(rawValue: "entropy-mode")
    /// Key frames on request.
    public static let forceKeyFrame = EncoderOption(rawValue: "force-key-frame")
    /// A quantizer for an individual frame.
    public static let frameQuantizer = EncoderOption(rawValue: "frame-quantizer")
    /// Access unit delimiters.
    public static let accessUnitDelimiters = EncoderOption(rawValue: "access-unit-delimiters")
    /// A bit depth of 10.
    public static let tenBit = EncoderOption(rawValue: "ten-bit")
    /// A bit depth of 12.
    public static let twelveBit = EncoderOption(rawValue: "twelve-bit")
    /// 4:2:2 chroma subsampling.
    public static let chroma422 = EncoderOption(rawValue: "chroma-4:2:2")
    /// 4:4:4 chroma subsampling.
    public static let chroma444 = EncoderOption(rawValue: "chroma-4:4:4")
    /// HDR metadata.
    public static let hdrMetadata = EncoderOption(rawValue: "hdr-metadata")
    /// ``PixelAttachments/captions``.
    public static let captions = EncoderOption(rawValue: "captions")
    /// ``PixelAttachments/regionsOfInterest``.
    public static let regionsOfInterest = EncoderOption(rawValue: "regions-of-interest")
    /// No delay between a frame and its sample.
    public static let lowLatency = EncoderOption(rawValue: "low-latency")
    /// A bitrate change without a new encoder.
    public static let bitRateUpdate = EncoderOption(rawValue: "bit-rate-update")
    /// The preset, the tuning and the number of threads.
    public static let softwareOptions = EncoderOption(rawValue: "software-options")
    /// ``EncoderConfiguration/hardware``.
    public static let hardwareOptions = EncoderOption(rawValue: "hardware-options")
    /// More than one slice per picture.
    public static let slices = EncoderOption(rawValue: "slices")
    /// ``EncoderConfiguration/usesIntraRefresh``.
    public static let intraRefresh = EncoderOption(rawValue: "intra-refresh")
    /// ``EncoderConfiguration/temporalLayers``.
    public static let temporalLayers = EncoderOption(rawValue: "temporal-layers")
    /// ``EncoderConfiguration/longTermReferences`` and ``FrameOptions/longTermReference``.
    public static let longTermReferences = EncoderOption(rawValue: "long-term-references")
    /// ``FrameOptions/lostFrames`` and ``FrameOptions/decodedFrame``.
    public static let lossReports = EncoderOption(rawValue: "loss-reports")
    /// ``EncoderConfiguration/maximumFrameSize``.
    public static let maximumFrameSize = EncoderOption(rawValue: "maximum-frame-size")
    /// ``EncoderConfiguration/quantizerRange``.
    public static let quantizerRange = EncoderOption(rawValue: "quantizer-range")
    /// ``EncoderConfiguration/initialBufferFullness``.
    public static let initialBufferFullness = EncoderOption(rawValue: "initial-buffer-fullness")
}

/// A frame that is submitted to an encoder.
public struct EncoderFrame: Sendable {
    /// The number that the session assigned, increasing by one in presentation order; the encoder returns it with the
    /// output.
    public var number: Int64
    /// The picture, of the configured size and in one of ``EncoderProperties/pixelFormats`` unless it is to be
    /// converted.
    public var buffer: PixelBuffer
    /// The conversion that the encoder must perform first, within ``EncoderProperties/conversions``; `nil` for none.
    public var conversion: PictureConversion?
    /// The presentation time.
    public var presentationTime: MediaTime
    /// The display duration; invalid if not known.
    public var duration: MediaTime
    /// The caller's options for this frame.
    public var options: FrameOptions

    /// Makes a frame.
    public init(
        number: Int64,
        buffer: PixelBuffer,
        conversion: PictureConversion? = nil,
        presentationTime: MediaTime,
        duration: MediaTime = .invalid,
        options: FrameOptions = .init()
    ) {
        self.number = number
        self.buffer = buffer
        self.conversion = conversion
        self.presentationTime = presentationTime
        self.duration = duration
        self.options = options
    }
}

extension EncoderFrame {
    /// The attachments of the encoded picture.
    public var attachments: PixelAttachments { conversion?.result.attachments ?? buffer.attachments }
}

/// Options of a single frame.
public struct FrameOptions: Sendable, Hashable {
    /// Whether the frame must become a key frame (an IDR picture).
    public var forceKeyFrame: Bool
    /// The quantizer, 0...51, in place of the one that rate control chooses.
    public var quantizer: Int?
    /// The index of the long-term reference that the frame becomes, from 0 to below
    /// ``EncoderConfiguration/longTermReferences``. The frame remains a reference until another frame replaces it or a
    /// key frame follows. `nil` for an ordinary frame. An encoder with fewer long-term references reports this when it
    /// is created and ignores higher indices.
    public var longTermReference: Int?
    /// The range of presentation times in which frames were lost on the way to a receiver. Neither this frame nor a
    /// later one refers to these frames or to frames that depend on them. If no reference remains, this frame becomes a
    /// key frame. Times without a frame, and times of frames that are no longer references, have no effect.
    public var lostFrames: ClosedRange<MediaTime>?
    /// The presentation time of a frame that the receiver has decoded, together with all frames on which it depends.
    public var decodedFrame: MediaTime?

    /// Makes options; the default is an ordinary frame.
    public init(
        forceKeyFrame: Bool = false,
        quantizer: Int? = nil,
        longTermReference: Int? = nil,
        lostFrames: ClosedRange<MediaTime>? = nil,
        decodedFrame: MediaTime? = nil
    ) {
        self.forceKeyFrame = forceKeyFrame
        self.quantizer = quantizer
        self.longTermReference = longTermReference
        self.lostFrames = lostFrames
        self.decodedFrame = decodedFrame
    }
}

/// The output of an encoder.
public enum EncoderOutput: Sendable {
    /// A frame was coded or dropped.
    case coded(CodedFrame)
    /// A frame failed; the encoder is no longer usable.
    case failed(MediaError)
}

/// A frame as an encoder returns it, in decoding order.
public struct CodedFrame: Sendable {
    /// The number that the session assigned to the frame.
    public var number: Int64
    /// The NAL units, each with a 32-bit big-endian length prefix, without parameter sets. Empty data is an error,
    /// unless ``isDropped`` is set.
    public var data: CodedData
    /// Whether it is an IDR picture. All frames with earlier presentation times must be returned before it.
    public var isKeyFrame: Bool
    /// Whether other pictures refer to it.
    public var isReference: Bool
    /// Whether the encoder dropped the frame deliberately, for example to keep its bitrate.
    public var isDropped: Bool
    /// The new format description, if it changed since ``EncoderProperties/formatDescription``.
    public var formatDescription: FormatDescription?

    /// Makes a coded frame.
    public init(
        number: Int64,
        data: CodedData,
        isKeyFrame: Bool,
        isReference: Bool,
        isDropped: Bool = false,
        formatDescription: FormatDescription? = nil
    ) {
        self.number = number
        self.data = data
        self.isKeyFrame = isKeyFrame
        self.isReference = isReference
        self.isDropped = isDropped
        self.formatDescription = formatDescription
    }
}
