// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CX264
internal import MediaTypes

/// The parameters of x264 for a configuration, set in the same order as in the `x264` command line: preset and tuning,
/// options, profile, and finally the requirements of the level.
struct X264Settings: SoftwareSettings {
    static let library = "x264"

    /// The parameters for opening a new encoder.
    var parameters = x264_param_t()
    /// The differences from the request.
    var adjustments: [Adjustment] = []
    /// The validated configuration, with an even size.
    let configuration: EncoderConfiguration

    /// Sets the parameters.
    ///
    /// - Parameter maximumReorderDepth: As in ``EncoderRequest/maximumReorderDepth``.
    /// - Throws: `invalidArgument` or `unsupported`, with the given value and the allowed values.
    init(_ configuration: EncoderConfiguration, maximumReorderDepth: Int?) throws(MediaError) {
        guard configuration.codec != .hevc else {
            throw MediaError(.invalidArgument, "x264 does not support HEVC", given: "hevc", allowed: "auto, h264")
        }
        (self.configuration, adjustments) = try configuration.validated(for: .h264)
        try checkLibraryLimits()
        try applyPreset()
        try limitInstructions()
        setPicture()
        setTiming()
        setRateControl()
        setRateLimits()
        setStructure()
        setSlices()
        setIntraRefresh()
        reportWhatIsMissing()
        try setColor()
        setMetadata()
        try applyProfile()
        let reorderDepth = min(levelReorderDepth, maximumReorderDepth ?? .max)
        limitReordering(to: reorderDepth)
        limitReferences()
    }

    /// Makes an encoder that is opened again, possibly with a lower bitrate, declare the level of the first one, so
    /// that the parameter sets do not change.
    mutating func keepLevel(_ level: Int32) {
        parameters.i_level_idc = level
    }

    /// Whether x264 will encode losslessly: with 8 bits and quantizer 0, or a quality that it rounds down to 0.
    var isLossless: Bool {
        switch configuration.rateControl {
        case .constantQuantizer(let quantizer): quantizer + quantizerOffset == 0
        case .constantQuality(let quality, _): Int(Float(quality) + Float(quantizerOffset)) == 0
        case .averageBitRate, .constantBitRate: false
        }
    }

    /// The difference between x264's quantizer and that of the specification: `QpBdOffset`, H.264 7-4.
    var quantizerOffset: Int { 6 * (configuration.bitDepth - 8) }

    private func checkLibraryLimits() throws(MediaError) {
        try refuseMissingDepth(X264EncoderFactory.libraryName, X264EncoderFactory.bitDepths)
        if isLossless, let profile = configuration.profile {
            throw MediaError(
                .invalidArgument,
                "quantizer 0 is lossless in x264, which profile \(profile.rawValue) does not support",
                given: "\(configuration.rateControl)",
                allowed: "a quantizer or quality from 1, or profile automatic"
            )
        }
    }
}

// MARK: - Preset, picture and time

extension X264Settings {
    private mutating func applyPreset() throws(MediaError) {
        let preset = configuration.software.preset.rawValue
        var tunings = configuration.software.tuning.map { [$0] } ?? []
        if configuration.isLowLatency, !tunings.contains(.zerolatency) { tunings.append(.zerolatency) }
        let tuning = tunings.isEmpty ? nil : tunings.map(\.rawValue).joined(separator: ",")
        let status = x264_param_default_preset(&parameters, preset, tuning)
        guard status >= 0 else {
            throw MediaError(
                .unsupported,
                "\(X264EncoderFactory.libraryName) does not support the preset or tuning",
                given: preset + (tuning.map { ", \($0)" } ?? ""),
                call: "x264_param_default_preset",
                status: Int(status)
            )
        }
    }

    private mutating func limitInstructions() throws(MediaError) {
        let limit = configuration.software.instructionSet
        if limit == .automatic { return }
        let available = parameters.cpu
        let status = x264_param_parse(&parameters, "asm", limit.rawValue)
        guard status == 0 else {
            throw MediaError(
                .unsupported,
                "x264 does not support these instructions on this processor",
                given: limit.rawValue,
                allowed: SoftwareEncoderOptions.InstructionSet.automatic.rawValue,
                call: "x264_param_parse",
                status: Int(status)
            )
        }
        parameters.cpu &= available
    }

    private mutating func setPicture() {
        parameters.i_width = Int32(clamping: configuration.width)
        parameters.i_height = Int32(clamping: configuration.height)
        parameters.i_csp = X264_CSP_I420
        parameters.i_bitdepth = Int32(clamping: configuration.bitDepth)
        parameters.i_threads = Int32(clamping: configuration.software.threads)
        parameters.b_aud = configuration.accessUnitDelimiters ? 1 : 0
        if let level = configuration.h264Level { parameters.i_level_idc = Int32(level.levelIDC) }
        if let ratio = configuration.pixelAspectRatio {
            parameters.vui.i_sar_width = ratio.numerator
            parameters.vui.i_sar_height = ratio.denominator
        }
    }

