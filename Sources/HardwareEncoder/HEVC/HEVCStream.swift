// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import GOPPlanning
internal import MediaTypes

/// The properties of an HEVC stream that are determined before its first picture: profile, tier, level and parameter
/// sets, derived from the request and the capabilities of the encoder.
struct HEVCStream: CodedStream {
    typealias Coder = HEVCCoder

    static let codec = VideoCodec.hevc
    static let codecName = "HEVC"
    static let profiles = VideoProfile.allCases.filter { $0.codec == .hevc }

    let configuration: EncoderConfiguration
    let profile: VideoProfile
    let level: HEVCLevel
    let tools: HEVCTools
    let rateLimit: RateLimit?
    let video: HEVCVideoParameterSet
    let sequence: HEVCSequenceParameterSet
    let picture: HEVCPictureParameterSet
    let adjustments: [Adjustment]

    /// The number of bits at which picture order counts wrap: enough for any group of B-frames, and small enough for
    /// short slice headers. Long-term references are identified with all bits.
    static let orderCountBits = 8

    init(
        _ configuration: EncoderConfiguration,
        _ traits: StreamTraits,
        _ tools: HEVCTools
    ) throws(MediaError) {
        self.configuration = configuration
        self.tools = tools
        profile = try Self.profile(configuration, among: traits.profiles)
        var adjustments: [Adjustment] = []
        let (asked, used) = (configuration.bitDepth, Self.pixelFormat(profile, configuration).bitDepth)
        if asked != used {
            let reason = "profile \(profile.rawValue) requires a bit depth of \(used)"
            adjustments.append(
                Adjustment(property: "bit depth", requested: "\(asked)", used: "\(used)", reason: reason)
            )
        }
        if configuration.entropyMode == .cavlc {
            let reason = "HEVC supports CABAC only"
            adjustments.append(Adjustment(property: "entropy", requested: "cavlc", used: "cabac", reason: reason))
        }
        rateLimit = Self.codableRate(configuration, &adjustments)
        level = try Self.level(configuration, traits, tools, rateLimit)
        let general = Self.general(profile, level)
        video = Self.video(general, traits)
        var sequence = try Self.sequence(configuration, traits, tools, profile, video)
        sequence.vui = Self.usability(configuration, traits, rateLimit, &adjustments)
        self.sequence = sequence
        picture = Self.picture(traits, tools)
        self.adjustments = adjustments
    }

    var profileName: String { sequence.profileName }
    var levelName: String { level.name }
    var levelLimit: RateLimit { level.maximumRate(in: profile) }
    var codedSize: PictureSize { sequence.codedSize }
    var initialQuantizer: Int { 26 + Int(picture.initQpMinus26) }

    /// The sequence parameters have no conformance window: drivers that write headers crop to the size of the context.
    func contextSize(hasPackedHeaders: Bool) -> PictureSize { hasPackedHeaders ? codedSize : sequence.displaySize }

    /// The format of the profile for Main and Main 10, otherwise that of the configuration.
    static func pixelFormat(_ profile: VideoProfile, _ configuration: EncoderConfiguration) -> PixelFormat {
        let isExtended = profile.isRangeExtension
        let depth = isExtended ? configuration.bitDepth : profile.maximumBitDepth
        let format = PixelFormat.preferred(isExtended ? configuration.chromaFormat : .yuv420, bitDepth: depth)
        return format == .i420 ? .nv12 : format ?? .nv12
    }

    /// Slightly more than the size of the samples; a larger picture is submitted again with a larger buffer. Slices
    /// have headers, and constant bitrates add filler data.
    var largestPicture: Int {
        let samples = sequence.chromaFormatIdc.sampleCount(luma: codedSize.width * codedSize.height)
        return samples * sequence.lumaBitDepth / 8 * 25 / 24 + (rateLimit?.bufferSize ?? 0) / 8 + 65536
    }

    func parameterSets() throws(MediaError) -> [[UInt8]] {
        do throws(BitstreamError) {
            return [try video.nalUnit(), try sequence.nalUnit(), try picture.nalUnit()]
        } catch {
            throw MediaError(.creationFailed, "the parameter sets cannot be written: \(error)")
        }
    }
}

// MARK: - Profile and level

extension HEVCStream {
    /// Returns the requested profile, otherwise the one for the bit depth.
    static func profile(
        _ configuration: EncoderConfiguration,
        among profiles: [VideoProfile]
    ) throws(MediaError) -> VideoProfile {
        let wanted = configuration.leastHEVCProfile
        if profiles.contains(wanted) { return wanted }
        let available = Self.profiles.filter { profiles.contains($0) }
        throw MediaError(
            .unsupported,
            "the encoder does not support the profile",
            given: wanted.rawValue,
            allowed: available.map(\.rawValue).joined(separator: ", "),
            cause: .profileMissing
        )
    }

