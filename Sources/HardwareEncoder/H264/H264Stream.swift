// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

/// The properties of an H.264 stream that are determined before its first picture: profile, level and parameter sets,
/// derived from the request and the capabilities of the encoder.
struct H264Stream: CodedStream {
    typealias Tools = H264Tools
    typealias Coder = H264Coder

    static let codec = VideoCodec.h264
    static let codecName = "H.264"
    static let profiles: [VideoProfile] = [.h264High, .h264Main, .h264Baseline]

    /// The validated configuration.
    let configuration: EncoderConfiguration
    let profile: VideoProfile
    let level: H264Level
    /// The rate and buffer limit that the encoder must observe and the stream may signal; `nil` for no limit.
    let rateLimit: RateLimit?
    let sequence: H264SequenceParameterSet
    let picture: H264PictureParameterSet
    /// The properties of the stream that differ from the request.
    let adjustments: [Adjustment]

    /// The number of bits at which frame numbers and picture order counts wrap: enough for any group of B-frames and
    /// for long-term references, and small enough for short slice headers.
    static let frameNumberBits = 8

    init(
        _ configuration: EncoderConfiguration,
        _ traits: StreamTraits,
        _ tools: H264Tools = H264Tools()
    ) throws(MediaError) {
        self.configuration = configuration
        profile = try Self.profile(configuration, among: traits.profiles)
        var adjustments: [Adjustment] = []
        let rateLimit = Self.codableRate(configuration, &adjustments)
        level = try Self.level(configuration, traits, profile, rateLimit)
        self.rateLimit = rateLimit
        let usesCABAC = Self.usesCABAC(configuration, tools, profile, &adjustments)
        var sequence = try Self.sequence(configuration, traits, profile, level)
        sequence.vui = Self.usability(configuration, traits, rateLimit, level, &adjustments)
        self.sequence = sequence
        picture = Self.picture(traits, tools, profile, usesCABAC: usesCABAC)
        self.adjustments = adjustments
    }

    var profileName: String { sequence.profileName }
    var levelName: String { level.name }
    var levelLimit: RateLimit { level.maximumRate(in: profile) }
    var codedSize: PictureSize { sequence.codedSize }
    /// The sequence parameters contain the cropping.
    func contextSize(hasPackedHeaders: Bool) -> PictureSize { codedSize }
    static func pixelFormat(_ profile: VideoProfile, _ configuration: EncoderConfiguration) -> PixelFormat { .nv12 }
    var initialQuantizer: Int { 26 + Int(picture.picInitQpMinus26) }

    /// An upper bound for the size of a coded picture in bytes. A macroblock has at most 3200 bits (H.264 A.3.1),
    /// slices have headers, and constant bitrates add filler data; drivers add little.
    var largestPicture: Int {
        let macroblocks = Int(sequence.picWidthInMbsMinus1 + 1) * Int(sequence.picHeightInMapUnitsMinus1 + 1)
        return macroblocks * 400 + (rateLimit?.bufferSize ?? 0) / 8 + 65536
    }

    /// Returns the parameter sets as NAL units.
    func parameterSets() throws(MediaError) -> [[UInt8]] {
        do throws(BitstreamError) {
            return [try sequence.nalUnit(), try picture.nalUnit()]
        } catch {
            throw MediaError(.creationFailed, "the parameter sets cannot be written: \(error)")
        }
    }
}

// MARK: - Profile and level

extension H264Stream {
    /// Returns the requested profile, otherwise the supported one with the most tools.
    static func profile(
        _ configuration: EncoderConfiguration,
        among profiles: [VideoProfile]
    ) throws(MediaError) -> VideoProfile {
        let available = Self.profiles.filter { profiles.contains($0) }
        if let asked = configuration.profile, available.contains(asked) { return asked }
        let needsMain = configuration.entropyMode == .cabac || configuration.bFrames.isDemanded
        let chosen = available.first { !needsMain || $0 != .h264Baseline }
        guard configuration.profile == nil, configuration.bitDepth == 8, let chosen else {
            throw MediaError(
                .unsupported,
                "the encoder does not support the profile",
                given: configuration.profile?.rawValue ?? "\(configuration.bitDepth) bits",
                allowed: available.map(\.rawValue).joined(separator: ", "),
                cause: .profileMissing
            )
        }
        return chosen
    }

