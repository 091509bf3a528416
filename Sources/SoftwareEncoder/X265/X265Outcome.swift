// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CX265
internal import MediaTypes

/// The effective settings of x265, according to its parameters and its parameter sets.
struct X265Outcome {
    let profile: String
    let level: String
    /// `sps_max_num_reorder_pics`.
    let reorderDepth: Int
    /// The size of the coded picture, which contains the video.
    let codedSize: PictureSize
    let formatDescription: FormatDescription
    /// The differences from the request.
    let adjustments: [Adjustment]

    init(_ settings: X265Settings, _ instance: X265Instance) throws(MediaError) {
        let parameterSets = try instance.parameterSets()
        guard parameterSets.count == 3 else {
            throw MediaError(.creationFailed, "x265 returned \(parameterSets.count) parameter sets", allowed: "3")
        }
        let sequence: HEVCSequenceParameterSet
        do {
            sequence = try HEVCSequenceParameterSet(nalUnit: parameterSets[1])
        } catch {
            throw MediaError(.creationFailed, "x265 returned an invalid sequence parameter set: \(error)")
        }
        profile = sequence.profileTierLevel.general.name
        level = sequence.profileTierLevel.level
        reorderDepth = sequence.maxNumReorderPics
        codedSize = sequence.codedSize
        formatDescription = FormatDescription(
            codec: .hevc,
            width: sequence.displaySize.width,
            height: sequence.displaySize.height,
            parameterSets: parameterSets,
            color: ColorDescription(sequence.vui?.signal),
            pixelAspectRatio: sequence.sampleAspectRatio.map(Rational.init) ?? .one,
            attachments: PixelAttachments(
                masteringDisplay: settings.configuration.masteringDisplay,
                contentLight: settings.configuration.contentLight
            )
        )
        adjustments = Self.adjustments(settings, instance, sequence)
    }

    private static func adjustments(
        _ settings: X265Settings,
        _ instance: X265Instance,
        _ sequence: HEVCSequenceParameterSet
    ) -> [Adjustment] {
        let (configuration, asked, actual) = (settings.configuration, settings.parameters, instance.parameters)
        var adjustments: [Adjustment] = []
        func report<Value: Equatable>(_ property: String, _ requested: Value, _ used: Value, _ reason: String) {
            guard requested != used else { return }
            adjustments.append(
                Adjustment(property: property, requested: "\(requested)", used: "\(used)", reason: reason)
            )
        }
        if case .maximum = configuration.bFrames {
            report("b-frames", asked.bframes, actual.bframes, "a stream of key frames only has no B-frames")
        }
        if !settings.isZeroLatency, asked.maxSlices > 1 {
            let reason = "x265 codes at most one slice for each row of blocks"
            report("slices", configuration.slices, Int(actual.maxSlices), reason)
        }
        if let range = configuration.quantizerRange, case .constantQuantizer = configuration.rateControl {
            report("quantizer range", "\(range)", "none", "x265 derives those of I- and B-frames from the constant one")
        }
        if configuration.software.instructionSet != .automatic, asked.cpuid != instance.instructions {
            let reason = "x265 keeps to the instructions of the first encoder of the process"
            report("instructions", configuration.software.instructionSet.rawValue, "those of the first encoder", reason)
        }
        if asked.rc.vbvBufferSize > 0 {
            report(
                "rate buffer",
                "\(asked.rc.vbvBufferSize) kbit",
                "\(actual.rc.vbvBufferSize) kbit",
                "x265 takes from one frame at the peak rate to 2000000 kbit"
            )
        } else {
            let reason = "x265 keeps to a level by a limit on peaks"
            report(
                "peak bitrate",
                "none",
                actual.rc.vbvMaxBitrate == 0 ? "none" : "\(actual.rc.vbvMaxBitrate) kbit/s",
                reason
            )
        }
        if let ratio = configuration.pixelAspectRatio, let used = sequence.sampleAspectRatio.map(Rational.init) {
            report("pixel aspect ratio", ratio.reduced, used, "numerator and denominator have 16 bits")
        }
        if let level = configuration.hevcLevel, level.isHighTier, asked.levelIdc > 0 {
            let used = sequence.profileTierLevel.general.tierFlag ? level.name : level.number
            report("level", level.name, used, "x265 writes the Main tier where the rates keep to it")
        }
        let general = sequence.profileTierLevel.general
        // The settings determine whether it is the profile's variant for key frames only.
        if let profile = configuration.profile,
            !general.name.hasPrefix(profile.hevcProfile?.name ?? "")
                || general.profileIdc != profile.hevcProfile?.profileIdc
        {
            report("profile", profile.rawValue, general.name, "the other settings decide it")
        }
        return adjustments
    }
}
