// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import GOPPlanning
internal import MediaTypes
internal import VAAPI

/// The complete setup of an encoder, determined before anything of it is created: its ``DeviceSetup`` and the resulting
/// stream.
struct EncoderSetup<Stream: CodedStream>: Sendable {
    var device: DeviceSetup
    var stream: Stream
}

extension EncoderSetup {
    /// Determines the setup of an encoder.
    ///
    /// - Parameters:
    ///   - configuration: A validated configuration.
    ///   - capabilities: The driver's capabilities for each encoding profile and entrypoint; those of other codecs are
    ///     ignored.
    ///   - vendor: The driver's vendor string.
    ///   - maximumReorderDepth: The maximum number of pictures that are coded before a picture and shown after it;
    ///     `nil` for any number.
    /// - Throws: `unsupported` or `invalidArgument`, with the driver's capabilities, if it cannot satisfy the request
    ///   even with adjustments.
    init(
        _ configuration: EncoderConfiguration,
        capabilities: [EncodeCapabilities],
        vendor: String,
        maximumReorderDepth: Int?
    ) throws(MediaError) {
        let quirks = Quirks(vendor: vendor, codec: Stream.codec)
        if let refusal = quirks.refusal { throw MediaError(.unsupported, refusal, given: vendor) }
        let ours = capabilities.filter { $0.videoProfile(Stream.self) != nil }
        var settled: [Self] = []
        var failures: [MediaError] = []
        // The full encoder comes first, so that it is used if both are equivalent.
        for entrypoint in try Self.entrypoints(ours, configuration.hardware.lowPower, among: capabilities) {
            do throws(MediaError) {
                let candidates = ours.filter { $0.entrypoint == entrypoint }
                settled.append(try Self(configuration, candidates, quirks, maximumReorderDepth))
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

    /// Returns the entrypoints that may be used, preferred one first.
    private static func entrypoints(
        _ ours: [EncodeCapabilities],
        _ lowPower: HardwareEncoderOptions.LowPower,
        among all: [EncodeCapabilities]
    ) throws(MediaError) -> [Entrypoint] {
        let available = [Entrypoint.encSlice, .encSliceLowPower].filter { entrypoint in
            ours.contains { $0.entrypoint == entrypoint }
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
                    ? "the driver has no low-power encoder for \(Stream.codecName)"
                    : "the driver has only a low-power encoder for \(Stream.codecName)",
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
            "the driver does not encode \(Stream.codecName)",
            allowed: listed.isEmpty ? nil : listed,
            cause: .gpuWithoutEncoder
        )
    }

    /// Determines the setup for one entrypoint.
    private init(
        _ configuration: EncoderConfiguration,
        _ candidates: [EncodeCapabilities],
        _ quirks: Quirks,
        _ maximumReorderDepth: Int?
    ) throws(MediaError) {
        let available = candidates.compactMap { $0.videoProfile(Stream.self) }
        let profile = try Stream.profile(configuration, among: available)
        guard let capabilities = candidates.first(where: { $0.videoProfile(Stream.self) == profile }) else {
            throw MediaError(
                .unsupported,
                "the driver does not support the profile",
                given: profile.rawValue,
                cause: .profileMissing
            )
        }
        let tools = try Stream.Tools(capabilities, quirks)
        var settlement = DeviceSettlement(configuration, capabilities, quirks)
        let format = Stream.pixelFormat(profile, configuration)
        try settlement.check(format)
        var rate = try settlement.rate(limit: Stream.rateLimit(configuration))
        try settlement.checkFrameRate(rate)
        // VA-API counts waves in macroblocks for all codecs (VAEncMiscParameterRIR), but not all drivers do.
        let refreshed = blocks(ofSide: quirks.refreshBlock, configuration.width, configuration.height)
        let refresh = settlement.intraRefresh(
            columns: refreshed.columns,
            rows: refreshed.rows,
            longest: Stream.longestRefresh
        )
        let limits = Stream.limits(configuration, profile, tools)
        let structure = settlement.structure(
            limits,
            refresh: refresh,
            maximumReorderDepth: maximumReorderDepth
        )
        let size = tools.codedSize(width: configuration.width, height: configuration.height)
        let coded = blocks(ofSide: tools.blockSize, size.width, size.height)
        let slices = settlement.slices(limits, columns: coded.columns, rows: coded.rows)
        let regions = settlement.regionsOfInterest(rate)
        var traits = StreamTraits(profiles: [profile], structure)
        traits.slices = slices.count
        traits.initialQuantizer = rate.quantizer
        traits.changesQuantizers = rate.mode != .cqp || regions.count > 0
        let canConstrain = rate.mode == .cqp || !quirks.cannotConstrainIntraWithRates
        traits.constrainsIntra = refresh != nil && canConstrain
        traits.sendsTiming = settlement.sendsTiming(rate)
        let stream = try Stream(configuration, traits, tools)
        rate = rate.keepingPeak(below: stream.levelLimit.bitsPerSecond)
        let qualityLevel = settlement.qualityLevel()
        let maximumFrameSize = settlement.maximumFrameSize()
        let framesInFlight = settlement.framesInFlight()
        var device = DeviceSetup(
            profile: capabilities.profile,
            entrypoint: capabilities.entrypoint,
            attributes: settlement.attributes(rate, format),
            surfaceFormat: settlement.surfaceFormat(format),
            packedHeaders: settlement.packedHeaders,
            structure: structure,
            rate: rate,
            slices: slices,
            framesInFlight: framesInFlight,
            qualityLevel: qualityLevel,
            intraRefresh: refresh,
            maximumFrameSize: maximumFrameSize,
            regions: regions,
            takesPages: capabilities.surfaces.memoryTypes.contains(.userPointer),
            supportedProperties: [],
            adjustments: settlement.adjustments + rate.adjustments + stream.adjustments,
            quirks: quirks
        )
        device.supportedProperties = settlement.supportedProperties(device)
        // HEVC supports only CABAC.
        if Stream.codec != .h264 { device.supportedProperties.remove(.entropyMode) }
        self.init(device: device, stream: stream)
    }
}

extension StreamTraits {
    /// Creates the traits of a stream with a structure.
    fileprivate init(profiles: [VideoProfile], _ structure: GOPStructure) {
        self.init(profiles: profiles)
        referenceFrames = structure.referenceCount
        reorderDepth = structure.reorderDepth
        activeReferences = [structure.list0Limit, structure.list1Limit]
        longTermReferences = structure.longTermReferences
        temporalLayers = structure.temporalLayers
    }
}

extension EncodeCapabilities {
    /// Returns the profile if it belongs to this encoder's codec and the entrypoint encodes slices.
    fileprivate func videoProfile<Stream: CodedStream>(_ stream: Stream.Type) -> VideoProfile? {
        guard entrypoint == .encSlice || entrypoint == .encSliceLowPower else { return nil }
        return Stream.profiles.first { Profile($0) == profile }
    }
}

/// Returns the number of blocks that cover a picture.
private func blocks(ofSide side: Int, _ width: Int, _ height: Int) -> (columns: Int, rows: Int) {
    ((width + side - 1) / side, (height + side - 1) / side)
}
