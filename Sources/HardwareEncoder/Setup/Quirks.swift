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

/// One line of the table.
struct Quirk: Sendable {
    /// A part of the vendor string by which the driver is known.
    let driver: String
    /// The codec that it concerns; `nil` for all.
    let codec: VideoCodec?
    /// Names of chips, as the vendor string has them, one of which it concerns; empty for all.
    let chips: [String]
    /// The first version that it does not concern any more, as far as the vendor string tells it; `nil` for none yet.
    let firstWithout: [Int]?
    /// What the driver does.
    let what: String
    /// Why that matters.
    let why: String
    /// How it is known: where it was seen, or the place in the driver's own source.
    let source: String
    /// What is done about it.
    let change: @Sendable (inout Quirks) -> Void

    init(
        _ driver: String,
        _ codec: VideoCodec? = nil,
        on chips: [String] = [],
        before version: [Int]? = nil,
        what: String,
        why: String,
        source: String,
        change: @escaping @Sendable (inout Quirks) -> Void
    ) {
        self.driver = driver
        self.codec = codec
        self.chips = chips
        firstWithout = version
        (self.what, self.why, self.source, self.change) = (what, why, source, change)
    }

    /// Whether it concerns a driver and a codec.
    func concerns(_ vendor: String, _ codec: VideoCodec) -> Bool {
        guard self.codec == nil || self.codec == codec else { return false }
        guard vendor.contains(driver), chips.isEmpty || chips.contains(where: vendor.contains) else { return false }
        guard let firstWithout, let version = Self.version(in: vendor) else { return true }
        return version.lexicographicallyPrecedes(firstWithout)
    }

    /// The first word of a vendor string that is numbers with points between them, such as 22.3.6.
    static func version(in vendor: String) -> [Int]? {
        for word in vendor.split(whereSeparator: { !($0.isNumber || $0 == ".") }) {
            let numbers = word.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
            if numbers.count > 1, !numbers.contains(nil) { return numbers.compactMap(\.self) }
        }
        return nil
    }
}

