// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax

/// The settings of an encoder. They are the same for every encoder, hardware or software.
///
/// The defaults are those of a phone's camera app: 1080x1920, 5000x1024 bit/s, 30 frames per second, a key frame every
/// five seconds, with B-frames.
public struct EncoderConfiguration: Sendable, Hashable {
    /// The width of the coded video in luma samples; must be even.
    public var width: Int
    /// The height of the coded video in luma samples; must be even.
    public var height: Int
    /// The codec.
    public var codec: CodecSelection = .automatic
    /// The profile; `nil` selects one that suits the other settings.
    public var profile: VideoProfile?
    /// The level, if the codec is H.264; `nil` selects the lowest level that the stream conforms to. If set without
    /// ``hevcLevel``, an automatic codec selection chooses H.264.
    public var h264Level: H264Level?
    /// The level and tier, if the codec is HEVC; `nil` selects the lowest level that the stream conforms to. If set
    /// without ``h264Level``, an automatic codec selection chooses HEVC.
    public var hevcLevel: HEVCLevel?
    /// The chroma subsampling: 4:2:0, or for HEVC also 4:2:2 and 4:4:4, for which an automatic codec selection chooses
    /// HEVC.
    public var chromaFormat = ChromaFormat.yuv420
    /// The bit depth of the samples: 8, 10, or for HEVC also 12, for which an automatic codec selection chooses HEVC.
    public var bitDepth = 8
    /// Whether a bit depth of 10 is a preference, for example because the source has it: HEVC encoders use 10 bits,
    /// H.264 encoders use 8 bits and report the difference.
    package var prefersBitDepth = false
    /// The frame rate in frames per second. For a variable frame rate, the nominal rate, on which rate control and
    /// levels are based.
    public var frameRate = Rational(30)
    /// Whether the time between frames varies.
    public var isFrameRateVariable = false
    /// The rate control mode with its target.
    public var rateControl = RateControl.averageBitRate(5000 * 1024)
    /// The maximum distance between key frames.
    public var keyFrameInterval = KeyFrameInterval(duration: MediaTime(value: 5, timescale: 1))
    /// Whether B-frames may refer across a non-IDR I-frame. Every key frame that a session returns is an IDR picture.
    public var allowsOpenGOP = false
    /// Whether B-frames are used, and how many.
    public var bFrames = BFrames.automatic
    /// Whether B-frames may be used as references. With more than one temporal layer (``temporalLayers``), they are
    /// not.
    public var allowsBPyramid = true
    /// The entropy coding mode of H.264.
    public var entropyMode = EntropyMode.automatic
    /// The colour description of the coded video; `nil` uses the one of the first picture.
    public var color: ColorDescription?
    /// The pixel aspect ratio (width to height) of the coded video; `nil` derives it from the first picture and
    /// ``scaling``.
    public var pixelAspectRatio: Rational?
    /// The display on which HDR content was mastered, written as an SEI message.
    public var masteringDisplay: MasteringDisplay?
    /// The light levels of HDR content, written as an SEI message.
    public var contentLight: ContentLightLevel?
    /// Whether every access unit begins with an access unit delimiter.
    public var accessUnitDelimiters = false
    /// Whether every frame is coded immediately, without lookahead and reordering.
    public var isLowLatency = false
    /// The number of slices of a picture, 1...256. An encoder that does not support this number uses a close one and
    /// reports it.
    public var slices = 1
    /// Whether a wave of intra blocks sweeps across the picture during each key-frame interval, in place of key frames.
    /// Pictures then have similar sizes, which suits links with a constant rate. Only the first frame and forced frames
    /// are key frames. Intra refresh requires a key-frame interval, and excludes B-frames, open GOPs and temporal
    /// layers.
    public var usesIntraRefresh = false
    /// The number of temporal layers, 1...3. Discarding the frames of the upper layers leaves a stream with half, or a
    /// quarter, of the frame rate. If there are B-frames, they form the upper layers: one B-frame in a row for two
    /// layers, three in a row for three. If ``bFrames`` allows more, exactly this number is used; if it allows fewer,
    /// there are no B-frames. Both are reported.
    public var temporalLayers = 1
    /// The number of long-term references that ``FrameOptions/longTermReference`` can mark, 0...15.
    public var longTermReferences = 0
    /// The maximum size of a coded frame in bytes; `nil` for no limit.
    public var maximumFrameSize: Int?
    /// The quantizers that rate control may choose from, within 0...51; `nil` leaves the range to the encoder. A
    /// constant quantizer must be inside this range.
    public var quantizerRange: ClosedRange<Int>?
    /// The fullness of the decoder's buffer when it removes the first frame, as a fraction of the buffer size, 0...1;
    /// `nil` leaves it to the encoder. It applies only with a peak limit or a constant bitrate.
    public var initialBufferFullness: Double?
    /// How pictures of another size are fitted into the coded size.
    public var scaling = ScalingMode.letterbox
    /// Settings for software encoders only.
    public var software = SoftwareEncoderOptions()
    /// Settings for hardware encoders only.
    public var hardware = HardwareEncoderOptions()