    /// Whether x264 receives presentation times. They delay by one frame, which low latency does not allow.
    var usesPresentationTimes: Bool { configuration.isFrameRateVariable && !isZeroLatency }

    private mutating func setTiming() {
        let rate = configuration.frameRate.reduced
        parameters.i_fps_num = UInt32(clamping: rate.numerator)
        parameters.i_fps_den = UInt32(clamping: rate.denominator)
        parameters.b_vfr_input = usesPresentationTimes ? 1 : 0
        parameters.i_timebase_num = usesPresentationTimes ? 1 : parameters.i_fps_den
        parameters.i_timebase_den =
            usesPresentationTimes ? UInt32(PresentationClock.variableTimescale) : parameters.i_fps_num
        if configuration.isFrameRateVariable, !usesPresentationTimes {
            let reason = "x264 would delay each frame by one to determine its duration"
            adjust("frame rate", from: "variable", to: "nominal", reason)
        }
    }
}

// MARK: - Rate control

extension X264Settings {
    private mutating func setRateControl() {
        switch configuration.rateControl {
        case .averageBitRate(let rate, _):
            parameters.rc.i_rc_method = X264_RC_ABR
            parameters.rc.i_bitrate = kilobits(rate, "bitrate")
        case .constantBitRate(let rate, _):
            parameters.rc.i_rc_method = X264_RC_ABR
            parameters.rc.i_bitrate = kilobits(rate, "bitrate")
            parameters.i_nal_hrd = X264_NAL_HRD_CBR
        case .constantQuality(let quality, _):
            parameters.rc.i_rc_method = X264_RC_CRF
            parameters.rc.f_rf_constant = Float(quality)
        case .constantQuantizer(let quantizer):
            parameters.rc.i_rc_method = X264_RC_CQP
            parameters.rc.i_qp_constant = Int32(clamping: quantizer + quantizerOffset)
        }
        if let limit = configuration.rateLimit(codec: .h264) {
            let isConstant = parameters.i_nal_hrd == X264_NAL_HRD_CBR
            parameters.rc.i_vbv_max_bitrate =
                isConstant ? parameters.rc.i_bitrate : kilobits(limit.bitsPerSecond, "peak bitrate")
            parameters.rc.i_vbv_buffer_size = kilobits(limit.bufferSize, "rate buffer", isReported: false)
        }
    }

    /// Copies the parameters that a running encoder can change: see `x264_encoder_reconfig`.
    func copyRate(to target: inout x264_param_t) {
        target.rc.i_bitrate = parameters.rc.i_bitrate
        target.rc.f_rf_constant = parameters.rc.f_rf_constant
        target.rc.i_vbv_max_bitrate = parameters.rc.i_vbv_max_bitrate
        target.rc.i_vbv_buffer_size = parameters.rc.i_vbv_buffer_size
    }
}

// MARK: - Structure of the stream

extension X264Settings {
    private mutating func setStructure() {
        switch configuration.entropyMode {
        case .automatic: break
        case .cavlc: parameters.b_cabac = 0
        case .cabac: parameters.b_cabac = 1
        }
        parameters.i_keyint_max = keyFrameDistance ?? X264_KEYINT_MAX_INFINITE
        parameters.b_open_gop = configuration.allowsOpenGOP ? 1 : 0
        if !configuration.allowsBPyramid { parameters.i_bframe_pyramid = X264_B_PYRAMID_NONE }
        switch configuration.bFrames {
        case .maximum(let count): parameters.i_bframe = Int32(clamping: count)
        case .off: parameters.i_bframe = 0
        case .automatic: break
        }
    }

    /// The possible reorder depth in the decoded picture buffer of the requested level: x264 needs two frames for
    /// B-frames and four for a pyramid.
    private var levelReorderDepth: Int {
        guard let level = configuration.h264Level else { return .max }
        let frames = level.decodedPictures(width: configuration.width, height: configuration.height)
        return frames < 2 ? 0 : frames < 4 ? 1 : .max
    }

    var bFrameCount: Int32 {
        get { parameters.i_bframe }
        set { parameters.i_bframe = newValue }
    }

    var usesBPyramid: Bool {
        get { parameters.i_bframe_pyramid != X264_B_PYRAMID_NONE }
        set { parameters.i_bframe_pyramid = newValue ? X264_B_PYRAMID_NORMAL : X264_B_PYRAMID_NONE }
    }

    private mutating func applyProfile() throws(MediaError) {
        guard let profile = configuration.profile else { return }
        let status = x264_param_apply_profile(&parameters, profile.rawValue)
        guard status >= 0 else {
            throw MediaError(
                .unsupported,
                "x264 rejects the profile",
                given: profile.rawValue,
                call: "x264_param_apply_profile",
                status: Int(status)
            )
        }
    }

    /// Limits the number of reference frames to the requested level, as the command line does.
    private mutating func limitReferences() {
        guard let level = configuration.h264Level else { return }
        let frames = level.decodedPictures(width: configuration.width, height: configuration.height)
        parameters.i_frame_reference = min(parameters.i_frame_reference, Int32(clamping: max(1, frames)))
    }
}
