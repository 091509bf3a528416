// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CX265
internal import MediaTypes

/// The parameters of x265 for a configuration, set in the same order as in the `x265` command line: preset and tuning,
/// options, profile.
struct X265Settings: SoftwareSettings {
    static let library = "x265"
    /// The sizes of coding tree blocks that x265 supports; a picture has at least one block.
    static let blockSizes: [UInt32] = [64, 32, 16]

    /// The functions for the configured bit depth.
    var library: X265Library
    /// The parameters for opening a new encoder, without strings: see ``withParameters(_:)``.
    var parameters = x265_param()
    /// The differences from the request.
    var adjustments: [Adjustment] = []
    /// The validated configuration, with an even size.
    let configuration: EncoderConfiguration

    /// Sets the parameters.
    ///
    /// - Parameter maximumReorderDepth: As in ``EncoderRequest/maximumReorderDepth``.
    /// - Throws: `invalidArgument` or `unsupported`, with the given value and the allowed values.
    init(_ configuration: EncoderConfiguration, maximumReorderDepth: Int?) throws(MediaError) {
        guard configuration.codec != .h264 else {
            throw MediaError(.invalidArgument, "x265 does not support H.264", given: "h264", allowed: "auto, hevc")
        }
        (self.configuration, adjustments) = try configuration.validated(for: .hevc)
        guard let library = X265Library(bitDepth: self.configuration.bitDepth) else {
            throw MediaError(
                .unsupported,
                "\(X265EncoderFactory.libraryName) was not built for \(self.configuration.bitDepth) bits",
                given: "\(self.configuration.bitDepth)",
                allowed: X265EncoderFactory.bitDepths.map(String.init).joined(separator: ", ")
            )
        }
        self.library = library
        try applyPreset()
        try limitInstructions()
        try setPicture()
        setTiming()
        setRateControl()
        setRateLimits()
        setLevel()
        setStructure()
        setSlices()
        setIntraRefresh()
        avoidPredictionInOneBlock()
        reportWhatIsMissing()
        try setColor()
        setMetadata()
        try applyProfile()
        limitReordering(to: maximumReorderDepth ?? .max)
        deepenLookahead()
    }

    /// Calls `body` with the parameters and the strings to which they point, which are valid only inside `body`.
    func withParameters<Result>(_ body: (inout x265_param) -> Result) -> Result {
        withOptionalString(pools) { pools in
            withOptionalString(masteringDisplay) { display in
                var copy = parameters
                if let pools { x265_shim_set_pools(&copy, pools) }
                if let display { x265_shim_set_mastering_display(&copy, display) }
                return body(&copy)
            }
        }
    }

    /// The number of threads in each pool; `nil` leaves it to x265.
    private var pools: String? { configuration.software.threads > 0 ? "\(configuration.software.threads)" : nil }

    private func withOptionalString<Result>(_ string: String?, _ body: (UnsafePointer<CChar>?) -> Result) -> Result {
        guard let string else { return body(nil) }
        return string.withCString { body($0) }
    }
}

// MARK: - Preset, picture and time

extension X265Settings {
    /// The tunings of x265. It accepts one; low latency is set separately if it is combined with another tuning.
    private static let tunings: Set<SoftwareEncoderOptions.Tuning> = [
        .psnr, .ssim, .grain, .fastdecode, .animation, .zerolatency,
    ]

    private mutating func applyPreset() throws(MediaError) {
        let preset = configuration.software.preset.rawValue
        var tuning = configuration.software.tuning
        if let asked = tuning, !Self.tunings.contains(asked) {
            adjust("tuning", from: asked.rawValue, to: "none", "x265 does not have this tuning")
            tuning = nil
        }
        if tuning == nil, configuration.isLowLatency { tuning = .zerolatency }
        let status = library.api.param_default_preset(&parameters, preset, tuning?.rawValue)
        guard status >= 0 else {
            throw MediaError(
                .unsupported,
                "\(X265EncoderFactory.libraryName) does not support the preset or tuning",
                given: preset + (tuning.map { ", \($0.rawValue)" } ?? ""),
                call: "x265_param_default_preset",
                status: Int(status)
            )
        }
        // x265 can only log to standard error.
        parameters.logLevel = X265_LOG_NONE
        if isZeroLatency { removeDelay() }
    }

    /// Applies the settings of the tuning `zerolatency`.
    private mutating func removeDelay() {
        parameters.bFrameAdaptive = 0
        parameters.bframes = 0
        parameters.lookaheadDepth = 0
        parameters.scenecutThreshold = 0
        parameters.rc.cuTree = 0
        parameters.frameNumThreads = 1
    }

