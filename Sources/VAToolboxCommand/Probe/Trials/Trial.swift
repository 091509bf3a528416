// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import VAAPI

/// One way to encode that a driver lists: what `probe --exhaustive` tries.
struct Trial: Sendable, Hashable {
    /// The profile, as the driver calls it.
    var profile: Profile
    /// The entrypoint.
    var entrypoint: Entrypoint
    /// One mode of rate control.
    var mode: RateControlModes
    /// How many B-frames are to follow each other, 0 for none.
    var bFrames: Int
    /// How many slices a picture is to have.
    var slices: Int
    /// The size of the pictures.
    var width: Int
    var height: Int

    /// How many frames are encoded: one key frame and several groups of B-frames.
    static let frameCount = 12
    /// B-frames and slices where there are any.
    static let (someBFrames, someSlices) = (2, 4)
}

/// What a driver lists and nobody tries, with the reason.
struct UntriedCombination: Sendable, Hashable {
    var profile: Profile
    var entrypoint: Entrypoint
    var mode: RateControlModes
    var reason: String
}

// MARK: - What there is to try

extension Trial {
    /// Every combination of profile, entrypoint, rate control, B-frames and slices that a driver lists for H.264 and
    /// HEVC, in the driver's order.
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

    /// What it lists for these codecs beyond that.
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

    /// A usual size, or the nearest one that the driver takes, in whole macroblocks.
    private static func size(_ usual: Int, _ least: Int?, _ most: Int?) -> Int {
        min(max(usual, (least ?? 0) + 15), most ?? usual) / 16 * 16
    }
}

extension EncodeCapabilities {
    /// A driver that lists no rate control has constant quantizers.
    fileprivate var triedModes: [RateControlModes] {
        exclusiveRateControlModes.isEmpty ? [.cqp] : exclusiveRateControlModes
    }

    fileprivate var triedBFrames: [Int] {
        hasBFrames && profile.coded?.isBaseline == false ? [0, Trial.someBFrames] : [0]
    }

    /// A driver that states no way to divide pictures lists no pictures of several slices, whatever number it states.
    fileprivate var triedSlices: [Int] {
        guard let maximumSlices, maximumSlices > 1, sliceStructures?.isEmpty == false else { return [1] }
        return [1, min(maximumSlices, Trial.someSlices)]
    }
}

extension Entrypoint {
    /// Whether it takes pictures slice by slice, as encoders of H.264 and HEVC do.
    var codesSlices: Bool { description == "EncSlice" || isLowPower }
    fileprivate var isLowPower: Bool { description == "EncSliceLP" }
}

extension Profile {
    /// The profile as configurations have it; `nil` if it is one that is not encoded.
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

// MARK: - How it is asked for

extension Trial {
    /// The codec of its profile.
    var codec: VideoCodec { profile.coded?.codec ?? .h264 }

    /// The configuration that asks for this combination and for nothing else.
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
