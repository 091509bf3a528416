// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax

/// What to encode and how: the same for every encoder, hardware or software.
///
/// The defaults are those of a phone's camera app: 1080x1920, 5000x1024 bit/s, 30 frames per second, a key frame every
/// five seconds, B-frames on.
public struct EncoderConfiguration: Sendable, Hashable {
    /// Width of the coded video in luma samples, even.
    public var width: Int
    /// Height of the coded video in luma samples, even.
    public var height: Int
    /// Which codec.
    public var codec: CodecSelection = .automatic
    /// Which profile; `nil` for the one that suits the other settings.
    public var profile: VideoProfile?
    /// Which level, if the codec is H.264; `nil` for the lowest that the stream keeps to. Without ``hevcLevel`` it makes
    /// H.264 the codec where that is open.
    public var h264Level: H264Level?
    /// Which level and tier, if the codec is HEVC; `nil` for the lowest that the stream keeps to. Without ``h264Level`` it
    /// makes HEVC the codec where that is open.
    public var hevcLevel: HEVCLevel?
    /// How densely chroma is sampled: 4:2:0, or with HEVC also 4:2:2 and 4:4:4, which make HEVC the codec where that is open.
    public var chromaFormat = ChromaFormat.yuv420
    /// Bits of a sample: 8, 10, or with HEVC also 12, which makes HEVC the codec where that is open.
    public var bitDepth = 8
    /// Whether ten bits are a wish, as of a source that has them: encoders of HEVC fulfil it, those of H.264 code eight bits
    /// and report it.
    package var prefersBitDepth = false
    /// Frames per second. For variable frame rate it is the nominal rate, on which rate control and levels are based.
    public var frameRate = Rational(30)
    /// Whether the time between frames differs.
    public var isFrameRateVariable = false
    /// How bits are spent.
    public var rateControl = RateControl.averageBitRate(5000 * 1024)
    /// How far key frames may be apart.
    public var keyFrameInterval = KeyFrameInterval(duration: MediaTime(value: 5, timescale: 1))
    /// Whether B-frames may refer across a non-IDR I-frame. Every key frame of a session's contract is an IDR.
    public var allowsOpenGOP = false
    /// Whether and how many B-frames.
    public var bFrames = BFrames.automatic
    /// Whether B-frames may serve as references. With more than one of ``temporalLayers`` none does.
    public var allowsBPyramid = true
    /// How H.264 codes its symbols.
    public var entropyMode = EntropyMode.automatic
    /// What the sample values of the coded video mean; `nil` for what the first picture says.
    public var color: ColorDescription?
    /// Width to height of one coded pixel; `nil` for what the scaling mode makes of the first picture.
    public var pixelAspectRatio: Rational?
    /// The display on which HDR content was mastered, written as SEI message.
    public var masteringDisplay: MasteringDisplay?
    /// Light levels of HDR content, written as SEI message.
    public var contentLight: ContentLightLevel?
    /// Whether every access unit begins with a delimiter NAL unit.
    public var accessUnitDelimiters = false
    /// Whether every frame is coded at once: no lookahead, no reordering.
    public var isLowLatency = false
    /// Into how many slices a picture is divided, 1...256. Encoders that cannot divide it so come near and report that.
    public var slices = 1
    /// Whether a wave of intra blocks goes over the picture from one key-frame interval to the next, instead of key
    /// frames: pictures of even size for a line of constant rate. Only the first and forced frames are key frames then.
    /// It needs a key-frame interval, and excludes B-frames, open groups and temporal layers.
    public var usesIntraRefresh = false
    /// Temporal layers, 1...3: who drops the frames of the upper ones has a stream of half, or a quarter, of the rate.
    /// With B-frames those are the upper layers: one in a row in two layers, three in three. Where ``bFrames`` asks for
    /// more there are so many, where it asks for fewer there are none, and either is reported.
    public var temporalLayers = 1
    /// How many long-term references can be marked by ``FrameOptions/longTermReference``, 0...15.
    public var longTermReferences = 0
    /// The most bytes of one coded frame; `nil` for no limit.
    public var maximumFrameSize: Int?
    /// The quantizers that rate control may choose from, within 0...51; `nil` leaves it to the encoder. A constant
    /// quantizer has to be one of them.
    public var quantizerRange: ClosedRange<Int>?
    /// How full the decoder's buffer is before the first frame is taken from it, 0...1 of its size; `nil` leaves it to
    /// the encoder. It has a meaning only with a limit on peaks or a constant rate.
    public var initialBufferFullness: Double?
    /// How pictures of another size are fitted in.
    public var scaling = ScalingMode.letterbox
    /// What concerns software encoders only.
    public var software = SoftwareEncoderOptions()
    /// What concerns hardware encoders only.
    public var hardware = HardwareEncoderOptions()

