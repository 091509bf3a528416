// SPDX-License-Identifier: GPL-2.0-or-later

extension EncoderConfiguration {
    /// Numbers of slices of a picture that are accepted.
    public static let allowedSlices = 1...256
    /// Numbers of temporal layers that are accepted.
    public static let allowedTemporalLayers = 1...3
    /// Numbers of long-term references that are accepted; one of the 16 that H.264 has is left for the others.
    public static let allowedLongTermReferences = 0...15
    /// Limits on the size of a frame that are accepted, in bytes: as many bits as VA-API's 32-bit number takes.
    public static let allowedMaximumFrameSizes = 1...536_870_911
    /// Quantizers of the specification, which are the same for every bit depth.
    public static let allowedQuantizers = 0...51

    /// Whether the encoder may put out pictures in another order than they came.
    public var allowsReordering: Bool {
        bFrames != .off && reasonAgainstBFrames == nil
    }

    /// The frames from the start of one wave of intra blocks to that of the next: the key-frame interval at the nominal
    /// rate. `nil` without ``usesIntraRefresh``; a validated configuration with it has one.
    public var intraRefreshPeriod: Int? {
        usesIntraRefresh ? keyFrameInterval.frameCount(at: frameRate) : nil
    }

    /// Why there are no B-frames, if the other settings exclude them.
    private var reasonAgainstBFrames: String? {
        if profile?.isBaseline == true { return "profile baseline has no B-frames" }
        if isLowLatency || software.tuning == .zerolatency {
            return "low latency excludes B-frames, which delay frames"
        }
        if usesIntraRefresh { return "intra refresh excludes B-frames, which refer across the wave" }
        return nil
    }

    /// How frames refer to each other.
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
                "intra refresh needs every frame",
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

    /// What bounds the rate control.
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

    /// What concerns one kind of encoder.
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