    /// Makes a configuration with default settings, which can be changed afterwards.
    public init(width: Int = 1080, height: Int = 1920) {
        self.width = width
        self.height = height
    }
}

/// The choice of a codec.
public enum CodecSelection: String, Sendable, Hashable, CaseIterable {
    /// HEVC if the hardware can encode it, otherwise H.264.
    case automatic = "auto"
    /// H.264.
    case h264
    /// HEVC.
    case hevc
}

/// A profile of H.264 or HEVC that this package encodes.
public enum VideoProfile: String, Sendable, Hashable, CaseIterable {
    /// H.264 constrained baseline: no B-frames, no CABAC.
    case h264Baseline = "baseline"
    /// H.264 main.
    case h264Main = "main"
    /// H.264 high.
    case h264High = "high"
    /// H.264 high 10.
    case h264High10 = "high10"
    /// HEVC main.
    case hevcMain = "hevc-main"
    /// HEVC main 10.
    case hevcMain10 = "hevc-main10"
    /// HEVC main 12.
    case hevcMain12 = "hevc-main12"
    /// HEVC main 4:2:2 10, also for 8-bit 4:2:2.
    case hevcMain422Bits10 = "hevc-main422-10"
    /// HEVC main 4:2:2 12.
    case hevcMain422Bits12 = "hevc-main422-12"
    /// HEVC main 4:4:4 (8-bit).
    case hevcMain444 = "hevc-main444"
    /// HEVC main 4:4:4 10.
    case hevcMain444Bits10 = "hevc-main444-10"
    /// HEVC main 4:4:4 12.
    case hevcMain444Bits12 = "hevc-main444-12"

    /// The codec of the profile.
    public var codec: VideoCodec {
        switch self {
        case .h264Baseline, .h264Main, .h264High, .h264High10: .h264
        case .hevcMain, .hevcMain10, .hevcMain12, .hevcMain422Bits10, .hevcMain422Bits12, .hevcMain444,
            .hevcMain444Bits10, .hevcMain444Bits12:
            .hevc
        }
    }

    /// The maximum bit depth of the profile.
    public var maximumBitDepth: Int {
        switch self {
        case .h264Baseline, .h264Main, .h264High, .hevcMain, .hevcMain444: 8
        case .h264High10, .hevcMain10, .hevcMain422Bits10, .hevcMain444Bits10: 10
        case .hevcMain12, .hevcMain422Bits12, .hevcMain444Bits12: 12
        }
    }

    /// The chroma format with the most chroma samples that the profile supports.
    public var chromaFormat: ChromaFormat {
        switch self {
        case .h264Baseline, .h264Main, .h264High, .h264High10, .hevcMain, .hevcMain10, .hevcMain12: .yuv420
        case .hevcMain422Bits10, .hevcMain422Bits12: .yuv422
        case .hevcMain444, .hevcMain444Bits10, .hevcMain444Bits12: .yuv444
        }
    }

    /// Whether it is one of HEVC's format range extensions profiles (HEVC A.3.5).
    public var isRangeExtension: Bool {
        codec == .hevc && self != .hevcMain && self != .hevcMain10
    }

    /// The lowest HEVC profile with the given chroma format and bit depth; `nil` if there is none.
    package static func hevc(_ chroma: ChromaFormat, bitDepth: Int) -> VideoProfile? {
        allCases.first {
            $0.codec == .hevc && $0.chromaFormat >= chroma && $0.maximumBitDepth >= bitDepth
        }
    }

    /// Whether it is H.264 constrained baseline, which has neither B-frames nor CABAC.
    public var isBaseline: Bool { self == .h264Baseline }
}

/// The maximum distance between key frames; whichever limit is reached first applies. Encoders may insert additional
/// key frames, as x264 does at scene changes. Without limits, the only key frames are those, the first frame and forced
/// ones.
public struct KeyFrameInterval: Sendable, Hashable {
    /// The maximum number of frames from one key frame to the next; 1 makes every frame a key frame, `nil` sets no
    /// limit.
    public var frames: Int?
    /// The maximum time from one key frame to the next; `nil` for no limit.
    public var duration: MediaTime?

    /// Makes an interval.
    public init(frames: Int? = nil, duration: MediaTime? = nil) {
        self.frames = frames
        self.duration = duration
    }

    /// The limit as a number of frames at a constant frame rate, at least 1; `nil` if there is no limit. An invalid
    /// duration, and any duration with a frame rate that is not positive, sets no limit.
    public func frameCount(at frameRate: Rational) -> Int? {
        [frames, duration.flatMap { Self.frames(in: $0, at: frameRate) }].compactMap(\.self).min().map { max(1, $0) }
    }