    private mutating func limitInstructions() throws(MediaError) {
        let limit = configuration.software.instructionSet
        if limit == .automatic { return }
        let available = parameters.cpuid
        let status = library.parse(&parameters, "asm", limit.rawValue)
        guard status == 0 else {
            throw MediaError(
                .unsupported,
                "x265 does not support these instructions on this processor",
                given: limit.rawValue,
                allowed: SoftwareEncoderOptions.InstructionSet.automatic.rawValue,
                call: "x265_param_parse",
                status: Int(status)
            )
        }
        parameters.cpuid &= available
    }

    private mutating func setPicture() throws(MediaError) {
        parameters.sourceWidth = Int32(clamping: configuration.width)
        parameters.sourceHeight = Int32(clamping: configuration.height)
        parameters.internalCsp = configuration.chromaFormat.colorSpace
        parameters.internalBitDepth = Int32(clamping: configuration.bitDepth)
        parameters.sourceBitDepth = parameters.internalBitDepth
        parameters.bEnableAccessUnitDelimiters = configuration.accessUnitDelimiters ? 1 : 0
        // HDR messages then precede every key frame, as intended; the repeated parameter sets are removed.
        parameters.bRepeatHeaders = 1
        if configuration.software.threads == 1 { parameters.frameNumThreads = 1 }
        parameters.maxCUSize = min(parameters.maxCUSize, try largestBlock())
        parameters.minCUSize = min(parameters.minCUSize, parameters.maxCUSize)
        // With fewer than four columns of 16 samples, the instructions that x265 3.5 uses for it write beyond their row
        // into other memory.
        if configuration.width <= 48 { parameters.rc.cuTree = 0 }
    }

    /// Returns the largest block size that x265 can use for the pictures. A block that fills the picture is avoided:
    /// x265 3.5 then leaves the margins of its reference pictures unset, and predicts from samples that no decoder has.
    private func largestBlock() throws(MediaError) -> UInt32 {
        let side = UInt32(clamping: min(configuration.width, configuration.height))
        let possible = Self.blockSizes.filter { $0 <= side }
        guard let smallest = possible.last else {
            throw MediaError(
                .unsupported,
                "the picture is smaller than the smallest coding tree block of x265",
                given: "\(configuration.width)x\(configuration.height)",
                allowed: "16x16 or larger"
            )
        }
        return possible.first { max(configuration.width, configuration.height) > Int($0) } ?? smallest
    }

    private mutating func setTiming() {
        let rate = configuration.frameRate.reduced
        parameters.fpsNum = UInt32(clamping: rate.numerator)
        parameters.fpsDenom = UInt32(clamping: rate.denominator)
        if configuration.isFrameRateVariable {
            let reason = "x265 rate control counts frames and ignores timestamps"
            adjust("frame rate", from: "variable", to: "nominal", reason)
        }
    }
}

// MARK: - Rate control

extension X265Settings {
    private mutating func setRateControl() {
        switch configuration.rateControl {
        case .averageBitRate(let rate, _):
            parameters.rc.rateControlMode = Int32(X265_RC_ABR.rawValue)
            parameters.rc.bitrate = kilobits(rate, "bitrate")
        case .constantBitRate(let rate, _):
            parameters.rc.rateControlMode = Int32(X265_RC_ABR.rawValue)
            parameters.rc.bitrate = kilobits(rate, "bitrate")
            parameters.rc.bStrictCbr = 1
            parameters.rc.pbFactor = 1
            parameters.bEmitHRDSEI = 1
        case .constantQuality(let quality, _):
            parameters.rc.rateControlMode = Int32(X265_RC_CRF.rawValue)
            parameters.rc.rfConstant = quality
        case .constantQuantizer(let quantizer):
            parameters.rc.rateControlMode = Int32(X265_RC_CQP.rawValue)
            parameters.rc.qp = Int32(clamping: quantizer)
        }
        if let limit = configuration.rateLimit(codec: .hevc) {
            let isConstant = parameters.rc.bStrictCbr != 0
            parameters.rc.vbvMaxBitrate =
                isConstant ? parameters.rc.bitrate : kilobits(limit.bitsPerSecond, "peak bitrate")
            parameters.rc.vbvBufferSize = kilobits(limit.bufferSize, "rate buffer", isReported: false)
        }
    }

    private mutating func setRateLimits() {
        if let range = configuration.quantizerRange {
            parameters.rc.qpMin = Int32(clamping: range.lowerBound)
            parameters.rc.qpMax = Int32(clamping: range.upperBound)
        }
        guard let fullness = configuration.initialBufferFullness else { return }
        parameters.rc.vbvBufferInit = fullness
        if parameters.rc.vbvBufferSize == 0 {
            let reason = "rate control has no peak limit and no buffer"
            adjust("initial buffer fullness", from: "\(fullness)", to: "none", reason)
        }
    }
}

// MARK: - Level

extension X265Settings {
    private mutating func setLevel() {
        guard let level = configuration.hevcLevel else { return }
        if case .constantQuantizer = configuration.rateControl {
            let reason = "x265 promises no level at a constant quantizer"
            adjust("level", from: level.name, to: "automatic", reason)
            return
        }
        parameters.levelIdc = Int32(level.levelIDC) / 3
        parameters.bHighTier = level.isHighTier ? 1 : 0
    }
}

