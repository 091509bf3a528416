// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import GOPPlanning
internal import MediaTypes
internal import VAAPI

/// Settles what one of a driver's encoders does of a configuration, as far as it is not peculiar to a codec.
struct DeviceSettlement {
    /// The validated configuration.
    let configuration: EncoderConfiguration
    /// What the driver says of the profile and entrypoint.
    let capabilities: EncodeCapabilities
    /// What else is known of the driver.
    let quirks: Quirks
    /// Profile and entrypoint, for messages.
    let encoder: String
    /// Where it differs from what was asked for, so far.
    var adjustments: [Adjustment] = []

    init(_ configuration: EncoderConfiguration, _ capabilities: EncodeCapabilities, _ quirks: Quirks) {
        self.configuration = configuration
        self.capabilities = capabilities
        self.quirks = quirks
        encoder = "\(capabilities.profile) with \(capabilities.entrypoint)"
    }

    mutating func report(_ property: String, _ requested: String, _ used: String, _ reason: String) {
        if requested == used { return }
        adjustments.append(Adjustment(property: property, requested: requested, used: used, reason: reason))
    }
}

// MARK: - Limits

extension DeviceSettlement {
    /// - Parameter format: how samples lie in the surfaces that pictures are coded from.
    /// - Throws: `unsupported` if the driver does not encode pictures of that size or format.
    func check(_ format: PixelFormat) throws(MediaError) {
        let (width, height) = (configuration.width, configuration.height)
        let least = (capabilities.minimumWidth ?? 1, capabilities.minimumHeight ?? 1)
        let most = (capabilities.maximumWidth ?? .max, capabilities.maximumHeight ?? .max)
        guard width >= least.0, height >= least.1, width <= most.0, height <= most.1 else {
            let end = most == (.max, .max) ? "no limit" : "\(most.0)x\(most.1)"
            throw MediaError(
                .unsupported,
                "the driver does not encode pictures of this size as \(encoder)",
                given: "\(width)x\(height)",
                allowed: "\(least.0)x\(least.1) to \(end)",
                cause: .sizeOutOfRange
            )
        }
        let formats = capabilities.surfaces.formats
        let isTarget =
            capabilities[.renderTargetFormat] == nil
            || capabilities.renderTargetFormats.contains(format.renderTargetFormat)
        guard formats.isEmpty || format.fourCCs.contains(where: formats.contains), isTarget else {
            throw MediaError(
                .unsupported,
                "the driver does not encode \(format.chromaFormat.name) of \(format.bitDepth) bits as \(encoder)",
                allowed: "\(capabilities.renderTargetFormats), \(formats.map(\.description).joined(separator: " "))",
                cause: .formatMissing
            )
        }
    }

    /// How the surfaces are called that pictures are coded from: by the best name that the driver lists.
    func surfaceFormat(_ format: PixelFormat) -> FourCC {
        format.fourCCs.first(where: capabilities.surfaces.formats.contains) ?? format.fourCC
    }

    /// The modes of rate control; a driver that names none has constant quantizers.
    var rateControlModes: RateControlModes {
        let modes = capabilities.rateControlModes
        return modes.isEmpty ? .cqp : modes
    }

    /// How bits are spent.
    ///
    /// - Parameter limit: The limit on peaks as the stream tells it; `nil` for none.
    func rate(limit: RateLimit?) throws(MediaError) -> RatePlan {
        do throws(MediaError) {
            return try RatePlan(configuration, limit: limit, modes: rateControlModes).adapted(to: quirks)
        } catch {
            var error = error
            let lacksFirmware = rateControlModes == .cqp && capabilities.entrypoint == .encSliceLowPower
            if error.cause == .rateControlMissing, lacksFirmware { error.cause = .firmwareMissing }
            throw error
        }
    }