    static func limits(
        _ configuration: EncoderConfiguration,
        _ profile: VideoProfile,
        _ tools: HEVCTools
    ) -> DeviceSettlement.CodecLimits {
        let rate = highestRate(configuration, rateLimit(configuration))
        let lowest = HEVCLevel.all.first { takes($0, configuration, tools, rate) }
        let size = tools.codedSize(width: configuration.width, height: configuration.height)
        let level = configuration.hevcLevel ?? lowest
        return DeviceSettlement.CodecLimits(
            hasBFrames: true,
            pictures: max(1, level?.decodedPictures(width: size.width, height: size.height) ?? 15),
            level: configuration.hevcLevel?.name,
            slices: configuration.hevcLevel?.maximumSlices
        )
    }

    func takes(_ configuration: EncoderConfiguration, _ rateLimit: RateLimit?) -> Bool {
        Self.takes(level, configuration, tools, Self.highestRate(configuration, rateLimit))
    }

    /// Returns whether a level allows the size, rate, number of other pictures in the buffer and number of slices.
    private static func takes(
        _ level: HEVCLevel,
        _ configuration: EncoderConfiguration,
        _ tools: HEVCTools,
        _ rate: RateLimit,
        pictures: Int = 0,
        slices: Int = 1
    ) -> Bool {
        let (width, height) = tools.codedSize(width: configuration.width, height: configuration.height)
        return level.reasonAgainst(width: width, height: height, frameRate: configuration.frameRate) == nil
            && level.decodedPictures(width: width, height: height) >= pictures
            && level.maximumSlices >= slices
            && level.reasonAgainst(rate, in: configuration.leastHEVCProfile) == nil
    }

    /// Returns the requested level, otherwise the lowest one for the size, rate, slices and reference pictures, in the
    /// Main tier if possible.
    private static func level(
        _ configuration: EncoderConfiguration,
        _ traits: StreamTraits,
        _ tools: HEVCTools,
        _ rateLimit: RateLimit?
    ) throws(MediaError) -> HEVCLevel {
        let rate = highestRate(configuration, rateLimit)
        let (pictures, slices) = (traits.referenceFrames, traits.slices)
        let candidates = configuration.hevcLevel.map { [$0] } ?? HEVCLevel.all
        let level = candidates.first {
            takes($0, configuration, tools, rate, pictures: pictures, slices: slices)
        }
        if let level { return level }
        throw MediaError(
            .invalidArgument,
            "the stream exceeds level \(configuration.hevcLevel?.name ?? "6.2-high")",
            given: "\(rate.bitsPerSecond) bit/s, a buffer of \(rate.bufferSize) bits, \(pictures) reference pictures, "
                + "\(slices) slices",
            allowed: "the limits of tables A.8 to A.10"
        )
    }

    // HEVC A.3.2, A.3.3, A.3.5 and A.4.1
    private static func general(_ profile: VideoProfile, _ level: HEVCLevel) -> HEVCProfileTierLevel {
        var result = HEVCProfileTierLevel()
        result.general = profile.hevcProfile ?? result.general
        result.general.tierFlag = level.isHighTier
        result.general.progressiveSourceFlag = true
        result.general.frameOnlyConstraintFlag = true
        result.generalLevelIdc = UInt32(level.levelIDC)
        return result
    }
}

// MARK: - Parameter sets

extension HEVCStream {
    private static func video(_ general: HEVCProfileTierLevel, _ traits: StreamTraits) -> HEVCVideoParameterSet {
        var set = HEVCVideoParameterSet()
        let upperLayers = traits.temporalLayers - 1
        set.vpsMaxSubLayersMinus1 = UInt32(clamping: upperLayers)
        set.profileTierLevel = general
        set.profileTierLevel.subLayers = Array(repeating: .init(), count: upperLayers)
        // The requirements of the highest layer suffice for the lower layers, because it includes all of their
        // pictures.
        set.subLayerOrdering.isPresentForEachSubLayer = false
        set.subLayerOrdering.subLayers[0].maxDecPicBufferingMinus1 = UInt32(clamping: traits.referenceFrames)
        set.subLayerOrdering.subLayers[0].maxNumReorderPics = UInt32(clamping: traits.reorderDepth)
        return set
    }