    /// Makes a configuration; everything that is not given can be set afterwards.
    public init(width: Int = 1080, height: Int = 1920) {
        self.width = width
        self.height = height
    }
}

/// Which codec to use.
public enum CodecSelection: String, Sendable, Hashable, CaseIterable {
    /// HEVC where the hardware has it, else H.264.
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
    /// HEVC main 4:2:2 10, also for 4:2:2 of 8 bits.
    case hevcMain422Bits10 = "hevc-main422-10"
    /// HEVC main 4:2:2 12.
    case hevcMain422Bits12 = "hevc-main422-12"
    /// HEVC main 4:4:4, of 8 bits.
    case hevcMain444 = "hevc-main444"
    /// HEVC main 4:4:4 10.
    case hevcMain444Bits10 = "hevc-main444-10"
    /// HEVC main 4:4:4 12.
    case hevcMain444Bits12 = "hevc-main444-12"

    /// The codec that the profile belongs to.
    public var codec: VideoCodec {
        switch self {
        case .h264Baseline, .h264Main, .h264High, .h264High10: .h264
        case .hevcMain, .hevcMain10, .hevcMain12, .hevcMain422Bits10, .hevcMain422Bits12, .hevcMain444,
            .hevcMain444Bits10, .hevcMain444Bits12:
            .hevc
        }
    }

    /// The highest bit depth.
    public var maximumBitDepth: Int {
        switch self {
        case .h264Baseline, .h264Main, .h264High, .hevcMain, .hevcMain444: 8
        case .h264High10, .hevcMain10, .hevcMain422Bits10, .hevcMain444Bits10: 10
        case .hevcMain12, .hevcMain422Bits12, .hevcMain444Bits12: 12
        }
    }

    /// The densest chroma.
    public var chromaFormat: ChromaFormat {
        switch self {
        case .h264Baseline, .h264Main, .h264High, .h264High10, .hevcMain, .hevcMain10, .hevcMain12: .yuv420
        case .hevcMain422Bits10, .hevcMain422Bits12: .yuv422
        case .hevcMain444, .hevcMain444Bits10, .hevcMain444Bits12: .yuv444
        }
    }

    /// Whether it is one of HEVC's format range extensions (HEVC A.3.5).
    public var isRangeExtension: Bool {
        codec == .hevc && self != .hevcMain && self != .hevcMain10
    }

    /// The least profile of HEVC with that chroma format and bit depth; `nil` if none has them.
    package static func hevc(_ chroma: ChromaFormat, bitDepth: Int) -> VideoProfile? {
        allCases.first {
            $0.codec == .hevc && $0.chromaFormat >= chroma && $0.maximumBitDepth >= bitDepth
        }
    }

    /// Whether it is H.264 constrained baseline, which has neither B-frames nor CABAC.
    public var isBaseline: Bool { self == .h264Baseline }
}

/// How far key frames may be apart; whichever limit is met first counts. Encoders may put key frames closer together,
/// as x264 does where it sees a new scene; with no limit those, the first frame and forced ones are all.
public struct KeyFrameInterval: Sendable, Hashable {
    /// At most so many frames from a key frame to the next, 1 for key frames only; `nil` for no limit.
    public var frames: Int?
    /// At most so much time from a key frame to the next; `nil` for no limit.
    public var duration: MediaTime?

    /// Makes an interval.
    public init(frames: Int? = nil, duration: MediaTime? = nil) {
        self.frames = frames
        self.duration = duration
    }

    /// The limit as whole frames of a constant rate, at least 1; `nil` if there is none. A duration that is invalid, or
    /// a rate that is not positive, limits nothing.
    public func frameCount(at frameRate: Rational) -> Int? {
        [frames, duration.flatMap { Self.frames(in: $0, at: frameRate) }].compactMap(\.self).min().map { max(1, $0) }
    }