// MARK: - Structure of the stream

extension X265Settings {
    var bFrameCount: Int32 {
        get { parameters.bframes }
        set { parameters.bframes = newValue }
    }

    var usesBPyramid: Bool {
        get { parameters.bBPyramid != 0 }
        set { parameters.bBPyramid = newValue ? 1 : 0 }
    }

    private mutating func setStructure() {
        if configuration.entropyMode == .cavlc {
            adjust("entropy mode", from: "cavlc", to: "cabac", "HEVC supports CABAC only")
        }
        parameters.keyframeMax = keyFrameDistance ?? -1
        parameters.bOpenGOP = configuration.allowsOpenGOP ? 1 : 0
        if !configuration.allowsBPyramid { parameters.bBPyramid = 0 }
        switch configuration.bFrames {
        case .maximum(let count): parameters.bframes = Int32(clamping: count)
        case .off: parameters.bframes = 0
        case .automatic: break
        }
    }

    /// Handles pictures that even the smallest block fills: see ``largestBlock()``.
    private mutating func avoidPredictionInOneBlock() {
        let isOneBlock = max(configuration.width, configuration.height) <= Int(parameters.maxCUSize)
        guard isOneBlock, parameters.keyframeMax != 1 else { return }
        let distance = parameters.keyframeMax < 0 ? "unlimited" : "\(parameters.keyframeMax)"
        let reason = "x265 uses incorrect predictions for pictures of one coding tree block"
        adjust("key frame interval", from: distance, to: "1", reason)
        parameters.keyframeMax = 1
        parameters.bframes = 0
        parameters.bIntraRefresh = 0
    }

    /// Extends the lookahead, which x265 requires to be longer than the number of B-frames in a row.
    private mutating func deepenLookahead() {
        guard parameters.bframes > 0 else { return }
        parameters.lookaheadDepth = max(parameters.lookaheadDepth, parameters.bframes + 1)
    }

    /// Sets the number of slices. x265 codes slices in wavefronts, which require two rows and three columns of blocks.
    private mutating func setSlices() {
        guard configuration.slices > 1 else { return }
        let block = Int(parameters.maxCUSize)
        let (columns, rows) = ((configuration.width + block - 1) / block, (configuration.height + block - 1) / block)
        if isZeroLatency {
            adjust("slices", from: "\(configuration.slices)", to: "1", "several slices delay pictures in x265")
        } else if rows < 2 || columns < 3 {
            let reason = "x265 requires at least 2 rows and 3 columns of \(block)x\(block) blocks for several slices"
            adjust("slices", from: "\(configuration.slices)", to: "1", reason)
        } else {
            parameters.maxSlices = UInt32(clamping: min(configuration.slices, rows))
        }
    }

    /// Sets intra refresh. x265 supports it with one reference only. A scene cut would start a new group.
    ///
    /// The start of a wave is determined by the number of frames since the last key frame, but no recovery point is
    /// written there. With x265 3.5, a decoder that starts at a wave has wrong samples at its end, and still after the
    /// next one, even with one thread and without filters and temporal motion vectors.
    private mutating func setIntraRefresh() {
        guard let period = configuration.intraRefreshPeriod else { return }
        parameters.bIntraRefresh = 1
        parameters.keyframeMax = Int32(clamping: period)
        parameters.scenecutThreshold = 0
        parameters.maxNumReferences = 1
        parameters.bframes = 0
        parameters.bBPyramid = 0
        adjust(
            "intra refresh",
            from: "recovery after each wave",
            to: "recovery at key frames",
            "x265 predicts from areas that the wave has not refreshed: after a loss, pictures are correct only from the "
                + "next key frame on"
        )
    }

    private mutating func applyProfile() throws(MediaError) {
        guard let profile = configuration.profile else { return }
        let name = profile.x265Name
        let status = library.api.param_apply_profile(&parameters, name)
        guard status >= 0 else {
            throw MediaError(
                .unsupported,
                "x265 rejects the profile",
                given: profile.rawValue,
                call: "x265_param_apply_profile",
                status: Int(status)
            )
        }
    }
}

extension ChromaFormat {
    /// The x265 constant for this chroma format.
    var colorSpace: Int32 {
        switch self {
        case .monochrome: X265_CSP_I400
        case .yuv420: X265_CSP_I420
        case .yuv422: X265_CSP_I422
        case .yuv444: X265_CSP_I444
        }
    }
}

extension VideoProfile {
    /// The x265 name of this profile: the name of this package without the codec, except for 8-bit 4:4:4.
    fileprivate var x265Name: String {
        self == .hevcMain444 ? "main444-8" : String(rawValue.trimmingPrefix("hevc-"))
    }
}