    /// Returns the lowest level for size and rate, regardless of the number of reference pictures.
    static func lowestLevel(_ configuration: EncoderConfiguration, _ profile: VideoProfile) -> H264Level? {
        let rate = highestRate(configuration, rateLimit(configuration))
        return H264Level.all.first { takes($0, configuration, profile, rate) }
    }

    func takes(_ configuration: EncoderConfiguration, _ rateLimit: RateLimit?) -> Bool {
        Self.takes(level, configuration, profile, Self.highestRate(configuration, rateLimit))
    }

    static func limits(
        _ configuration: EncoderConfiguration,
        _ profile: VideoProfile,
        _ tools: H264Tools
    ) -> DeviceSettlement.CodecLimits {
        let (width, height) = (configuration.width, configuration.height)
        let level = configuration.h264Level ?? lowestLevel(configuration, profile)
        return DeviceSettlement.CodecLimits(
            hasBFrames: !profile.isBaseline,
            pictures: max(1, level?.decodedPictures(width: width, height: height) ?? 16),
            level: configuration.h264Level?.name,
            slices: configuration.h264Level.flatMap { maximumSlices($0, configuration, profile) }
        )
    }

    private static func maximumSlices(
        _ level: H264Level,
        _ configuration: EncoderConfiguration,
        _ profile: VideoProfile
    ) -> Int? {
        let (width, height) = (configuration.width, configuration.height)
        return level.maximumSlices(width: width, height: height, frameRate: configuration.frameRate, in: profile)
    }

    /// Returns whether a level allows the size, rate, number of reference pictures and number of slices.
    private static func takes(
        _ level: H264Level,
        _ configuration: EncoderConfiguration,
        _ profile: VideoProfile,
        _ rate: RateLimit,
        pictures: Int = 0,
        slices: Int = 1
    ) -> Bool {
        let (width, height) = (configuration.width, configuration.height)
        return level.reasonAgainst(width: width, height: height, frameRate: configuration.frameRate) == nil
            && level.decodedPictures(width: width, height: height) >= pictures
            && maximumSlices(level, configuration, profile) ?? .max >= slices
            && level.reasonAgainst(rate, in: profile) == nil
    }

    /// Returns the requested level, otherwise the lowest one for the size, rate, slices and reference pictures.
    private static func level(
        _ configuration: EncoderConfiguration,
        _ traits: StreamTraits,
        _ profile: VideoProfile,
        _ rateLimit: RateLimit?
    ) throws(MediaError) -> H264Level {
        let (pictures, slices) = (max(traits.referenceFrames, traits.reorderDepth), traits.slices)
        let rate = highestRate(configuration, rateLimit)
        let candidates = configuration.h264Level.map { [$0] } ?? H264Level.all
        let level = candidates.first {
            takes($0, configuration, profile, rate, pictures: pictures, slices: slices)
        }
        if let level { return level }
        throw MediaError(
            .invalidArgument,
            "the stream exceeds level \(configuration.h264Level?.name ?? "6.2")",
            given: "\(rate.bitsPerSecond) bit/s, a buffer of \(rate.bufferSize) bits, \(pictures) reference pictures, "
                + "\(slices) slices",
            allowed: "the limits of tables A-1 and A-4 for profile \(profile.rawValue)"
        )
    }

    private static func usesCABAC(
        _ configuration: EncoderConfiguration,
        _ tools: H264Tools,
        _ profile: VideoProfile,
        _ adjustments: inout [Adjustment]
    ) -> Bool {
        guard !profile.isBaseline, configuration.entropyMode != .cavlc else { return false }
        if configuration.entropyMode == .cabac, !tools.hasCABAC {
            let reason = "the encoder has no CABAC"
            adjustments.append(Adjustment(property: "entropy", requested: "cabac", used: "cavlc", reason: reason))
        }
        return tools.hasCABAC
    }
}

// MARK: - Rates

extension H264Stream {
    private static func referenceDecoder(_ limit: RateLimit, isConstant: Bool) -> H264ReferenceDecoder {
        var decoder = H264ReferenceDecoder()
        // Buffering periods begin with IDR pictures, whose distance can be as long as a session.
        decoder.cpbRemovalDelayLengthMinus1 = 31
        let scaled = limit.scaled
        decoder.bitRateScale = scaled.rateScale
        decoder.cpbSizeScale = scaled.sizeScale
        decoder.schedules[0].bitRateValueMinus1 = scaled.rate - 1
        decoder.schedules[0].cpbSizeValueMinus1 = scaled.size - 1
        decoder.schedules[0].cbrFlag = isConstant
        return decoder
    }
}