    private static func frames(in duration: MediaTime, at frameRate: Rational) -> Int? {
        guard duration.isValid, frameRate.isPositive else { return nil }
        let top = Int128(duration.value) * Int128(frameRate.numerator)
        return Int(clamping: top / (Int128(duration.timescale) * Int128(frameRate.denominator)))
    }
}

/// Whether and how many B-frames an encoder may use in a row.
public enum BFrames: Sendable, Hashable {
    /// None: frames leave in the order in which they came.
    case off
    /// As many as the encoder and its preset find best; none with profile baseline, with low latency and with intra
    /// refresh, which exclude them.
    case automatic
    /// At most so many, 1...16.
    case maximum(Int)
}

/// How H.264 codes its symbols.
public enum EntropyMode: String, Sendable, Hashable, CaseIterable {
    /// CABAC unless the profile or the tuning excludes it.
    case automatic = "auto"
    /// Context-adaptive variable-length coding.
    case cavlc
    /// Context-adaptive binary arithmetic coding.
    case cabac
}

/// What concerns x264 and x265 only.
public struct SoftwareEncoderOptions: Sendable, Hashable {
    /// Speed against compression.
    public enum Preset: String, Sendable, Hashable, CaseIterable {
        /// The fastest, with the worst compression.
        case ultrafast
        /// The second fastest.
        case superfast
        /// For live encoding on few cores.
        case veryfast
        /// Faster than fast.
        case faster
        /// A bit faster than medium.
        case fast
        /// The default.
        case medium
        /// Slower, better.
        case slow
        /// Slower still.
        case slower
        /// For archives.
        case veryslow
        /// The slowest, hardly better than veryslow.
        case placebo
    }

    /// What the encoder is tuned for.
    public enum Tuning: String, Sendable, Hashable, CaseIterable {
        /// Live action.
        case film
        /// Cartoons.
        case animation
        /// Film grain that should stay.
        case grain
        /// Still pictures.
        case stillimage
        /// The highest PSNR.
        case psnr
        /// The highest SSIM.
        case ssim
        /// Decoders with little power.
        case fastdecode
        /// No delay between frame and sample.
        case zerolatency
    }

    /// Which of the processor's vector instructions an encoder uses at most.
    public enum InstructionSet: String, Sendable, Hashable, CaseIterable {
        /// All that it knows and the processor has.
        case automatic = "auto"
        /// Up to AVX2, of x86 processors.
        case avx2
        /// SSE2 and older, which every x86-64 processor has.
        case sse2
    }

    /// Speed against compression.
    public var preset = Preset.medium
    /// What to tune for, if anything.
    public var tuning: Tuning?
    /// How many threads; 0 for as many as suit the machine.
    public var threads = 0
    /// The vector instructions to use at most. Encoders round differently with others, and x264 164 with AVX-512 does
    /// not always give the same stream twice; a lower limit makes streams reproducible.
    public var instructionSet = InstructionSet.automatic

    /// Makes the defaults: medium, no tuning, automatic threads and instructions.
    public init() {}
}

/// What concerns encoders on a GPU only.
public struct HardwareEncoderOptions: Sendable, Hashable {
    /// Whether to use a GPU's low-power encoder (VA-API's entrypoint EncSliceLP), which leaves the shaders alone.
    public enum LowPower: String, Sendable, Hashable, CaseIterable {
        /// The one that does more of what was asked for; the full encoder if both do.
        case automatic = "auto"
        /// The low-power encoder or none.
        case required = "on"
        /// The full encoder or none.
        case avoided = "off"
    }

    /// Which of the device's encoders to use.
    public var lowPower = LowPower.automatic
    /// Speed against compression: VA-API's quality level ("target usage"), 1 for the best and slowest, up to what the
    /// driver has; `nil` for the driver's own.
    public var qualityLevel: Int?
    /// How many frames may be with the device at a time, 1...16: more keep it busy, fewer shorten the delay. `nil` for 1
    /// with ``EncoderConfiguration/isLowLatency``, which allows no more, else 4.
    public var framesInFlight: Int?
    /// Whether rate control may change the quantizer from macroblock to macroblock (`VA_RC_MB`); `nil` leaves it to the
    /// driver. Intel's GPUs before Gen11 take regions of interest while rates are controlled only if it is `true`.
    public var controlsMacroblocks: Bool?

    /// Frames in flight that are accepted.
    public static let allowedFramesInFlight = 1...16

    /// Makes the defaults: everything automatic.
    public init() {}
}
