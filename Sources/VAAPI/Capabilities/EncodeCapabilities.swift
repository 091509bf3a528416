// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

/// The encoding capabilities of a driver for one profile and entrypoint, with their limits.
///
/// The value consists of the driver's answers and can be created without a driver. The meaning of "not supported"
/// (`VA_ATTRIB_NOT_SUPPORTED`) depends on the attribute: if it means that the feature does not exist, the property has
/// a value for none; if it means that the driver does not report the limit, the property is nil.
public struct EncodeCapabilities: Sendable, Hashable {
    /// The profile.
    public let profile: Profile
    /// The entrypoint.
    public let entrypoint: Entrypoint
    /// All queried attributes with the driver's answers, including those that are not interpreted here.
    public let attributes: [ConfigAttributeValue]
    /// The surface capabilities.
    public let surfaces: SurfaceCapabilities

    /// Interprets the answers of a driver.
    public init(
        profile: Profile,
        entrypoint: Entrypoint,
        attributes: [ConfigAttributeValue],
        surfaces: SurfaceCapabilities = SurfaceCapabilities(attributes: [])
    ) {
        self.profile = profile
        self.entrypoint = entrypoint
        self.attributes = attributes
        self.surfaces = surfaces
    }

    /// The value of an attribute; nil if the driver does not support it or was not asked for it. Such an attribute must
    /// not be passed to a config.
    public subscript(attribute: ConfigAttribute) -> UInt32? {
        attributes.last { $0.attribute == attribute }.flatMap { $0.isNotSupported ? nil : $0.value }
    }
}

// MARK: - Formats and sizes

extension EncodeCapabilities {
    /// The render target formats; empty if the driver reports none.
    public var renderTargetFormats: RTFormats { RTFormats(rawValue: self[.renderTargetFormat] ?? 0) }

    /// The maximum width in samples, the smaller limit of config and surfaces; nil if neither reports one.
    public var maximumWidth: Int? { least(self[.maximumWidth], surfaces.maximumWidth) }
    /// The maximum height in rows, the smaller limit of config and surfaces; nil if neither reports one.
    public var maximumHeight: Int? { least(self[.maximumHeight], surfaces.maximumHeight) }
    /// The minimum width in samples; nil if the driver does not report it.
    public var minimumWidth: Int? { surfaces.minimumWidth }
    /// The minimum height in rows; nil if the driver does not report it.
    public var minimumHeight: Int? { surfaces.minimumHeight }

    private func least(_ config: UInt32?, _ surface: Int?) -> Int? {
        [config.flatMap { $0 > 0 ? Int($0) : nil }, surface].compactMap { $0 }.min()
    }
}

// MARK: - Rate control

extension EncodeCapabilities {
    /// The rate control modes and modifiers. Empty if the driver reports none or does not support the attribute; its
    /// encoder then supports at most a constant quantizer.
    public var rateControlModes: RateControlModes {
        RateControlModes(rawValue: self[.rateControl] ?? 0).subtracting(.none)
    }

    /// The modes without modifiers. A config has exactly one of them.
    public var exclusiveRateControlModes: [RateControlModes] {
        let modes = rateControlModes.subtracting([.perMacroblock, .parallel]).rawValue
        return (0..<UInt32.bitWidth).map { 1 << UInt32($0) }.filter { modes & $0 != 0 }.map(RateControlModes.init)
    }

    /// The number of quality levels, at least 1. Level 1 is the best and slowest; 1 means that there is no choice.
    public var qualityLevels: Int { max(1, Int(self[.qualityRange] ?? 1)) }

    /// The support for limiting the frame size; nil if there is none.
    public var frameSizeLimit: FrameSizeLimit? {
        let value = VAConfigAttribValMaxFrameSize(value: self[.maximumFrameSize] ?? 0)
        guard value.bits.max_frame_size != 0 else { return nil }
        return FrameSizeLimit(hasMultiplePasses: value.bits.multiple_pass != 0)
    }

    /// The temporal layers that the driver's rate control supports; 1 layer if it does not support them.
    public var temporalLayers: TemporalLayerSupport {
        let value = VAConfigAttribValEncRateControlExt(value: self[.rateControlExtension] ?? 0)
        return TemporalLayerSupport(
            count: Int(value.bits.max_num_temporal_layers_minus1) + 1,
            hasRateForEach: value.bits.temporal_layer_bitrate_control_flag != 0
        )
    }