// MARK: - Parameter sets

extension H264Stream {
    private static func sequence(
        _ configuration: EncoderConfiguration,
        _ traits: StreamTraits,
        _ profile: VideoProfile,
        _ level: H264Level
    ) throws(MediaError) -> H264SequenceParameterSet {
        var set = H264SequenceParameterSet()
        set.setProfile(profile, level)
        set.log2MaxFrameNumMinus4 = UInt32(frameNumberBits - 4)
        set.log2MaxPicOrderCntLsbMinus4 = UInt32(frameNumberBits - 4)
        // Every driver supports type 0, and it does not restrict non-reference pictures.
        set.picOrderCntType = 0
        set.maxNumRefFrames = UInt32(clamping: traits.referenceFrames)
        set.picWidthInMbsMinus1 = UInt32(clamping: (configuration.width + 15) / 16 - 1)
        set.picHeightInMapUnitsMinus1 = UInt32(clamping: (configuration.height + 15) / 16 - 1)
        do throws(BitstreamError) {
            try set.setDisplaySize(PictureSize(width: configuration.width, height: configuration.height))
        } catch {
            throw MediaError(.invalidArgument, "the size cannot be coded: \(error)")
        }
        return set
    }

    private static func picture(
        _ traits: StreamTraits,
        _ tools: H264Tools,
        _ profile: VideoProfile,
        usesCABAC: Bool
    ) -> H264PictureParameterSet {
        var set = H264PictureParameterSet()
        set.entropyCodingModeFlag = usesCABAC
        set.numRefIdxL0DefaultActiveMinus1 = UInt32(clamping: traits.activeReferences[0] - 1)
        set.numRefIdxL1DefaultActiveMinus1 = UInt32(clamping: traits.activeReferences[1] - 1)
        set.picInitQpMinus26 = Int32(clamping: traits.initialQuantizer - 26)
        set.deblockingFilterControlPresentFlag = true
        set.constrainedIntraPredFlag = traits.constrainsIntra
        if profile == .h264High {
            set.high = H264PictureParameterSet.HighProfileElements()
            set.high?.transform8x8ModeFlag = tools.has8x8Transform
        }
        return set
    }

    private static func usability(
        _ configuration: EncoderConfiguration,
        _ traits: StreamTraits,
        _ rateLimit: RateLimit?,
        _ level: H264Level,
        _ adjustments: inout [Adjustment]
    ) -> H264VideoUsability {
        var usability = H264VideoUsability()
        usability.signal = VideoSignal(configuration, &adjustments)
        usability.timing = timing(configuration)
        if let rateLimit, traits.sendsTiming {
            let isConstant = if case .constantBitRate = configuration.rateControl { true } else { false }
            usability.nalHRD = referenceDecoder(rateLimit, isConstant: isConstant)
        }
        var restriction = H264VideoUsability.BitstreamRestriction()
        restriction.maxNumReorderFrames = UInt32(clamping: traits.reorderDepth)
        restriction.maxDecFrameBuffering = UInt32(clamping: max(traits.referenceFrames, traits.reorderDepth))
        usability.bitstreamRestriction = restriction
        return usability
    }

    /// A tick is half a frame (H.264 E.2.1).
    private static func timing(_ configuration: EncoderConfiguration) -> H264VideoUsability.Timing? {
        let rate = configuration.frameRate.reduced
        let (ticks, isTooLarge) = UInt32(clamping: rate.numerator).multipliedReportingOverflow(by: 2)
        if isTooLarge { return nil }
        return H264VideoUsability.Timing(
            numUnitsInTick: UInt32(clamping: rate.denominator),
            timeScale: ticks,
            fixedFrameRateFlag: !configuration.isFrameRateVariable
        )
    }
}

extension H264SequenceParameterSet {
    /// Sets the profile, the level and the corresponding constraint flags (H.264 A.2 and A.3).
    fileprivate mutating func setProfile(_ profile: VideoProfile, _ level: H264Level) {
        let isLevel1b = level.levelIDC == 9
        switch profile {
        case .h264Baseline:
            profileIdc = 66
            (constraintSet0Flag, constraintSet1Flag) = (true, true)
        case .h264Main:
            profileIdc = 77
            constraintSet1Flag = true
        default: profileIdc = 100
        }
        levelIdc = UInt32(level.levelIDC)
        if isLevel1b, profileIdc != 100 {
            levelIdc = 11
            constraintSet3Flag = true
        }
    }
}
