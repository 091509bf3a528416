// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax

/// A difference between a requested and a used value. Every such difference is reported.
public struct Adjustment: Sendable, Hashable, CustomStringConvertible {
    /// The name of the property, for example `size`.
    public var property: String
    /// The requested value.
    public var requested: String
    /// The used value.
    public var used: String
    /// The reason for the difference.
    public var reason: String

    /// Makes an adjustment.
    public init(property: String, requested: String, used: String, reason: String) {
        self.property = property
        self.requested = requested
        self.used = used
        self.reason = reason
    }

    /// A one-line summary for display.
    public var description: String { "\(property) \(requested) becomes \(used): \(reason)" }
}

extension Adjustment {
    /// Describes the reduction of a source's bit depth for a codec.
    package init(bitDepth: Int, becoming used: Int, in codec: VideoCodec) {
        let reason =
            switch (codec, used) {
            case (.h264, ..<10): "the profile has \(used) bits; high10 keeps ten"
            case (.h264, _): "no profile of H.264 that is encoded here has more"
            case (.hevc, ..<10): "the profile has \(used) bits; main10 keeps ten"
            case (.hevc, ..<12): "that is the default; a bit depth of 12 keeps twelve"
            case (.hevc, _): "no profile that is encoded here has more"
            }
        self.init(property: "bit depth", requested: "\(bitDepth)", used: "\(used)", reason: reason)
    }
}

extension EncoderConfiguration {
    /// The accepted frame rates, in frames per second.
    public static let allowedFrameRates = 0.01...1000.0
    /// The accepted key-frame intervals, in frames.
    public static let allowedKeyFrameIntervals = 1...1_000_000

    /// Checks every value against its range and against the other values, for the given codec, and makes odd sizes
    /// even.
    ///
    /// - Returns: The configuration to encode with, and the adjustments that were made.
    /// - Throws: `invalidArgument` with the given value and the allowed values.
    public func validated(
        for codec: VideoCodec
    ) throws(MediaError) -> (configuration: EncoderConfiguration, adjustments: [Adjustment]) {
        var result = self
        var adjustments: [Adjustment] = []
        try checkSize()
        if width % 2 != 0 || height % 2 != 0 {
            result.width = width - width % 2
            result.height = height - height % 2
            adjustments.append(
                Adjustment(
                    property: "size",
                    requested: "\(width)x\(height)",
                    used: "\(result.width)x\(result.height)",
                    reason: chromaFormat == .yuv420
                        ? "4:2:0 video requires an even width and height"
                        : "coded video requires an even width and height"
                )
            )
        }
        if prefersBitDepth, codec == .h264, bitDepth == 10, profile == nil {
            result.bitDepth = 8
            adjustments.append(Adjustment(bitDepth: 10, becoming: 8, in: .h264))
        }
        // HEVC E.3.1: chroma locations are defined for 4:2:0 only.
        if chromaFormat != .yuv420 { result.color?.chromaLocation = nil }
        try checkTiming()
        try rateControl.validate()
        try checkFormat(codec)
        try checkProfile(codec)
        switch codec {
        case .h264: try result.checkLevel()
        case .hevc: try result.checkHEVCLevel()
        }
        try checkStructure()
        try checkLimits()
        try checkEncoderOptions()
        return (result, adjustments)
    }

    private func checkSize() throws(MediaError) {
        let allowed = 2...PixelBuffer.maximumDimension
        guard allowed.contains(width), allowed.contains(height) else {
            throw MediaError(
                .invalidArgument,
                "video size is out of range",
                given: "\(width)x\(height)",
                allowed: "2x2 to \(PixelBuffer.maximumDimension)x\(PixelBuffer.maximumDimension)"
            )
        }
        if let ratio = pixelAspectRatio, !ratio.isPositive {
            throw MediaError(
                .invalidArgument,
                "pixel aspect ratio is out of range",
                given: "\(ratio.numerator):\(ratio.denominator)",
                allowed: "two numbers above 0"
            )
        }
    }

