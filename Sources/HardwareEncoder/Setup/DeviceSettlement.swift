// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import GOPPlanning
internal import HardwareDisplay
internal import MediaTypes
internal import VAAPI

/// Determines the settings of one of a driver's encoders for a configuration, as far as they do not depend on the
/// codec.
struct DeviceSettlement {
    /// The validated configuration.
    let configuration: EncoderConfiguration
    /// The driver's capabilities for the profile and entrypoint.
    let capabilities: EncodeCapabilities
    /// The known quirks of the driver.
    let quirks: Quirks
    /// The profile and entrypoint, for messages.
    let encoder: String
    /// The adjustments so far.
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
    /// - Parameter format: The sample format of the input surfaces.
    /// - Throws: `unsupported` if the driver does not encode pictures of that size or format.
    func check(_ format: PixelFormat) throws(MediaError) {
        let (width, height) = (configuration.width, configuration.height)
        let least = (capabilities.minimumWidth ?? 1, capabilities.minimumHeight ?? 1)
        let most = (capabilities.maximumWidth ?? .max, capabilities.maximumHeight ?? .max)
        guard width >= least.0, height >= least.1, width <= most.0, height <= most.1 else {
            let end = most == (.max, .max) ? "no limit" : "\(most.0)x\(most.1)"
            throw MediaError(
                .unsupported,
                "the driver does not support pictures of this size for \(encoder)",
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
                "the driver does not support \(format.chromaFormat.name) with \(format.bitDepth) bits for \(encoder)",
                allowed: "\(capabilities.renderTargetFormats), \(formats.map(\.description).joined(separator: " "))",
                cause: .formatMissing
            )
        }
    }

    /// Returns the format of the input surfaces: the preferred code that the driver lists.
    func surfaceFormat(_ format: PixelFormat) -> FourCC {
        format.fourCCs.first(where: capabilities.surfaces.formats.contains) ?? format.fourCC
    }

    /// The rate control modes; a driver that lists none has constant quantizers.
    var rateControlModes: RateControlModes {
        let modes = capabilities.rateControlModes
        return modes.isEmpty ? .cqp : modes
    }

    /// Returns the rate control.
    ///
    /// - Parameter limit: The peak limit as signalled in the stream; `nil` for none.
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

    /// The packed headers that the driver receives.
    ///
    /// It receives parameter sets and slice headers together or not at all: slice headers are parsed with the field
    /// widths and defaults of the sets, so a driver that writes one of them and receives the other produces an
    /// inconsistent stream. Other NAL units are placed between sets and slices, so the driver only accepts them with
    /// both.
    var packedHeaders: PackedHeaders {
        let needed: PackedHeaders = [.sequence, .picture, .slice]
        guard capabilities.packedHeaders.isSuperset(of: needed) else { return [] }
        return capabilities.packedHeaders.intersection(needed.union(.rawData))
    }

    /// Whether the stream signals its rates and the decoding and output times of pictures: at a constant bitrate, with
    /// a constant frame rate, and if the driver's bit count includes the messages for it.
    ///
    /// The signalled values cannot change before the next key frame. With low latency, this would harm a link with a
    /// varying rate more than it would help a decoder, which shows pictures immediately.
    func sendsTiming(_ rate: RatePlan) -> Bool {
        rate.mode == .cbr && rate.isPadded && rate.target?.bufferSize != nil && packedHeaders.contains(.rawData)
            && !configuration.isFrameRateVariable && !configuration.isLowLatency
    }

    /// Returns the attributes of the config.
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
    /// The slice structures that the driver lists and observes; `nil` if it lists none.
    var sliceStructures: SliceStructures? { capabilities.sliceStructures?.subtracting(quirks.unkeptSliceStructures) }

    /// - Parameters:
    ///   - columns: The number of blocks per row.
    ///   - rows: The number of block rows.
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
            reason = "the driver does not support multiple slices"
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
        report("quality level", "\(asked)", "\(used)", "the driver supports levels 1 to \(levels)")
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

    /// - Throws: `unsupported` if the driver would use another frame rate for its rate control.
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

    /// Returns the limits for regions of interest that the driver supports as quantizer differences, which is what
    /// frames specify.
    func regionsOfInterest(_ rate: RatePlan) -> RegionLimits {
        guard let regions = capabilities.regionsOfInterest, rate.mode == .cqp || regions.takesQPDifferences else {
            return RegionLimits(count: 0)
        }
        guard let offsets = quirks.fewRegionsOffsets, regions.count <= 3, rate.mode != .cqp,
            capabilities.entrypoint == .encSliceLowPower
        else { return RegionLimits(count: regions.count) }
        // The driver has no regions if it does not control macroblocks individually; these modes do.
        let isControlled = rate.configModes.contains(.perMacroblock) || [.icq, .qvbr].contains(rate.mode)
        return RegionLimits(count: isControlled ? regions.count : 0, offsets: offsets)
    }

    /// Returns the intra refresh wave, if it was requested and the driver supports it.
    ///
    /// - Parameter longest: The maximum number of frames that a recovery point can signal.
    mutating func intraRefresh(columns: Int, rows: Int, longest: Int) -> IntraRefreshWave? {
        guard configuration.usesIntraRefresh else { return nil }
        let kinds = capabilities.intraRefresh
        guard kinds.contains(.rollingColumn) || kinds.contains(.rollingRow), references.list0 > 0 else {
            report("intra refresh", "on", "off", "the driver does not support rolling intra refresh for \(encoder)")
            return nil
        }
        // Columns, so that every slice of a picture is partly refreshed and no single slice takes all bits.
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

    /// The number of frames between key frames, if it is limited in frames. With a variable frame rate, the caller,
    /// which knows the times, applies a limit in time.
    var keyFrameDistance: Int? {
        configuration.isFrameRateVariable
            ? configuration.keyFrameInterval.frames
            : configuration.keyFrameInterval.frameCount(at: configuration.frameRate)
    }
}
