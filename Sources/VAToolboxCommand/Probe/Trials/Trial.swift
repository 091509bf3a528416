// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import VAAPI

/// A combination of encoding settings that a driver lists, for `probe --exhaustive`.
struct Trial: Sendable, Hashable {
    /// The VA-API profile.
    var profile: Profile
    /// The entrypoint.
    var entrypoint: Entrypoint
    /// One mode of rate control.
    var mode: RateControlModes
    /// The number of consecutive B-frames, 0 for none.
    var bFrames: Int
    /// The number of slices per picture.
    var slices: Int
    /// The size of the pictures.
    var width: Int
    var height: Int

    /// The number of frames to encode: one key frame and several groups of B-frames.
    static let frameCount = 12
    /// The numbers of B-frames and slices in trials that use them.
    static let (someBFrames, someSlices) = (2, 4)
}

/// A listed combination that is not tried, with the reason.
struct UntriedCombination: Sendable, Hashable {
    var profile: Profile
    var entrypoint: Entrypoint
    var mode: RateControlModes
    var reason: String
}

// MARK: - Listed combinations

extension Trial {
    /// Returns every combination of profile, entrypoint, rate control, B-frames and slices that a driver lists for
    /// H.264 and HEVC, in the driver's order.
    static func listed(by driver: ProbedDriver) -> [Trial] {
        driver.encoders.flatMap { encoder -> [Trial] in
            guard let capabilities = encoder.answer.capabilities, encoder.profile.coded != nil,
                encoder.entrypoint.codesSlices
            else { return [] }
            return capabilities.triedModes.filter { configurable($0) }.flatMap { mode in
                capabilities.triedBFrames.flatMap { bFrames in
                    capabilities.triedSlices.map { slices in
                        Trial(
                            profile: encoder.profile,
                            entrypoint: encoder.entrypoint,
                            mode: mode,
                            bFrames: bFrames,
                            slices: slices,
                            width: size(320, capabilities.minimumWidth, capabilities.maximumWidth),
                            height: size(240, capabilities.minimumHeight, capabilities.maximumHeight)
                        )
                    }
                }
            }
        }
    }

    /// Returns the listed combinations for these codecs that are not tried.
    static func untried(of driver: ProbedDriver) -> [UntriedCombination] {
        driver.encoders.flatMap { encoder -> [UntriedCombination] in
            let name = encoder.profile.description
            guard name.hasPrefix("H264") || name.hasPrefix("HEVC") else { return [] }
            func untried(_ mode: RateControlModes, _ reason: String) -> UntriedCombination {
                UntriedCombination(
                    profile: encoder.profile,
                    entrypoint: encoder.entrypoint,
                    mode: mode,
                    reason: reason
                )
            }
            guard let capabilities = encoder.answer.capabilities else { return [untried([], "the driver had failed")] }
            guard encoder.profile.coded != nil, encoder.entrypoint.codesSlices else {
                return [untried([], "this version does not support it")]
            }
            return capabilities.triedModes.filter { !configurable($0) }.map {
                untried($0, "this version does not support this rate control mode")
            }
        }
    }

    private static func configurable(_ mode: RateControlModes) -> Bool {
        [.cqp, .cbr, .vbr, .icq, .qvbr, .avbr].contains(mode)
    }

    /// Returns a usual size, or the nearest one that the driver supports, in whole macroblocks.
    private static func size(_ usual: Int, _ least: Int?, _ most: Int?) -> Int {
        min(max(usual, (least ?? 0) + 15), most ?? usual) / 16 * 16
    }
}

extension EncodeCapabilities {
    /// The rate control modes to try. A driver that lists none has constant quantizers.
    fileprivate var triedModes: [RateControlModes] {
        exclusiveRateControlModes.isEmpty ? [.cqp] : exclusiveRateControlModes
    }

    fileprivate var triedBFrames: [Int] {
        hasBFrames && profile.coded?.isBaseline == false ? [0, Trial.someBFrames] : [0]
    }

    /// The numbers of slices to try. A driver that lists no slice structures does not support several slices, whatever
    /// number it reports.
    fileprivate var triedSlices: [Int] {
        guard let maximumSlices, maximumSlices > 1, sliceStructures?.isEmpty == false else { return [1] }
        return [1, min(maximumSlices, Trial.someSlices)]
    }
}

extension Entrypoint {
    /// Whether it encodes slices, as encoders of H.264 and HEVC do.
    var codesSlices: Bool { description == "EncSlice" || isLowPower }
    fileprivate var isLowPower: Bool { description == "EncSliceLP" }
}

extension Profile {
    /// The profile in configurations; `nil` if it is not supported.
    var coded: VideoProfile? {
        switch description {
        case "H264ConstrainedBaseline": .h264Baseline
        case "H264Main": .h264Main
        case "H264High": .h264High
        case "HEVCMain": .hevcMain
        case "HEVCMain10": .hevcMain10
        case "HEVCMain12": .hevcMain12
        case "HEVCMain422_10": .hevcMain422Bits10
        case "HEVCMain422_12": .hevcMain422Bits12
        case "HEVCMain444": .hevcMain444
        case "HEVCMain444_10": .hevcMain444Bits10
        case "HEVCMain444_12": .hevcMain444Bits12
        default: nil
        }
    }
}

// MARK: - Configuration

extension Trial {
    /// The codec of its profile.
    var codec: VideoCodec { profile.coded?.codec ?? .h264 }

    /// The configuration that requests this combination and nothing else.
    var configuration: EncoderConfiguration {
        var configuration = EncoderConfiguration(width: width, height: height)
        configuration.codec = codec == .hevc ? .hevc : .h264
        configuration.profile = profile.coded
        configuration.bitDepth = profile.coded?.maximumBitDepth ?? 8
        configuration.chromaFormat = profile.coded?.chromaFormat ?? .yuv420
        configuration.rateControl = rateControl
        configuration.bFrames = bFrames == 0 ? .off : .maximum(bFrames)
        configuration.slices = slices
        configuration.hardware.lowPower = entrypoint.isLowPower ? .required : .avoided
        return configuration
    }

    private var rateControl: RateControl {
        switch mode {
        case .cbr: .constantBitRate(512_000)
        case .vbr: .averageBitRate(512_000, peak: .limit(768_000))
        case .avbr: .averageBitRate(512_000, peak: .unlimited)
        case .icq: .constantQuality(26, peak: .unlimited)
        case .qvbr: .constantQuality(26, peak: .limit(768_000))
        default: .constantQuantizer(26)
        }
    }
}
