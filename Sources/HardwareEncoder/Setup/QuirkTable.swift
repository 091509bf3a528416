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
            what: "Without its non-free kernels, the driver lists encoders but aborts when an encode starts.",
            why: "The abort ends the process, and a client cannot distinguish such a build from a complete one.",
            source: "i965 2.4.1 of Debian's main section, seen with ffmpeg 5.1 on an emulated render node"
        ) {
            $0.refusal = "the i965 driver aborts when an encode starts, unless it was built with non-free kernels"
        },
        Quirk(
            "Intel iHD driver",
            what: "From 0x1000000 on, the upper bits of a segment's status contain the number of passes.",
            why: "A nonzero status does not necessarily indicate a failure.",
            source: "iHD 23.1.1, EncSlice; VA_CODED_BUF_STATUS_NUMBER_PASSES_MASK of va.h, which needs no agreement"
        ) {
            $0.statusMask &= 0xFFFF
        },
        Quirk(
            "Intel iHD driver",
            what: "A coded buffer without a coded picture reports its full size.",
            why: "A picture that was never submitted would be returned as a picture full of old bytes.",
            source: "iHD 23.1.1, seen with a buffer that was mapped without a picture"
        ) {
            $0.fullBufferIsUnused = true
        },
        Quirk(
            "Intel iHD driver",
            what: "For imported memory, the driver uses the first object, the first pitch, and offsets in whole rows.",
            why: "The driver would read chroma from the wrong place, and no call fails.",
            source: "media-driver, media_libva_util_next.cpp and media_libva_util.cpp, offsets of planes (PlaneOffset)"
        ) {
            $0.importsEvenPlanesOnly = true
        },
        Quirk(
            "Intel iHD driver",
            what: "The driver reads only the lower 12 bits of the denominator of a frame rate.",
            why: "A rate such as 65535/10000 would become a different rate.",
            source: "media-driver, media_ddi_encode_avc.cpp, DdiEncodeAvc::ParseMiscParamFR"
        ) {
            $0.frameRateDenominatorLimit = 0xFFF
        },
        Quirk(
            "Intel iHD driver",
            what: "With AVBR, the driver reads window_size as the number of frames until the average is reached.",
            why: "A window of one second would become 1000 frames; the driver's default is 150.",
            source: "media-driver, media_ddi_encode_avc.cpp, DdiEncodeAvc::ParseMiscParamRC (AVBRConvergence)"
        ) {
            $0.averageWindow = 150
        },
        Quirk(
            "Intel iHD driver",
            what: "A changed rate restarts rate control with CBR, VBR and QVBR, but not with AVBR or ICQ.",
            why: "The driver would accept a change of rate or quality, but the change would have no effect.",
            source: "media-driver, media_ddi_encode_avc.cpp, DdiEncodeAvc::ParseMiscParamRC (bResetBRC)"
        ) {
            $0.unchangeableModes = [.avbr, .icq]
            $0.ignoresChangedQuality = true
        },
        Quirk(
            "Intel iHD driver",
            .h264,
            what: "The driver stores the number of frames per 100 seconds in 16 bits.",
            why: "1000 frames per second would become 344.64, and the bitrate three times the requested one.",
            source: "media-driver, media_ddi_encode_avc.cpp, DdiEncodeAvc::ParseMiscParamFR (FramesPer100Sec)"
        ) {
            $0.frameRateLimit = 655
        },
        Quirk(
            "Intel iHD driver",
            .h264,
            what: "Before Gen11, rate control supports only regions that the hardware handles itself: -8...7.",
            why: "A picture with any other region fails, and so does every later picture with that region.",
            source: "media-driver, codechal_vdenc_avc.cpp, ProcessRoiDeltaQp (m_nonNativeBrcRoiSupported)"
        ) {
            $0.fewRegionsOffsets = -8...7
        },
        Quirk(
            "Intel iHD driver",
            .hevc,
            what: "The driver lists seven quality levels but accepts only 1, 4 and 7; free builds accept none.",
            why: "A rejected parameter makes the picture fail, and a client cannot identify free builds.",
            source: "media-driver, media_ddi_encode_hevc.cpp, DdiEncodeHevc::ParseMiscParams; 23.1.1 on an emulated tgl"
        ) {
            $0.noQualityLevels =
                "this driver rejects most of its quality levels for HEVC, and free builds reject all of them"
        },
        Quirk(
            "Intel iHD driver",
            .hevc,
            what: "From Meteor Lake on, the driver accepts all seven levels; VDEnc is EncSlice there, with 70 slices.",
            why: "Because of older GPUs, quality levels would be omitted on GPUs that support them.",
            source: "media-driver 25.2.3, ddi_encode_hevc_specific.cpp, ParseMiscParams; "
                + "encode_hevc_vdenc_feature_manager.cpp, MapTargetUsage; seen on emulated mtl and lnl"
        ) {
            $0.slicesWithQualityLevels = 70
        },
        Quirk(
            "Intel iHD driver",
            .hevc,
            what: "The driver forgets the quantizer range after each picture.",
            why: "From the second picture on, individual blocks would exceed the range.",
            source: "media-driver, media_ddi_encode_hevc.cpp, ParsePicParams after ParseMiscParamRC (BRCMinQp)"
        ) {
            $0.forgetsQuantizerRange = true
        },
        Quirk(
            "Intel iHD driver",
            .hevc,
            what: "For B pictures with different lists, VDEnc always uses two references in list 0 and one in list 1.",
            why: "The slice header signals three references: decoded blocks are wrong, and no call fails.",
            source: "media-driver, encode_hevc_vdenc_feature_manager.cpp, ValidateRandomAccess; issue 1390. "
                + "From Meteor Lake on it is listed as EncSlice, with 3 and 3"
        ) {
            $0.list0LimitBesideBFrames = 2
        },
        Quirk(
            "Intel iHD driver",
            .hevc,
            what: "The driver counts intra refresh waves in blocks of 32x32.",
            why: "The first half of a wave would refresh twice as much as requested, the second half nothing.",
            source: "media-driver, encode_hevc_vdenc, rollingILimit and intraRefreshPos"
        ) {
            $0.refreshBlock = 32
        },
        Quirk(
            "Mesa Gallium driver",
            in: .before(DriverVersion(24, 1)),
            what: "With constant quantizers, the driver reads pic_init_qp but not slice_qp_delta.",
            why: "All pictures would have the same quantizer, and a changed quantizer would have no effect.",
            source: "Mesa, frontends/va/picture_h264_enc.c, vlVaHandleVAEncPictureParameterBufferTypeH264"
        ) {
            $0.ignoresSliceQuantizers = true
        },
        Quirk(
            "Mesa Gallium driver",
            what: "The driver shifts initial_buffer_fullness left by 6 bits in a 32-bit integer.",
            why: "A buffer of more than 67 Mbit would start nearly empty.",
            source: "Mesa's encoders of radeonsi, (initial_buffer_fullness << 6) / buffer_size"
        ) {
            $0.fullnessLimit = (1 << 26) - 1
        },
        Quirk(
            "Mesa Gallium driver",
            in: .before(DriverVersion(25, 0)),
            what: "A segment's status may be uninitialized memory.",
            why: "Valid pictures would be treated as failed; a failed picture has size 0.",
            source: "radeonsi of Mesa 22.3.6, seen with coded buffers used again; vlVaMapBuffer of 25.0.7 is right"
        ) {
            $0.statusMask = 0
        },
        Quirk(
            "Mesa Gallium driver",
            what: "HEVC pictures are multiples of 64 in width and of 16 in height, regardless of the parameters.",
            why: "The parameters would differ from the headers, both from the driver's own and from those it is given.",
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
            what: "With two VCE encoders, every other picture is held until the next one, or until a wait for it.",
            why: """
                A picture is empty if the client waits for it while the next one is submitted. Every other picture \
                whose quantizer or rate differs from the previous one's is empty, too, unless the client waited for \
                the previous one first.
                """,
            source: "Mesa, vlVaSyncSurface, vlVaEndPicture, rvce_begin_frame; 22.3.6 on an emulated polaris10"
        ) {
            $0.framesInFlightLimit = 1
        },
        Quirk(
            "Mesa Gallium driver",
            what: "The driver accepts format modifiers of other vendors and interprets their bits as AMD's.",
            why: "Tiled memory of another GPU would become a picture of shuffled blocks, and no call fails.",
            source: "Mesa 25.0.7, ac_surface.c, ac_get_modifier_swizzle_mode (TILE of any modifier); navi21 emulated"
        ) {
            $0.readModifierVendor = 0x02
        },
        Quirk(
            "Mesa Gallium driver",
            .h264,
            what: "The driver rejects a picture that references a B-frame, and every later picture fails.",
            why: "A B-pyramid, whose absence the driver does not report, would make the encoder fail.",
            source: "Mesa 25.0.7, radeon_vcn_enc.c, radeon_vcn_enc_h264_get_param; later versions look at list 1 only"
        ) {
            $0.refusesBFrameReferences = true
        },
        Quirk(
            "Mesa Gallium driver",
            .hevc,
            what: "The driver rewrites slice headers, without layers unless it is told how many layers have rates.",
            why: "All slices would have TemporalId 0, upper ones with a type that is forbidden there (HEVC 7.4.2.2).",
            source: "Mesa up to 25.0.7, radeon_vcn_enc.c, radeon_vcn_enc_hevc_get_rc_param (temporal_id)"
        ) {
            $0.lacksTemporalLayers = true
        },
        Quirk(
            "Mesa Gallium driver",
            .hevc,
            what: "The driver counts intra refresh waves in coding tree blocks of 64x64.",
            why: "A quarter of a wave would refresh four times as much as requested, the rest nothing.",
            source: "Mesa, radeon_vcn_enc.c, radeon_vcn_enc_get_intra_refresh_param"
        ) {
            $0.refreshBlock = 64
        },
        Quirk(
            "Mesa Gallium driver",
            what: "Firmware fails with constrained intra prediction and rate control; new drivers omit the former.",
            why: "The slices would contradict the parameter sets, and pictures would drift.",
            source: "Mesa, radeon_vcn_enc.c, radeon_vcn_enc_get_rc_param and the comment there (constrained_intra_pred)"
        ) {
            $0.cannotConstrainIntraWithRates = true
        },
        Quirk(
            "Mesa Gallium driver",
            what: "A quality level is a bit field: 0 is the fastest; else bit 0 is set, bits 1 and 2 are the preset.",
            why: "Level 2 would not lie between 1 and 3; the listed range of 32 counts bits, not levels.",
            source: "Mesa, frontends/va/picture.c, vlVaHandleVAEncMiscParameterTypeQualityLevel"
        ) {
            $0.qualityValues = [5, 3, 0]
        },
        Quirk(
            "Mesa Gallium driver",
            in: .since(DriverVersion(24, 0)),
            what: "The driver lists slices of arbitrary macroblocks, but redivides those unequal apart from the last.",
            why: "The slices of the stream would differ from the requested ones, and could be fewer.",
            source: "Mesa 25.0.7, radeon_vcn_enc.c, radeon_vcn_enc_h264_get_slice_ctrl_param (use_app_config)"
        ) {
            $0.unkeptSliceStructures = [.arbitraryMacroblocks, .arbitraryRows]
        },
        Quirk(
            "Mesa Gallium driver",
            .h264,
            what: "The driver divides the edges of a region by 16 and discards the remainder.",
            why: "A region smaller than a macroblock would vanish, and others would lose their last row or column.",
            source: "Mesa 25.0.7, radeon_vcn_enc.c, radeon_vcn_enc_get_roi_param (width_in_unit)"
        ) {
            $0.regionBlock = 16
        },
        Quirk(
            "Mesa Gallium driver",
            .hevc,
            what: "The driver divides the edges of a region by 64 and discards the remainder.",
            why: "A region smaller than a coding tree block would vanish, and others would lose their edges.",
            source: "Mesa 25.0.7, radeon_vcn_enc.c, radeon_vcn_enc_get_roi_param (width_in_unit)"
        ) {
            $0.regionBlock = 64
        },
    ]
}