    private static func frames(in duration: MediaTime, at frameRate: Rational) -> Int? {
        guard duration.isValid, frameRate.isPositive else { return nil }
        let top = Int128(duration.value) * Int128(frameRate.numerator)
        return Int(clamping: top / (Int128(duration.timescale) * Int128(frameRate.denominator)))
    }
}

/// Whether an encoder uses B-frames, and how many in a row.
public enum BFrames: Sendable, Hashable {
    /// No B-frames: frames are returned in input order.
    case off
    /// The number that the encoder and its preset choose; none with the baseline profile, low latency or intra refresh,
    /// which exclude B-frames.
    case automatic
    /// At most this number in a row, 1...16.
    case maximum(Int)
}

/// The entropy coding mode of H.264.
public enum EntropyMode: String, Sendable, Hashable, CaseIterable {
    /// CABAC unless the profile or the tuning excludes it.
    case automatic = "auto"
    /// Context-adaptive variable-length coding.
    case cavlc
    /// Context-adaptive binary arithmetic coding.
    case cabac
}

/// Settings for x264 and x265 only.
public struct SoftwareEncoderOptions: Sendable, Hashable {
    /// The trade-off between speed and compression.
    public enum Preset: String, Sendable, Hashable, CaseIterable {
        /// The fastest preset, with the lowest compression.
        case ultrafast
        /// The second fastest.
        case superfast
        /// Suits live encoding on few cores.
        case veryfast
        /// Faster than `fast`.
        case faster
        /// Slightly faster than `medium`.
        case fast
        /// The default.
        case medium
        /// Slower, with better compression.
        case slow
        /// Slower than `slow`.
        case slower
        /// Suits archives.
        case veryslow
        /// The slowest preset, with hardly better compression than `veryslow`.
        case placebo
    }

    /// The content or purpose that the encoder is tuned for.
    public enum Tuning: String, Sendable, Hashable, CaseIterable {
        /// Live action.
        case film
        /// Cartoons.
        case animation
        /// Film grain that should be preserved.
        case grain
        /// Still pictures.
        case stillimage
        /// The highest PSNR.
        case psnr
        /// The highest SSIM.
        case ssim
        /// Decoders with little computing power.
        case fastdecode
        /// No delay between a frame and its sample.
        case zerolatency
    }

    /// The newest of the processor's vector instructions that an encoder may use.
    public enum InstructionSet: String, Sendable, Hashable, CaseIterable {
        /// All that both the encoder and the processor support.
        case automatic = "auto"
        /// Up to AVX2, on x86 processors.
        case avx2
        /// SSE2 and older, which every x86-64 processor supports.
        case sse2
    }

    /// The trade-off between speed and compression.
    public var preset = Preset.medium
    /// The tuning, if any.
    public var tuning: Tuning?
    /// The number of threads; 0 chooses one that suits the machine.
    public var threads = 0
    /// The newest vector instructions to use. Encoders round differently with different instructions, and x264 164 with
    /// AVX-512 does not always produce the same stream twice. A lower limit makes streams reproducible.
    public var instructionSet = InstructionSet.automatic

    /// Makes the default settings: `medium`, no tuning, automatic threads and instructions.
    public init() {}
}

/// Settings for encoders on a GPU only.
public struct HardwareEncoderOptions: Sendable, Hashable {
    /// Whether to use a GPU's low-power encoder (VA-API entrypoint `EncSliceLP`), which does not occupy the shaders.
    public enum LowPower: String, Sendable, Hashable, CaseIterable {
        /// The encoder that supports more of the request; the full encoder if both support the same.
        case automatic = "auto"
        /// The low-power encoder only.
        case required = "on"
        /// The full encoder only.
        case avoided = "off"
    }

    /// Which of the device's encoders to use.
    public var lowPower = LowPower.automatic
    /// The trade-off between speed and quality: VA-API's quality level ("target usage"), from 1, the best and slowest,
    /// to the driver's maximum; `nil` for the driver's default.
    public var qualityLevel: Int?
    /// The maximum number of frames that the device processes at a time, 1...16: more keep it busy, fewer reduce the
    /// delay. `nil` means 4, or 1 with ``EncoderConfiguration/isLowLatency``, which allows no more.
    public var framesInFlight: Int?
    /// Whether rate control may change the quantizer from macroblock to macroblock (`VA_RC_MB`); `nil` leaves it to the
    /// driver. Intel GPUs before Gen11 support regions of interest with bitrate control only if it is `true`.
    public var controlsMacroblocks: Bool?

    /// The accepted numbers of frames in flight.
    public static let allowedFramesInFlight = 1...16

    /// Makes the default settings: everything automatic.
    public init() {}
}
