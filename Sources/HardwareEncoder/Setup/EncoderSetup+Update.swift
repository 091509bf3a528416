// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes
internal import VAAPI

extension EncoderSetup {
    /// Returns the rate control with another rate, quality, quantizer or frame rate, if an active encoder can apply it.
    ///
    /// The signalled properties of the stream stay valid: the new rate is within its level, and the reference decoder,
    /// if any, and a constant frame rate are unchanged. The driver's config fixes the rate control mode.
    ///
    /// - Parameter configuration: A validated configuration.
    /// - Returns: `nil` if this requires a new encoder.
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
        // A driver keeps its buffer setting.
        if device.rate.target?.bufferSize != nil, plan.target?.bufferSize == nil { return nil }
        plan.adjustments += adjustments
        return plan
    }

    /// Whether the driver can apply the plan while it runs.
    private func canFollow(_ plan: RatePlan) -> Bool {
        let (old, quirks) = (device.rate, device.quirks)
        let (hasTarget, hasQuality) = (plan.target == old.target, plan.quality == old.quality)
        if quirks.unchangeableModes.contains(old.mode) { return hasTarget && hasQuality }
        return !quirks.ignoresChangedQuality || hasQuality || !hasTarget
    }

    /// The driver's rate control mode at creation, including macroblock control.
    private var modes: RateControlModes {
        device.rate.controlsMacroblocks == nil ? device.rate.mode : [device.rate.mode, .perMacroblock]
    }
}
