// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import VAAPI

/// The known drivers of this package, for code that stores results of drivers.
package enum KnownDrivers {
    /// All quirks as text. If it changes, a driver may be treated differently, and stored results are no longer valid.
    package static let text = Quirks.table.map(\.text).joined(separator: "\n")
}

extension Quirks {
    /// The known quirks. Some behaviour needs no quirk because it is handled for all drivers: a picture of size 0 has
    /// failed regardless of its status (iHD, radeonsi and i965 complete lost pictures this way); `vaSyncBuffer` and
    /// `vaDeriveImage` may be refused.
    static let table: [Quirk] = [
        Quirk(
            "Intel i965 driver",
            what: "Built without its non-free kernels it lists encoders and aborts when one starts.",
            why: "An abort ends the process, and nothing tells such a build from a complete one.",
            source: "i965 2.4.1 of Debian's main section, seen with ffmpeg 5.1 on an emulated render node"
        ) {
            $0.refusal = "the i965 driver aborts when an encode starts, unless it was built with non-free kernels"
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
            $0.noQualityLevels =
                "this driver rejects most of its quality levels for HEVC, and free builds reject all of them"
        },
        Quirk(
            "Intel iHD driver",
            .hevc,
            what: "From Meteor Lake on it takes all seven quality levels; VDEnc is EncSlice there, with 70 slices.",
            why: "They would be left out on GPUs that have them, for the sake of older ones.",
            source: "media-driver 25.2.3, ddi_encode_hevc_specific.cpp, ParseMiscParams; "
                + "encode_hevc_vdenc_feature_manager.cpp, MapTargetUsage; seen on emulated mtl and lnl"
        ) {
            $0.slicesWithQualityLevels = 70
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
            in: .before(DriverVersion(24, 1)),
            what: "With constant quantizers it reads pic_init_qp and not slice_qp_delta.",
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
            in: .before(DriverVersion(25, 0)),
            what: "A segment's status may be whatever was in memory.",
            why: "Good pictures would be taken for failed ones; a failed one has size 0.",
            source: "radeonsi of Mesa 22.3.6, seen with coded buffers used again; vlVaMapBuffer of 25.0.7 is right"
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
            what: "It takes memory with format modifiers of other vendors and reads their bits as if they were AMD's.",
            why: "Tiled memory of another GPU would become a picture of shuffled blocks, and no call fails.",
            source: "Mesa 25.0.7, ac_surface.c, ac_get_modifier_swizzle_mode (TILE of any modifier); navi21 emulated"
        ) {
            $0.readModifierVendor = 0x02
        },
        Quirk(
            "Mesa Gallium driver",
            .h264,
            what: "It refuses a picture that refers to a B-frame, and fails every picture after it.",
            why: "A pyramid, which nothing says it has not, would cost the encoder.",
            source: "Mesa 25.0.7, radeon_vcn_enc.c, radeon_vcn_enc_h264_get_param; later versions look at list 1 only"
        ) {
            $0.refusesBFrameReferences = true
        },
        Quirk(
            "Mesa Gallium driver",
            .hevc,
            what: "It writes the headers of slices anew, with no layers unless it is told how many have rates.",
            why: "All slices would have TemporalId 0, upper ones with a type that is forbidden there (HEVC 7.4.2.2).",
            source: "Mesa up to 25.0.7, radeon_vcn_enc.c, radeon_vcn_enc_hevc_get_rc_param (temporal_id)"
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
        Quirk(
            "Mesa Gallium driver",
            in: .since(DriverVersion(24, 0)),
            what: "It lists slices of any macroblocks, and divides anew what is not equal but for the last.",
            why: "The slices of the stream would be others than those that were asked for, and perhaps fewer.",
            source: "Mesa 25.0.7, radeon_vcn_enc.c, radeon_vcn_enc_h264_get_slice_ctrl_param (use_app_config)"
        ) {
            $0.unkeptSliceStructures = [.arbitraryMacroblocks, .arbitraryRows]
        },
        Quirk(
            "Mesa Gallium driver",
            .h264,
            what: "It divides the edges of a region by 16 and drops the rest.",
            why: "A region smaller than a macroblock would be none, and others would lose their last row or column.",
            source: "Mesa 25.0.7, radeon_vcn_enc.c, radeon_vcn_enc_get_roi_param (width_in_unit)"
        ) {
            $0.regionBlock = 16
        },
        Quirk(
            "Mesa Gallium driver",
            .hevc,
            what: "It divides the edges of a region by 64 and drops the rest.",
            why: "A region smaller than a coding tree block would be none, and others would lose their edge.",
            source: "Mesa 25.0.7, radeon_vcn_enc.c, radeon_vcn_enc_get_roi_param (width_in_unit)"
        ) {
            $0.regionBlock = 64
        },
    ]
}