    /// The headers that the driver is sent.
    ///
    /// Parameter sets and slice headers go together or not at all: slice headers are read with the widths and defaults
    /// that the sets state, and a driver that writes one of them and is sent another makes a stream of two minds. Other
    /// NAL units stand between sets and slices, so that the driver takes them only with those.
    var packedHeaders: PackedHeaders {
        let needed: PackedHeaders = [.sequence, .picture, .slice]
        guard capabilities.packedHeaders.isSuperset(of: needed) else { return [] }
        return capabilities.packedHeaders.intersection(needed.union(.rawData))
    }

    /// Whether the stream tells its rates, and when each picture is decoded and shown: at a constant rate, with frames
    /// that are equally far apart, and where the driver's own count of bits includes the messages that say so.
    ///
    /// What is told cannot change before the next key frame. With low latency that would cost a line whose rate changes
    /// more than a decoder, which shows pictures at once, would gain.
    func sendsTiming(_ rate: RatePlan) -> Bool {
        rate.mode == .cbr && rate.isPadded && rate.target?.bufferSize != nil && packedHeaders.contains(.rawData)
            && !configuration.isFrameRateVariable && !configuration.isLowLatency
    }

    /// What the config is made with.
    func attributes(_ rate: RatePlan, _ format: PixelFormat) -> [ConfigAttributeValue] {
        var values: [ConfigAttributeValue] = []
        if capabilities[.renderTargetFormat] != nil {
            values.append(ConfigAttributeValue(.renderTargetFormat, format.renderTargetFormat.rawValue))
        }
        if !capabilities.rateControlModes.isEmpty {
            values.append(ConfigAttributeValue(.rateControl, rate.configModes.rawValue))
        }
        if capabilities[.packedHeaders] != nil {
            values.append(ConfigAttributeValue(.packedHeaders, packedHeaders.rawValue))
        }
        return values
    }
}

// MARK: - Choices

extension DeviceSettlement {
    /// The slice structures that the driver lists and keeps to; `nil` if it lists none.
    var sliceStructures: SliceStructures? { capabilities.sliceStructures?.subtracting(quirks.unkeptSliceStructures) }

    /// - Parameters:
    ///   - columns: Blocks in a row.
    ///   - rows: Rows of blocks.
    mutating func slices(_ codec: CodecLimits, columns: Int, rows: Int) -> [Range<Int>] {
        let ofDriver = capabilities.maximumSlices ?? 1
        let layout = SliceLayout(
            count: configuration.slices,
            columns: columns,
            rows: rows,
            maximum: min(ofDriver, codec.slices ?? .max),
            structures: sliceStructures
        )
        let reason: String
        switch layout.slices.count {
        case _ where ofDriver < 2 || sliceStructures?.isEmpty != false:
            reason = "the driver does not divide pictures"
        case codec.slices:
            reason = "level \(codec.level ?? "") allows no more for this size and frame rate"
        case ofDriver: reason = "the driver divides pictures into at most \(ofDriver) slices"
        case columns * rows: reason = "the picture has only that many blocks"
        case rows: reason = "the picture has only that many rows of blocks"
        default: reason = "the driver divides pictures only by \(sliceStructures ?? [])"
        }
        report("slices", "\(configuration.slices)", "\(layout.slices.count)", reason)
        return layout.slices
    }

    mutating func qualityLevel() -> Int? {
        guard let asked = configuration.hardware.qualityLevel else { return nil }
        let takesLevels =
            capabilities.entrypoint == .encSlice && quirks.slicesWithQualityLevels != nil
            && capabilities.maximumSlices == quirks.slicesWithQualityLevels
        if let reason = quirks.noQualityLevels, !takesLevels {
            report("quality level", "\(asked)", "none", reason)
            return nil
        }
        guard capabilities.qualityLevels > 1 else {
            report("quality level", "\(asked)", "none", "the driver has no quality levels")
            return nil
        }
        let levels = quirks.qualityValues?.count ?? capabilities.qualityLevels
        let used = min(max(asked, 1), levels)
        report("quality level", "\(asked)", "\(used)", "the driver has levels 1 to \(levels)")
        return quirks.qualityValues.map { $0[used - 1] } ?? used
    }