    private func checkTiming() throws(MediaError) {
        guard frameRate.isPositive, Self.allowedFrameRates.contains(frameRate.doubleValue) else {
            throw MediaError(
                .invalidArgument,
                "frame rate is out of range",
                given: "\(frameRate)",
                allowed: "\(Self.allowedFrameRates.lowerBound)...\(Self.allowedFrameRates.upperBound)"
            )
        }
        if let frames = keyFrameInterval.frames, !Self.allowedKeyFrameIntervals.contains(frames) {
            throw MediaError(
                .invalidArgument,
                "key-frame interval is out of range",
                given: "\(frames) frames",
                allowed: "1...1000000 frames"
            )
        }
        if let duration = keyFrameInterval.duration, !(duration > .zero && duration.seconds <= 86400) {
            throw MediaError(
                .invalidArgument,
                "key-frame interval is out of range",
                given: "\(duration.seconds) s",
                allowed: "above 0 and at most 86400 s"
            )
        }
    }

    /// The supported bit depths of a codec.
    package static func bitDepths(_ codec: VideoCodec) -> [Int] { codec == .hevc ? [8, 10, 12] : [8, 10] }

    /// The supported chroma formats of a codec.
    package static func chromaFormats(_ codec: VideoCodec) -> [ChromaFormat] {
        codec == .hevc ? [.yuv420, .yuv422, .yuv444] : [.yuv420]
    }

    private func checkFormat(_ codec: VideoCodec) throws(MediaError) {
        let name = codec == .hevc ? "HEVC" : "H.264"
        let depths = Self.bitDepths(codec)
        guard depths.contains(bitDepth) else {
            throw MediaError(
                .invalidArgument,
                "bit depth is out of range",
                given: "\(bitDepth)",
                allowed: depths.map(String.init).joined(separator: ", ") + " for \(name)"
            )
        }
        let formats = Self.chromaFormats(codec)
        guard formats.contains(chromaFormat) else {
            throw MediaError(
                .invalidArgument,
                "chroma format is not supported for \(name)",
                given: chromaFormat.name,
                allowed: formats.map(\.name).joined(separator: ", ")
                    + (codec == .h264 && chromaFormat != .monochrome ? "; HEVC has it" : "")
            )
        }
    }

    private func checkProfile(_ codec: VideoCodec) throws(MediaError) {
        guard let profile else { return }
        guard profile.codec == codec else {
            let allowed = VideoProfile.allCases.filter { $0.codec == codec }.map(\.rawValue)
            throw MediaError(
                .invalidArgument,
                "the profile is not one of \(codec.rawValue)",
                given: profile.rawValue,
                allowed: allowed.joined(separator: ", ")
            )
        }
        guard bitDepth <= profile.maximumBitDepth else {
            throw MediaError(
                .invalidArgument,
                "profile \(profile.rawValue) does not support this bit depth",
                given: "\(bitDepth) bits",
                allowed: "\(profile.maximumBitDepth) bits"
            )
        }
        guard chromaFormat <= profile.chromaFormat else {
            let suitable = VideoProfile.allCases.filter {
                $0.codec == codec && $0.chromaFormat >= chromaFormat && $0.maximumBitDepth >= bitDepth
            }
            throw MediaError(
                .invalidArgument,
                "profile \(profile.rawValue) does not support \(chromaFormat.name)",
                given: "profile \(profile.rawValue)",
                allowed: suitable.map(\.rawValue).joined(separator: ", ")
            )
        }
        if profile.isBaseline, entropyMode == .cabac {
            throw MediaError(.invalidArgument, "profile baseline has no CABAC", given: "cabac", allowed: "auto, cavlc")
        }
    }