    /// The number of B picture layers with parallel rate control; 0 if it is not supported.
    public var parallelRateControlLayers: Int { Int(self[.parallelRateControl] ?? 0) }

    /// Whether the rate control can be informed about frames that the application has dropped.
    public var knowsOfDroppedFrames: Bool { (self[.skipFrame] ?? 0) != 0 }
}

/// The way in which a driver limits the frame size.
public struct FrameSizeLimit: Sendable, Hashable {
    /// Whether the number of passes can be set (`VAEncMiscParameterBufferMultiPassFrameSize`).
    public let hasMultiplePasses: Bool
}

/// The support of a driver's rate control for temporal layers.
public struct TemporalLayerSupport: Sendable, Hashable {
    /// The maximum number of layers, at least 1.
    public let count: Int
    /// Whether each layer can have its own bitrate.
    public let hasRateForEach: Bool
}

// MARK: - Structure

extension EncodeCapabilities {
    /// The packed headers that the driver accepts from the application. Empty if the driver accepts none or does not
    /// support the attribute; only in the first case may a config contain the attribute.
    public var packedHeaders: PackedHeaders { PackedHeaders(rawValue: self[.packedHeaders] ?? 0) }

    /// The maximum numbers of references; nil if the driver does not report them.
    public var references: ReferenceLimits? {
        self[.maximumReferences].map { ReferenceLimits(list0: Int($0 & 0xFFFF), list1: Int($0 >> 16)) }
    }

    /// The prediction directions; nil if there is no restriction beyond ``references``.
    public var predictionDirections: PredictionDirections? {
        self[.predictionDirection].map(PredictionDirections.init(rawValue:))
    }

    /// The maximum number of slices per picture, at least 1; nil if the driver does not report it.
    public var maximumSlices: Int? { self[.maximumSlices].map { max(1, Int($0)) } }

    /// The supported slice structures; nil if the driver does not report them.
    public var sliceStructures: SliceStructures? { self[.sliceStructure].map(SliceStructures.init(rawValue:)) }

    /// Whether HEVC tiles can be encoded.
    public var hasTiles: Bool { (self[.tiles] ?? 0) != 0 }

    /// Whether trellis quantization is supported.
    public var hasTrellis: Bool {
        (self[.quantization] ?? 0) & UInt32(VA_ENC_QUANTIZATION_TRELLIS_SUPPORTED) != 0
    }
}

/// The maximum numbers of reference pictures.
public struct ReferenceLimits: Sendable, Hashable, CustomStringConvertible {
    /// The maximum number of entries in list 0; 0 if all pictures must be intra.
    public let list0: Int
    /// The maximum number of entries in list 1; 0 if B pictures are not supported.
    public let list1: Int

    /// Creates limits.
    public init(list0: Int, list1: Int) {
        self.list0 = list0
        self.list1 = list1
    }

    /// A description such as `3,0`.
    public var description: String { "\(list0),\(list1)" }
}

// MARK: - Picture regions

extension EncodeCapabilities {
    /// The support for regions of interest; nil if there is none.
    public var regionsOfInterest: RegionSupport? {
        let bits = VAConfigAttribValEncROI(value: self[.regionsOfInterest] ?? 0).bits
        guard bits.num_roi_regions > 0 else { return nil }
        return RegionSupport(
            count: Int(bits.num_roi_regions),
            takesPriorities: bits.roi_rc_priority_support != 0,
            takesQPDifferences: bits.roi_rc_qp_delta_support != 0
        )
    }

    /// The supported kinds of intra refresh; empty if there are none.
    public var intraRefresh: IntraRefreshKinds { IntraRefreshKinds(rawValue: self[.intraRefresh] ?? 0) }

    /// The maximum number of rectangles that can be marked as changed since the previous picture; 0 if not supported.
    public var dirtyRectangles: Int { Int(self[.dirtyRectangles] ?? 0) }
}

/// The support of a driver for regions of interest.
public struct RegionSupport: Sendable, Hashable {
    /// The maximum number of regions per picture.
    public let count: Int
    /// Whether a region may have a priority with rate control.
    public let takesPriorities: Bool
    /// Whether a region may have a quantization parameter difference with rate control. With a constant quantizer, it
    /// always may.
    public let takesQPDifferences: Bool
}
