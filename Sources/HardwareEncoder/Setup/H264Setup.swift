// SPDX-License-Identifier: GPL-2.0-or-later

internal import GOPPlanning
internal import MediaTypes
internal import VAAPI

extension H264Setup {
    /// Settles everything about an H.264 encoder.
    ///
    /// - Parameters:
    ///   - configuration: A validated one.
    ///   - capabilities: What the driver says of each profile and entrypoint that it encodes with; those of other
    ///     codecs are passed over.
    ///   - vendor: What the driver calls itself.
    ///   - maximumReorderDepth: How many pictures may be coded before one and shown after it; `nil` for any number.
    /// - Throws: `unsupported` or `invalidArgument`, with what the driver has, if it cannot do what was asked for in a
    ///   way that is still that.
    init(
        _ configuration: EncoderConfiguration,
        capabilities: [EncodeCapabilities],
        vendor: String,
        maximumReorderDepth: Int?
    ) throws(MediaError) {
        let quirks = Quirks(vendor: vendor)
        if let refusal = quirks.refusal { throw MediaError(.unsupported, refusal, given: vendor) }
        let h264 = capabilities.filter { $0.videoProfile != nil }
        var settled: [H264Setup] = []
        var failures: [MediaError] = []
        // The full encoder comes first, so that it is taken if both do the same.
        for entrypoint in try Self.entrypoints(h264, configuration.hardware.lowPower, among: capabilities) {
            do throws(MediaError) {
                let candidates = h264.filter { $0.entrypoint == entrypoint }
                settled.append(try H264Setup(configuration, candidates, quirks, maximumReorderDepth))
            } catch {
                failures.append(error)
            }
        }
        let best = settled.min { $0.device.adjustments.count < $1.device.adjustments.count }
        guard let best else {
            throw failures.first ?? Self.noEncoder(capabilities)
        }
        self = best
    }

    /// The entrypoints that may be used, the one to prefer first.
    private static func entrypoints(
        _ h264: [EncodeCapabilities],
        _ lowPower: HardwareEncoderOptions.LowPower,
        among all: [EncodeCapabilities]
    ) throws(MediaError) -> [Entrypoint] {
        let available = [Entrypoint.encSlice, .encSliceLowPower].filter { entrypoint in
            h264.contains { $0.entrypoint == entrypoint }
        }
        guard !available.isEmpty else {
            throw noEncoder(all)
        }
        let usable = available.filter { entrypoint in
            switch lowPower {
            case .automatic: true
            case .required: entrypoint == .encSliceLowPower
            case .avoided: entrypoint == .encSlice
            }
        }
        guard !usable.isEmpty else {
            throw MediaError(
                .unsupported,
                lowPower == .required
                    ? "the driver has no low-power encoder for H.264"
                    : "the driver has only a low-power encoder for H.264",
                given: "low power \(lowPower.rawValue)",
                allowed: available.map(\.description).joined(separator: ", "),
                cause: .entrypointMissing
            )
        }
        return usable
    }

    private static func noEncoder(_ capabilities: [EncodeCapabilities]) -> MediaError {
        let listed = capabilities.map { "\($0.profile) with \($0.entrypoint)" }.joined(separator: ", ")
        return MediaError(
            .unsupported,
            "the driver does not encode H.264",
            allowed: listed.isEmpty ? nil : listed,
            cause: .gpuWithoutEncoder
        )
    }

    /// Settles one entrypoint.
    private init(
        _ configuration: EncoderConfiguration,
        _ candidates: [EncodeCapabilities],
        _ quirks: Quirks,
        _ maximumReorderDepth: Int?
    ) throws(MediaError) {
        let profile = try H264Stream.profile(configuration, among: candidates.compactMap(\.videoProfile))
        guard let capabilities = candidates.first(where: { $0.videoProfile == profile }) else {
            throw MediaError(
                .unsupported,
                "the driver lacks the profile",
                given: profile.rawValue,
                cause: .profileMissing
            )
        }
        var settlement = DeviceSettlement(configuration, capabilities, quirks)
        try settlement.check()
        var rate = try settlement.rate(limit: H264Stream.rateLimit(configuration))
        let (columns, rows) = ((configuration.width + 15) / 16, (configuration.height + 15) / 16)
        let refresh = settlement.intraRefresh(columns: columns, rows: rows)
        let structure = settlement.structure(
            Self.limits(configuration, profile),
            refresh: refresh,
            maximumReorderDepth: maximumReorderDepth
        )
        var traits = H264Stream.Traits(profiles: [profile])
        traits.referenceFrames = structure.referenceCount
        traits.reorderDepth = structure.reorderDepth
        traits.activeReferences = [structure.list0Limit, structure.list1Limit]
        traits.initialQuantizer = rate.quantizer
        traits.hasIntraRefresh = refresh != nil
        traits.sendsTiming = settlement.sendsTiming(rate)
        let stream = try H264Stream(configuration, traits)
        rate = rate.keepingPeak(below: stream.level.maximumRate(in: profile).bitsPerSecond)
        let slices = settlement.slices(columns: columns, rows: rows)
        let qualityLevel = settlement.qualityLevel()
        let maximumFrameSize = settlement.maximumFrameSize()
        let regions = settlement.regionsOfInterest(rate)
        var device = DeviceSetup(
            profile: capabilities.profile,
            entrypoint: capabilities.entrypoint,
            attributes: settlement.attributes(rate),
            packedHeaders: settlement.packedHeaders,
            structure: structure,
            rate: rate,
            slices: slices,
            framesInFlight: settlement.framesInFlight,
            qualityLevel: qualityLevel,
            intraRefresh: refresh,
            maximumFrameSize: maximumFrameSize,
            regionsOfInterest: regions,
            takesPages: capabilities.surfaces.memoryTypes.contains(.userPointer),
            supportedProperties: [],
            adjustments: settlement.adjustments + rate.adjustments + stream.adjustments,
            quirks: quirks
        )
        device.supportedProperties = settlement.supportedProperties(device)
        self.init(device: device, stream: stream)
    }

    private static func limits(
        _ configuration: EncoderConfiguration,
        _ profile: VideoProfile
    ) -> DeviceSettlement.CodecLimits {
        let (width, height) = (configuration.width, configuration.height)
        let level = configuration.level ?? H264Stream.lowestLevel(configuration, profile)
        return DeviceSettlement.CodecLimits(
            hasBFrames: !profile.isBaseline,
            pictures: max(1, level?.decodedPictures(width: width, height: height) ?? 16),
            canHaveMorePictures: configuration.level == nil
        )
    }
}

extension EncodeCapabilities {
    /// The profile of H.264 if it is one that is encoded here, with an entrypoint that encodes slices.
    fileprivate var videoProfile: VideoProfile? {
        guard entrypoint == .encSlice || entrypoint == .encSliceLowPower else { return nil }
        return [VideoProfile.h264High, .h264Main, .h264Baseline].first { Profile($0) == profile }
    }
}