extension Quirks {
    /// What is known. What needs no quirk because it holds everywhere: a picture of size 0 has failed, whatever the
    /// status (iHD, radeonsi and i965 complete lost pictures so); `vaSyncBuffer` and `vaDeriveImage` may be refused.
    static let table: [Quirk] = [
        Quirk(
            "Intel i965 driver",
            what: "Built without its non-free kernels it lists encoders and aborts when one starts.",
            why: "An abort ends the process, and nothing tells such a build from a complete one.",
            source: "i965 2.4.1 of Debian's main section, seen with ffmpeg 5.1 on an emulated render node"
        ) {
            $0.refusal = "the driver i965 aborts when an encode starts, unless it was built with non-free kernels"
        },
        Quirk(
            "Intel iHD driver",
            what: "The upper bits of a segment's status are the number of passes, from 0x1000000 on.",
            why: "A status that is not 0 is no failure.",
            source: "iHD 23.1.1, EncSlice; VA_CODED_BUF_STATUS_NUMBER_PASSES_MASK of va.h, which needs no agreement"
        ) {
            $0.statusMask &= 0xFFFF
        },
        Quirk(
            "Intel iHD driver",
            what: "A coded buffer that no picture was coded into reports all of its bytes.",
            why: "A picture that was never submitted would come out as one full of old bytes.",
            source: "iHD 23.1.1, seen with a buffer that was mapped without a picture"
        ) {
            $0.fullBufferIsUnused = true
        },
        Quirk(
            "Intel iHD driver",
            what: "Of imported memory it takes the first object, the first pitch, and offsets in whole rows.",
            why: "Chroma would be read from elsewhere, and no call fails.",
            source: "media-driver, media_libva_util_next.cpp and media_libva_util.cpp, offsets of planes (PlaneOffset)"
        ) {
            $0.importsEvenPlanesOnly = true
        },
        Quirk(
            "Intel iHD driver",
            what: "Of the denominator of a frame rate it reads the lower 12 bits.",
            why: "A rate such as 65535/10000 would become another one.",
            source: "media-driver, media_ddi_encode_avc.cpp, DdiEncodeAvc::ParseMiscParamFR"
        ) {
            $0.frameRateDenominatorLimit = 0xFFF
        },
        Quirk(
            "Intel iHD driver",
            what: "With AVBR it takes window_size for the number of frames after which the average is reached.",
            why: "A second would be 1000 frames; 150 is what the driver begins with by itself.",
            source: "media-driver, media_ddi_encode_avc.cpp, DdiEncodeAvc::ParseMiscParamRC (AVBRConvergence)"
        ) {
            $0.averageWindow = 150
        },
        Quirk(
            "Intel iHD driver",
            what: "It begins rate control anew for a changed rate with CBR, VBR and QVBR only; not with AVBR or ICQ.",
            why: "A change of rate or quality would be taken and have no effect.",
            source: "media-driver, media_ddi_encode_avc.cpp, DdiEncodeAvc::ParseMiscParamRC (bResetBRC)"
        ) {
            $0.unchangeableModes = [.avbr, .icq]
            $0.ignoresChangedQuality = true
        },
        Quirk(
            "Intel iHD driver",
            .h264,
            what: "It counts hundreds of frames per second in 16 bits.",
            why: "1000 frames per second would become 344.64, and the rate three times as high as asked for.",
            source: "media-driver, media_ddi_encode_avc.cpp, DdiEncodeAvc::ParseMiscParamFR (FramesPer100Sec)"
        ) {
            $0.frameRateLimit = 655
        },
        Quirk(
            "Intel iHD driver",
            .h264,
            what: "Before Gen11 it controls rates only with regions that the hardware does itself: -8...7.",
            why: "A picture with another region fails, and so does every one after it that has it.",
            source: "media-driver, codechal_vdenc_avc.cpp, ProcessRoiDeltaQp (m_nonNativeBrcRoiSupported)"
        ) {
            $0.fewRegionsOffsets = -8...7
        },
        Quirk(
            "Intel iHD driver",
            .hevc,
            what: "It lists seven quality levels and refuses all but 1, 4 and 7; free builds refuse every one.",
            why: "A refused parameter fails the picture, and nothing tells free builds from others.",
            source: "media-driver, media_ddi_encode_hevc.cpp, DdiEncodeHevc::ParseMiscParams; 23.1.1 on an emulated tgl"
        ) {
            $0.noQualityLevels = "this driver refuses most of its quality levels for HEVC, in free builds all of them"
        },
        Quirk(
            "Intel iHD driver",
            .hevc,
            what: "It forgets the range of quantizers with every picture.",
            why: "From the second picture on, single blocks would leave the range.",
            source: "media-driver, media_ddi_encode_hevc.cpp, ParsePicParams after ParseMiscParamRC (BRCMinQp)"
        ) {
            $0.forgetsQuantizerRange = true
        },
        Quirk(
            "Intel iHD driver",
            .hevc,
            what: "VDEnc codes B pictures whose lists differ for two references and one, however many are given.",
            why: "The slice header tells decoders of three: blocks are wrong, and no call fails.",
            source: "media-driver, encode_hevc_vdenc_feature_manager.cpp, ValidateRandomAccess; issue 1390. "
                + "From Meteor Lake on it is listed as EncSlice, with 3 and 3"
        ) {
            $0.list0LimitBesideBFrames = 2
        },
        Quirk(
            "Intel iHD driver",
            .hevc,
            what: "It counts waves of intra refresh in blocks of 32x32.",
            why: "The first half of a wave would renew twice as much as asked for, the second half nothing.",
            source: "media-driver, encode_hevc_vdenc, rollingILimit and intraRefreshPos"
        ) {
            $0.refreshBlock = 32
        },
        Quirk(
            "Mesa Gallium driver",
            what: "With constant quantizers it reads pic_init_qp and, before Mesa 24.1, not slice_qp_delta.",
            why: "All pictures would have the same quantizer, and a changed one no effect.",
            source: "Mesa, frontends/va/picture_h264_enc.c, vlVaHandleVAEncPictureParameterBufferTypeH264"
        ) {
            $0.ignoresSliceQuantizers = true
        },
        Quirk(
            "Mesa Gallium driver",
            what: "It shifts initial_buffer_fullness by 6 bits in 32.",
            why: "A buffer of more than 67 Mbit would begin nearly empty.",
            source: "Mesa's encoders of radeonsi, (initial_buffer_fullness << 6) / buffer_size"
        ) {
            $0.fullnessLimit = (1 << 26) - 1
        },
        Quirk(
            "Mesa Gallium driver",
            what: "A segment's status may be whatever was in memory.",
            why: "Good pictures would be taken for failed ones; a failed one has size 0.",
            source: "radeonsi of Mesa 22.3.6, seen with coded buffers that were used again"
        ) {
            $0.statusMask = 0
        },
        Quirk(
            "Mesa Gallium driver",
            what: "Its HEVC pictures are multiples of 64 in width and of 16 in height, whatever it is told.",
            why: "What it is told, and what it writes itself or is given as headers, would differ.",
            source: "Mesa's encoders of radeonsi, radeon_vcn_enc.c (aligned_picture_width, aligned_picture_height)"
        ) {
            $0.hevcAlignment = PictureAlignment(width: 64, height: 16)
        },
        Quirk(
            "Mesa Gallium driver",
            on: [
                "tonga", "fiji", "carrizo", "stoney", "polaris10", "polaris11", "polaris12", "vegam", "vega10",
                "vega12",
                "vega20",
            ],
            what: "With two VCE encoders every other picture is kept until the next one, or until it is waited for.",
            why: """
                A picture comes out empty that is waited for while the next one is submitted; so does every other one \
                whose quantizer or rate differs from the one before it, unless that was waited for first.
                """,
            source: "Mesa, vlVaSyncSurface, vlVaEndPicture, rvce_begin_frame; 22.3.6 on an emulated polaris10"
        ) {
            $0.framesInFlightLimit = 1
        },
        Quirk(
            "Mesa Gallium driver",
            .h264,
            what: "Newer versions refuse a picture whose list 1 has a B-frame, and fail every picture after it.",
            why: "A pyramid, which nothing says they have not, would cost the encoder.",
            source: "Mesa, radeon_vcn_enc.c, radeon_vcn_enc_h264_get_param (B-frame as L1 reference)"
        ) {
            $0.refusesBFrameReferences = true
        },
        Quirk(
            "Mesa Gallium driver",
            .hevc,
            what: "It writes the headers of slices itself, with no layers unless it is told a rate for each.",
            why: "All slices would have TemporalId 0, upper ones with a type that is forbidden there (HEVC 7.4.2.2).",
            source: "Mesa, radeon_vcn_enc.c, radeon_enc_slice_header_hevc (num_temporal_layers)"
        ) {
            $0.lacksTemporalLayers = true
        },
        Quirk(
            "Mesa Gallium driver",
            .hevc,
            what: "It counts waves of intra refresh in coding tree blocks, which are 64x64.",
            why: "A quarter of a wave would renew four times as much as asked for, the rest nothing.",
            source: "Mesa, radeon_vcn_enc.c, radeon_vcn_enc_get_intra_refresh_param"
        ) {
            $0.refreshBlock = 64
        },
        Quirk(
            "Mesa Gallium driver",
            what: "Its firmware fails with constrained intra prediction and rate control; new versions leave that out.",
            why: "What the parameter sets say and what the slices do would differ, and pictures drift.",
            source: "Mesa, radeon_vcn_enc.c, radeon_vcn_enc_get_rc_param and the comment there (constrained_intra_pred)"
        ) {
            $0.cannotConstrainIntraWithRates = true
        },
        Quirk(
            "Mesa Gallium driver",
            what: "A quality level is a set of bits: 0 for the fastest, else bit 0 set and the preset in bits 1 and 2.",
            why: "Level 2 would not lie between 1 and 3; the range that is listed, 32, counts bits and not levels.",
            source: "Mesa, frontends/va/picture.c, vlVaHandleVAEncMiscParameterTypeQualityLevel"
        ) {
            $0.qualityValues = [5, 3, 0]
        },
    ]
}