    mutating func framesInFlight() -> Int {
        let frames = configuration.hardware.framesInFlight ?? (configuration.isLowLatency ? 1 : 4)
        let allowed = HardwareEncoderOptions.allowedFramesInFlight
        let taken = min(max(frames, allowed.lowerBound), allowed.upperBound)
        guard let limit = quirks.framesInFlightLimit, limit < taken else { return taken }
        if configuration.hardware.framesInFlight != nil {
            report("frames in flight", "\(taken)", "\(limit)", "with more, the driver loses pictures on this GPU")
        }
        return limit
    }

    mutating func maximumFrameSize() -> Int? {
        guard let asked = configuration.maximumFrameSize else { return nil }
        guard capabilities.frameSizeLimit != nil else {
            report("maximum frame size", "\(asked) bytes", "none", "the driver cannot limit the size of a frame")
            return nil
        }
        return asked
    }

    /// - Throws: `unsupported` if the driver would control the rate of another frame rate.
    func checkFrameRate(_ rate: RatePlan) throws(MediaError) {
        guard let limit = quirks.frameRateLimit, rate.mode != .cqp, configuration.frameRate.doubleValue > limit else {
            return
        }
        throw MediaError(
            .unsupported,
            "the driver's rate control does not support this frame rate",
            given: "\(configuration.frameRate.doubleValue)",
            allowed: "at most \(limit), or a constant quantizer"
        )
    }

    /// The regions of interest that the driver takes as differences of the quantizer, which is what a frame gives.
    func regionsOfInterest(_ rate: RatePlan) -> RegionLimits {
        guard let regions = capabilities.regionsOfInterest, rate.mode == .cqp || regions.takesQPDifferences else {
            return RegionLimits(count: 0)
        }
        guard let offsets = quirks.fewRegionsOffsets, regions.count <= 3, rate.mode != .cqp,
            capabilities.entrypoint == .encSliceLowPower
        else { return RegionLimits(count: regions.count) }
        // Where macroblocks are not controlled one by one, it has no regions at all; these modes control them.
        let isControlled = rate.configModes.contains(.perMacroblock) || [.icq, .qvbr].contains(rate.mode)
        return RegionLimits(count: isControlled ? regions.count : 0, offsets: offsets)
    }

    /// The wave of intra refresh, if one was asked for and the driver has one.
    ///
    /// - Parameter longest: The most frames that a recovery point can tell of.
    mutating func intraRefresh(columns: Int, rows: Int, longest: Int) -> IntraRefreshWave? {
        guard configuration.usesIntraRefresh else { return nil }
        let kinds = capabilities.intraRefresh
        guard kinds.contains(.rollingColumn) || kinds.contains(.rollingRow), references.list0 > 0 else {
            report("intra refresh", "on", "off", "the driver has no rolling intra refresh as \(encoder)")
            return nil
        }
        // Columns, so that every slice of a picture is renewed in part and no slice alone takes all of the bits.
        let isColumn = kinds.contains(.rollingColumn)
        let length = isColumn ? columns : rows
        let asked = keyFrameDistance ?? length
        let period = min(asked, length, longest)
        let reason =
            period < min(asked, length)
            ? "a recovery point cannot signal a longer wave"
            : "each frame refreshes at least one of \(length) " + (isColumn ? "columns" : "rows")
        report("intra refresh", "\(asked) frames", "\(period) frames", reason)
        return IntraRefreshWave(isColumn: isColumn, length: length, period: period)
    }

    /// The number of frames from one key frame to the next, as far as it is a number of frames. Where the time between
    /// frames differs, a limit of time is for whoever sees the times.
    var keyFrameDistance: Int? {
        configuration.isFrameRateVariable
            ? configuration.keyFrameInterval.frames
            : configuration.keyFrameInterval.frameCount(at: configuration.frameRate)
    }
}
