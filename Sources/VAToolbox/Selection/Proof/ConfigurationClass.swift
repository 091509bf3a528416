// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes

/// The properties of a configuration that decide whether a device can encode it. One test encode proves all
/// configurations of a class. Values of rates and quantizers are not part of it.
struct ConfigurationClass: Sendable, Hashable, CustomStringConvertible {
    /// For example `h264 1920x1080 8bit vbr b=auto slices=1`.
    let description: String

    init(_ configuration: EncoderConfiguration, _ codec: VideoCodec) {
        let hardware = configuration.hardware
        var parts = [codec.rawValue, "\(configuration.width)x\(configuration.height)", "\(configuration.bitDepth)bit"]
        if configuration.chromaFormat != .yuv420 { parts.append(configuration.chromaFormat.name) }
        parts.append(Self.name(configuration.rateControl))
        parts.append("b=\(Self.name(configuration.bFrames))")
        parts.append("slices=\(configuration.slices)")
        func add(_ name: String, _ value: (some CustomStringConvertible)?) {
            if let value { parts.append("\(name)=\(value)") }
        }
        func add(_ name: String, if isOn: Bool) { if isOn { parts.append(name) } }
        add("profile", configuration.profile?.rawValue)
        add("low-power", hardware.lowPower == .automatic ? nil : hardware.lowPower.rawValue)
        add("quality-level", hardware.qualityLevel)
        add("depth", hardware.framesInFlight)
        add("macroblock-rate", hardware.controlsMacroblocks)
        add("entropy", configuration.entropyMode == .automatic ? nil : configuration.entropyMode.rawValue)
        add("layers", configuration.temporalLayers == 1 ? nil : configuration.temporalLayers)
        add("long-term", configuration.longTermReferences == 0 ? nil : configuration.longTermReferences)
        add("low-latency", if: configuration.isLowLatency)
        add("intra-refresh", if: configuration.usesIntraRefresh)
        add("open-gop", if: configuration.allowsOpenGOP)
        add("no-pyramid", if: !configuration.allowsBPyramid)
        add("frame-limit", if: configuration.maximumFrameSize != nil)
        add("quantizers", if: configuration.quantizerRange != nil)
        description = parts.joined(separator: " ")
    }

    private static func name(_ control: RateControl) -> String {
        switch control {
        case .averageBitRate(_, .unlimited): "avbr"
        case .averageBitRate: "vbr"
        case .constantBitRate: "cbr"
        case .constantQuality(_, .unlimited): "icq"
        case .constantQuality: "qvbr"
        case .constantQuantizer: "cqp"
        }
    }

    private static func name(_ bFrames: BFrames) -> String {
        switch bFrames {
        case .off: "off"
        case .automatic: "auto"
        case .maximum(let count): "\(count)"
        }
    }
}

extension EncoderConfiguration {
    /// The configuration of a test encode: the same configuration with enough bits for recognizable pictures that all
    /// differ from each other. A rate that a level limits is unchanged.
    var forProof: EncoderConfiguration {
        var result = self
        if let quantizerRange {
            result.quantizerRange = min(quantizerRange.lowerBound, Self.coarsest)...quantizerRange.upperBound
        }
        switch rateControl {
        case .constantQuantizer(let quantizer): result.rateControl = .constantQuantizer(min(quantizer, Self.coarsest))
        case .constantQuality(let quality, let peak):
            result.rateControl = .constantQuality(min(quality, Double(Self.coarsest)), peak: peak)
        default: break
        }
        if let maximumFrameSize { result.maximumFrameSize = max(maximumFrameSize, width * height / 8) }
        return h264Level == nil && hevcLevel == nil ? result.withRateForProof : result
    }

    /// A quantizer at which every encoder preserves flat colours.
    private static let coarsest = 30

    private var withRateForProof: EncoderConfiguration {
        var result = self
        let least = Int(min(Double(width * height) * 0.15 * min(max(frameRate.doubleValue, 1), 60), 200_000_000))
        switch rateControl {
        case .averageBitRate(let rate, .limit(let peak, let window)) where rate < least:
            let raised = Int(Double(peak) * Double(least) / Double(max(rate, 1)))
            result.rateControl = .averageBitRate(
                least,
                peak: .limit(min(max(raised, least), 1_000_000_000), window: window)
            )
        case .averageBitRate(let rate, let peak) where rate < least:
            result.rateControl = .averageBitRate(least, peak: peak)
        case .constantBitRate(let rate, let window) where rate < least:
            result.rateControl = .constantBitRate(least, window: window)
        case .constantQuality(let quality, .limit(let peak, let window)) where peak < least:
            result.rateControl = .constantQuality(quality, peak: .limit(least, window: window))
        default: break
        }
        return result
    }

    /// The number of frames that a test encode needs: a key frame and two groups of B-frames.
    var proofFrameCount: Int {
        if case .maximum(let count) = bFrames { return max(8, 2 * count + 4) }
        return 8
    }
}