    private func checkLevel() throws(MediaError) {
        guard let lowest = H264Level.lowest(width: width, height: height, frameRate: frameRate) else {
            let highest = H264Level.all.last
            throw MediaError(
                .invalidArgument,
                "H.264 has no level for \(width)x\(height) at \(frameRate) frames per second",
                given: highest?.reasonAgainst(width: width, height: height, frameRate: frameRate),
                allowed: "level 6.2: 139264 macroblocks of 16x16, 16711680 of them per second"
            )
        }
        guard let level = h264Level else { return }
        if let reason = level.reasonAgainst(width: width, height: height, frameRate: frameRate) {
            throw MediaError(
                .invalidArgument,
                "\(width)x\(height) at \(frameRate) frames per second exceeds level \(level)",
                given: reason,
                allowed: "level \(lowest) or higher"
            )
        }
        try checkRate(level)
    }

    /// The profile whose rate limits apply. If no profile is set, the encoder may choose any profile of the bit depth.
    var mostGenerousProfile: VideoProfile { profile ?? (bitDepth == 10 ? .h264High10 : .h264High) }

    private func checkRate(_ level: H264Level) throws(MediaError) {
        let profile = mostGenerousProfile
        let limit = rateLimit(codec: .h264)
        let rate = RateLimit(
            bitsPerSecond: max(limit?.bitsPerSecond ?? 0, rateControl.bitsPerSecond ?? 0),
            bufferSize: limit?.bufferSize ?? 0
        )
        guard let reason = level.reasonAgainst(rate, in: profile) else { return }
        let sufficient = H264Level.all.first {
            $0.reasonAgainst(rate, in: profile) == nil
                && $0.reasonAgainst(width: width, height: height, frameRate: frameRate) == nil
        }
        throw MediaError(
            .invalidArgument,
            "the rate exceeds level \(level) in profile \(profile.rawValue)",
            given: reason,
            allowed: sufficient.map { "level \($0) or higher" } ?? "a rate and buffer within level 6.2"
        )
    }

    /// The HEVC profile: the requested one, or the lowest with the chroma format and bit depth.
    package var leastHEVCProfile: VideoProfile {
        if let profile, profile.codec == .hevc { return profile }
        return VideoProfile.hevc(chromaFormat, bitDepth: bitDepth) ?? .hevcMain444Bits12
    }

    private func checkHEVCLevel() throws(MediaError) {
        guard let lowest = HEVCLevel.lowest(width: width, height: height, frameRate: frameRate) else {
            let highest = HEVCLevel.all.last
            throw MediaError(
                .invalidArgument,
                "HEVC has no level for \(width)x\(height) at \(frameRate) frames per second",
                given: highest?.reasonAgainst(width: width, height: height, frameRate: frameRate),
                allowed: "level 6.2: 35651584 luma samples, 4278190080 of them per second"
            )
        }
        guard let hevcLevel else { return }
        if let reason = hevcLevel.reasonAgainst(width: width, height: height, frameRate: frameRate) {
            throw MediaError(
                .invalidArgument,
                "\(width)x\(height) at \(frameRate) frames per second exceeds level \(hevcLevel)",
                given: reason,
                allowed: "level \(lowest) or higher"
            )
        }
        let limit = rateLimit(codec: .hevc)
        let rate = RateLimit(
            bitsPerSecond: max(limit?.bitsPerSecond ?? 0, rateControl.bitsPerSecond ?? 0),
            bufferSize: limit?.bufferSize ?? 0
        )
        let profile = leastHEVCProfile
        guard let reason = hevcLevel.reasonAgainst(rate, in: profile) else { return }
        let sufficient = HEVCLevel.all.first {
            $0.reasonAgainst(rate, in: profile) == nil
                && $0.reasonAgainst(width: width, height: height, frameRate: frameRate) == nil
        }
        throw MediaError(
            .invalidArgument,
            "the rate exceeds level \(hevcLevel)",
            given: reason,
            allowed: sufficient.map { "level \($0) or higher" } ?? "a rate and buffer within level 6.2-high"
        )
    }
}
