// SPDX-License-Identifier: GPL-2.0-or-later

extension EncoderConfiguration {
    /// The accepted numbers of slices of a picture.
    public static let allowedSlices = 1...256
    /// The accepted numbers of temporal layers.
    public static let allowedTemporalLayers = 1...3
    /// The accepted numbers of long-term references. One of H.264's 16 references is reserved for short-term use.
    public static let allowedLongTermReferences = 0...15
    /// The accepted limits on the size of a frame, in bytes. Their sizes in bits fit VA-API's 32-bit field.
    public static let allowedMaximumFrameSizes = 1...536_870_911
    /// The quantizers of the specification, which are the same for every bit depth.
    public static let allowedQuantizers = 0...51

    /// Whether the encoder may return pictures in an order that differs from the input order.
    public var allowsReordering: Bool {
        bFrames != .off && reasonAgainstBFrames == nil
    }

    /// The number of frames from the start of one intra refresh wave to the next: the key-frame interval at the nominal
    /// frame rate. `nil` without ``usesIntraRefresh``; not `nil` in a validated configuration with it.
    public var intraRefreshPeriod: Int? {
        usesIntraRefresh ? keyFrameInterval.frameCount(at: frameRate) : nil
    }

    /// The reason why the other settings exclude B-frames, if they do.
    private var reasonAgainstBFrames: String? {
        if profile?.isBaseline == true { return "profile baseline has no B-frames" }
        if isLowLatency || software.tuning == .zerolatency {
            return "low latency excludes B-frames, which delay frames"
        }
        if usesIntraRefresh { return "intra refresh excludes B-frames, which refer across the wave" }
        return nil
    }

    /// Checks the settings for references between frames.
    func checkStructure() throws(MediaError) {
        if case .maximum(let count) = bFrames {
            try Self.check("number of B-frames", count, in: 1...16)
            if let reason = reasonAgainstBFrames {
                throw MediaError(.invalidArgument, reason, given: "\(count)", allowed: "off or automatic")
            }
        }
        try Self.check("number of slices", slices, in: Self.allowedSlices)
        try Self.check("number of temporal layers", temporalLayers, in: Self.allowedTemporalLayers)
        try Self.check("number of long-term references", longTermReferences, in: Self.allowedLongTermReferences)
        if usesIntraRefresh { try checkIntraRefresh() }
    }

    private func checkIntraRefresh() throws(MediaError) {
        guard temporalLayers == 1 else {
            throw MediaError(
                .invalidArgument,
                "intra refresh does not support temporal layers",
                given: "\(temporalLayers) temporal layers",
                allowed: "1"
            )
        }
        guard !allowsOpenGOP else {
            throw MediaError(
                .invalidArgument,
                "intra refresh has no I-frames, so groups of pictures cannot be open",
                given: "open groups",
                allowed: "closed groups"
            )
        }
        guard let intraRefreshPeriod, intraRefreshPeriod > 1 else {
            throw MediaError(
                .invalidArgument,
                "intra refresh needs a key-frame interval, the duration of its wave",
                given: intraRefreshPeriod.map { "\($0) frame" } ?? "no limit",
                allowed: "at least 2 frames"
            )
        }
    }

    /// Checks the limits on rate control.
    func checkLimits() throws(MediaError) {
        if let maximumFrameSize {
            try Self.check("maximum frame size", maximumFrameSize, in: Self.allowedMaximumFrameSizes, unit: "bytes")
        }
        if let quantizerRange {
            let allowed = Self.allowedQuantizers
            guard allowed.contains(quantizerRange.lowerBound), allowed.contains(quantizerRange.upperBound) else {
                throw Self.error("quantizer range", "\(quantizerRange)", "within \(allowed)")
            }
            if case .constantQuantizer(let quantizer) = rateControl, !quantizerRange.contains(quantizer) {
                throw MediaError(
                    .invalidArgument,
                    "the constant quantizer is not in the quantizer range",
                    given: "\(quantizer)",
                    allowed: "\(quantizerRange)"
                )
            }
        }
        if let initialBufferFullness, !(0...1).contains(initialBufferFullness) {
            throw Self.error("initial buffer fullness", "\(initialBufferFullness)", "0...1")
        }
    }

    /// Checks the settings that apply to one kind of encoder only.
    func checkEncoderOptions() throws(MediaError) {
        guard (0...128).contains(software.threads) else {
            throw Self.error("number of threads", "\(software.threads)", "0...128, 0 for automatic")
        }
        if let qualityLevel = hardware.qualityLevel, qualityLevel < 1 {
            throw Self.error("quality level", "\(qualityLevel)", "at least 1")
        }
        guard let frames = hardware.framesInFlight else { return }
        try Self.check("number of frames in flight", frames, in: HardwareEncoderOptions.allowedFramesInFlight)
        if isLowLatency, frames > 1 {
            throw MediaError(
                .invalidArgument,
                "low latency allows only one frame in flight",
                given: "\(frames)",
                allowed: "1"
            )
        }
    }

    private static func check(
        _ name: String,
        _ value: Int,
        in range: ClosedRange<Int>,
        unit: String? = nil
    ) throws(MediaError) {
        if range.contains(value) { return }
        let unit = unit.map { " " + $0 } ?? ""
        throw error(name, "\(value)\(unit)", "\(range)\(unit)")
    }

    private static func error(_ name: String, _ given: String, _ allowed: String) -> MediaError {
        MediaError(.invalidArgument, "\(name) is out of range", given: given, allowed: allowed)
    }
}
