// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes
internal import VAAPI

extension EncoderSetup {
    /// How bits are spent with another rate, quality, quantizer or frame rate, as far as an encoder at work takes it.
    ///
    /// What the stream has told stays true: a new rate within its level, the same reference decoder if there is one,
    /// the same frame rate if that is constant. The mode of rate control is fixed in the driver's config.
    ///
    /// - Parameter configuration: A validated one.
    /// - Returns: `nil` if only a new encoder can do it.
    func rate(changedTo configuration: EncoderConfiguration) -> RatePlan? {
        guard configuration.isUpdate(of: stream.configuration) else { return nil }
        if configuration.frameRate != stream.configuration.frameRate, !configuration.isFrameRateVariable { return nil }
        var adjustments: [Adjustment] = []
        let limit = Stream.codableRate(configuration, &adjustments)
        guard stream.takes(configuration, limit),
            var plan = try? RatePlan(configuration, limit: limit, modes: modes).adapted(to: device.quirks)
        else { return nil }
        plan = plan.keepingPeak(below: stream.levelLimit.bitsPerSecond)
        if !canFollow(plan) { return nil }
        if stream.tellsTiming, plan.target != device.rate.target { return nil }
        // A driver keeps the buffer that it was told of.
        if device.rate.target?.bufferSize != nil, plan.target?.bufferSize == nil { return nil }
        plan.adjustments += adjustments
        return plan
    }

    /// Whether the driver does what the plan says while it works.
    private func canFollow(_ plan: RatePlan) -> Bool {
        let (old, quirks) = (device.rate, device.quirks)
        let (hasTarget, hasQuality) = (plan.target == old.target, plan.quality == old.quality)
        if quirks.unchangeableModes.contains(old.mode) { return hasTarget && hasQuality }
        return !quirks.ignoresChangedQuality || hasQuality || !hasTarget
    }

    /// The driver's mode, and whether it controls macroblocks, in which it was made.
    private var modes: RateControlModes {
        device.rate.controlsMacroblocks == nil ? device.rate.mode : [device.rate.mode, .perMacroblock]
    }
}
