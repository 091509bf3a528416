// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import VAAPI

/// The properties of individual drivers that VA-API does not report, or that they report wrongly. Without quirks, a
/// driver behaves as `va.h` specifies.
struct Quirks: Hashable, Sendable {
    /// The reason why the driver is not used at all.
    var refusal: String?
    /// The bits of `VACodedBufferSegment.status` that describe the picture.
    var statusMask: UInt32 = .max
    /// Whether a coded buffer that is completely full contains no picture.
    var fullBufferIsUnused = false
    /// The reason why no quality level is sent, although the driver lists some.
    var noQualityLevels: String?
    /// The number of listed slices at which an EncSlice encoder still receives quality levels.
    var slicesWithQualityLevels: Int?
    /// The highest frame rate that its rate control supports, in frames per second; `nil` for any.
    var frameRateLimit: Double?
    /// The values to send for quality levels, the first for level 1; `nil` for the level itself.
    var qualityValues: [Int]?
    /// The largest denominator of a frame rate, up to 65535.
    var frameRateDenominatorLimit = 65535
    /// The `window_size` in AVBR mode if it is not in milliseconds; `nil` if it is.
    var averageWindow: Int?

    /// Whether the driver uses the quantizer of the picture parameters and ignores that of the slices.
    var ignoresSliceQuantizers = false
    /// Whether it imports memory correctly only if all planes have the same pitch, begin at a row and share one memory
    /// object; otherwise, it accepts the memory and reads from wrong positions.
    var importsEvenPlanesOnly = false
    /// The vendor (`DRM_FORMAT_MOD_VENDOR_*`) whose format modifiers the driver can read, if it accepts memory with any
    /// modifier and misreads that of other vendors; `nil` if it refuses what it cannot read.
    var readModifierVendor: UInt8?
    /// The rate control modes in which a change of rate or quality has no effect until a new encoder is created.
    var unchangeableModes: RateControlModes = []
    /// Whether a change of quality has no effect while rates are unchanged.
    var ignoresChangedQuality = false
    /// The maximum number of pictures at the driver at a time; `nil` for no limit.
    var framesInFlightLimit: Int?
    /// The highest `initial_buffer_fullness`, in bits.
    var fullnessLimit = Int(UInt32.max)

    /// The alignment of coded HEVC pictures.
    var hevcAlignment = PictureAlignment(width: 1, height: 1)
    /// Whether the quantizer range applies only to the picture with which it is sent.
    var forgetsQuantizerRange = false
    /// Whether a B-frame must not be a reference of another B-frame.
    var refusesBFrameReferences = false
    /// The maximum number of references in list 0 with B-frames; `nil` for the listed number.
    var list0LimitBesideBFrames: Int?
    /// Whether all slices have temporal layer 0.
    var lacksTemporalLayers = false
    /// The allowed quantizer differences of regions of interest with low power and rate control, if the driver lists at
    /// most three regions and controls macroblocks individually; `nil` for any.
    var fewRegionsOffsets: ClosedRange<Int>?
    /// The side of the blocks in which intra refresh waves are counted.
    var refreshBlock = 16
    /// Whether constrained intra prediction is wrong with rate control.
    var cannotConstrainIntraWithRates = false
    /// The slice structures that the driver lists but does not observe.
    var unkeptSliceStructures: SliceStructures = []
    /// The side of the blocks in which regions of interest are counted; partial blocks are not included.
    var regionBlock = 1

    /// Creates the quirks of a driver that behaves as `va.h` specifies.
    init() {}

    /// Collects the known quirks of the driver with a vendor string (`vaQueryVendorString`) for a codec.
    init(vendor: String, codec: VideoCodec) {
        for quirk in Self.table where quirk.concerns(vendor, codec) { quirk.change(&self) }
    }
}

extension RatePlan {
    /// Returns the plan with the values that a driver expects.
    func adapted(to quirks: Quirks) -> RatePlan {
        var plan = self
        if mode == .avbr, let window = quirks.averageWindow { plan.target?.window = window }
        return plan
    }
}
