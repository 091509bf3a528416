// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import VAAPI

/// What the code has to know of single drivers because VA-API does not tell it, or because they tell it wrongly.
/// Without quirks a driver does what `va.h` says.
struct Quirks: Hashable, Sendable {
    /// Why the driver is not used at all.
    var refusal: String?
    /// The bits of `VACodedBufferSegment.status` that say something of the picture.
    var statusMask: UInt32 = .max
    /// Whether a coded buffer that is as full as it can be holds no picture.
    var fullBufferIsUnused = false
    /// Why no quality level is sent, although the driver lists some.
    var noQualityLevels: String?
    /// How many slices an encoder with the entrypoint EncSlice lists whose quality levels are sent all the same.
    var slicesWithQualityLevels: Int?
    /// The highest frame rate that its rate control can count, in frames per second; `nil` for any.
    var frameRateLimit: Double?
    /// What is sent for the quality levels, the first for level 1; `nil` for the level itself.
    var qualityValues: [Int]?
    /// The highest denominator of a frame rate, up to 65535.
    var frameRateDenominatorLimit = 65535
    /// `window_size` in rate control AVBR, where it is not in milliseconds; `nil` where it is.
    var averageWindow: Int?

    /// Whether the quantizer of a picture is that of its picture parameters and that of its slices is not looked at.
    var ignoresSliceQuantizers = false
    /// Whether it takes memory of others for a surface only where planes have rows of one length and begin with one, in one
    /// memory; else it takes it and reads from elsewhere.
    var importsEvenPlanesOnly = false
    /// The vendor (`DRM_FORMAT_MOD_VENDOR_*`) whose format modifiers the driver reads, where it takes memory of any
    /// modifier and misreads that of other vendors; `nil` where it refuses what it cannot read.
    var readModifierVendor: UInt8?
    /// Modes of rate control in which a change of rate or quality is not followed until the encoder is made anew.
    var unchangeableModes: RateControlModes = []
    /// Whether a quality is not followed while rates stay as they are.
    var ignoresChangedQuality = false
    /// How many pictures may be at the driver at a time; `nil` for as many as are wanted.
    var framesInFlightLimit: Int?
    /// The highest `initial_buffer_fullness`, in bits.
    var fullnessLimit = Int(UInt32.max)

    /// What coded pictures of HEVC are multiples of.
    var hevcAlignment = PictureAlignment(width: 1, height: 1)
    /// Whether the range of quantizers holds for the picture only that it is sent with.
    var forgetsQuantizerRange = false
    /// Whether a B-frame must not be what another B-frame refers to.
    var refusesBFrameReferences = false
    /// The most references in list 0 beside B-frames; `nil` for as many as are listed.
    var list0LimitBesideBFrames: Int?
    /// Whether all slices leave in temporal layer 0.
    var lacksTemporalLayers = false
    /// The offsets that regions of interest may have with low power and controlled rates, where the driver lists three
    /// regions or less, and macroblocks are controlled one by one; `nil` for any.
    var fewRegionsOffsets: ClosedRange<Int>?
    /// The side of the blocks in which waves of intra refresh are counted.
    var refreshBlock = 16
    /// Whether intra prediction goes wrong where it is constrained while rates are controlled.
    var cannotConstrainIntraWithRates = false
    /// Slice structures that the driver lists and does not keep to.
    var unkeptSliceStructures: SliceStructures = []
    /// The side of the blocks in which regions of interest are counted; parts of a block are left out.
    var regionBlock = 1

    /// A driver that does what `va.h` says.
    init() {}

    /// What is known of the driver that calls itself so (`vaQueryVendorString`), as far as it concerns a codec.
    init(vendor: String, codec: VideoCodec) {
        for quirk in Self.table where quirk.concerns(vendor, codec) { quirk.change(&self) }
    }
}

extension RatePlan {
    /// The plan in the numbers that a driver reads.
    func adapted(to quirks: Quirks) -> RatePlan {
        var plan = self
        if mode == .avbr, let window = quirks.averageWindow { plan.target?.window = window }
        return plan
    }
}