    private static func sequence(
        _ configuration: EncoderConfiguration,
        _ traits: StreamTraits,
        _ tools: HEVCTools,
        _ profile: VideoProfile,
        _ video: HEVCVideoParameterSet
    ) throws(MediaError) -> HEVCSequenceParameterSet {
        var set = HEVCSequenceParameterSet()
        set.spsMaxSubLayersMinus1 = video.vpsMaxSubLayersMinus1
        set.profileTierLevel = video.profileTierLevel
        set.subLayerOrdering = video.subLayerOrdering
        let format = pixelFormat(profile, configuration)
        set.chromaFormatIdc = format.chromaFormat
        let size = tools.codedSize(width: configuration.width, height: configuration.height)
        set.picWidthInLumaSamples = UInt32(clamping: size.width)
        set.picHeightInLumaSamples = UInt32(clamping: size.height)
        do throws(BitstreamError) {
            try set.setDisplaySize(PictureSize(width: configuration.width, height: configuration.height))
        } catch {
            throw MediaError(.invalidArgument, "the size cannot be coded: \(error)")
        }
        let depth = UInt32(format.bitDepth - 8)
        (set.bitDepthLumaMinus8, set.bitDepthChromaMinus8) = (depth, depth)
        set.log2MaxPicOrderCntLsbMinus4 = UInt32(orderCountBits - 4)
        set.log2MinLumaCodingBlockSizeMinus3 = UInt32(tools.minCbLog2Size - 3)
        set.log2DiffMaxMinLumaCodingBlockSize = UInt32(tools.ctbLog2Size - tools.minCbLog2Size)
        set.log2MinLumaTransformBlockSizeMinus2 = UInt32(tools.minTbLog2Size - 2)
        set.log2DiffMaxMinLumaTransformBlockSize = UInt32(tools.maxTbLog2Size - tools.minTbLog2Size)
        set.maxTransformHierarchyDepthInter = UInt32(tools.interDepth)
        set.maxTransformHierarchyDepthIntra = UInt32(tools.intraDepth)
        set.ampEnabledFlag = tools.hasAsymmetricPartitions
        set.sampleAdaptiveOffsetEnabledFlag = tools.hasAdaptiveOffset
        set.spsTemporalMvpEnabledFlag = tools.hasTemporalPrediction
        set.strongIntraSmoothingEnabledFlag = tools.hasStrongSmoothing
        if traits.longTermReferences > 0 { set.longTermReferencePictures = [] }
        return set
    }

    private static func picture(_ traits: StreamTraits, _ tools: HEVCTools) -> HEVCPictureParameterSet {
        var set = HEVCPictureParameterSet()
        set.signDataHidingEnabledFlag = tools.hidesSigns
        set.numRefIdxL0DefaultActiveMinus1 = UInt32(clamping: traits.activeReferences[0] - 1)
        // Without B pictures, list 1 belongs to P pictures, if they have one.
        let ofP = min(tools.generalizedList1Limit, traits.activeReferences[0])
        let list1 = traits.reorderDepth == 0 && ofP > 0 ? ofP : traits.activeReferences[1]
        set.numRefIdxL1DefaultActiveMinus1 = UInt32(clamping: list1 - 1)
        set.initQpMinus26 = Int32(clamping: traits.initialQuantizer - 26)
        set.constrainedIntraPredFlag = traits.constrainsIntra && tools.canConstrainIntra
        set.transformSkipEnabledFlag = tools.skipsTransforms
        if tools.mustChangeQuantizers || traits.changesQuantizers && tools.canChangeQuantizers {
            set.diffCuQpDeltaDepth = 0
        }
        set.ppsLoopFilterAcrossSlicesEnabledFlag = traits.slices > 1
        set.listsModificationPresentFlag = traits.longTermReferences > 0
        return set
    }

    private static func usability(
        _ configuration: EncoderConfiguration,
        _ traits: StreamTraits,
        _ rateLimit: RateLimit?,
        _ adjustments: inout [Adjustment]
    ) -> HEVCVideoUsability {
        var usability = HEVCVideoUsability()
        usability.signal = VideoSignal(configuration, &adjustments)
        let rate = configuration.frameRate.reduced
        usability.timing = HEVCTiming(
            numUnitsInTick: UInt32(clamping: rate.denominator),
            timeScale: UInt32(clamping: rate.numerator)
        )
        // With sub-layers, each of their rates would have to be observed.
        if let rateLimit, traits.sendsTiming, traits.temporalLayers == 1 {
            let isConstant = if case .constantBitRate = configuration.rateControl { true } else { false }
            let isFixed = !configuration.isFrameRateVariable
            usability.hrd = referenceDecoder(rateLimit, isConstant: isConstant, isFixed: isFixed)
            // The order count increases by one per picture. It is also set because Mesa parses an HRD only after it.
            if isFixed { usability.timing?.numTicksPocDiffOneMinus1 = 0 }
        }
        return usability
    }

    private static func referenceDecoder(
        _ limit: RateLimit,
        isConstant: Bool,
        isFixed: Bool
    ) -> HEVCReferenceDecoder {
        var common = HEVCReferenceDecoder.Common()
        common.nalHrdParametersPresentFlag = true
        // Buffering periods begin with IDR pictures, whose distance can be as long as a session.
        common.auCpbRemovalDelayLengthMinus1 = 31
        let scaled = limit.scaled
        (common.bitRateScale, common.cpbSizeScale) = (scaled.rateScale, scaled.sizeScale)
        var schedule = HEVCReferenceDecoder.Schedule()
        schedule.bitRateValueMinus1 = scaled.rate - 1
        schedule.cpbSizeValueMinus1 = scaled.size - 1
        schedule.cbrFlag = isConstant
        var layer = HEVCReferenceDecoder.SubLayer()
        // Not the general flag, which applies to the whole stream and implies this one (HEVC E.3.2): Mesa does not
        // infer this one and parses everything after it one element too early.
        layer.fixedPicRateWithinCvsFlag = isFixed
        layer.nalSchedules = [schedule]
        var decoder = HEVCReferenceDecoder()
        (decoder.common, decoder.subLayers) = (common, [layer])
        return decoder
    }
}
