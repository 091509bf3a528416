// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

/// What a driver encodes with one profile and entrypoint, and within which limits.
///
/// A value made of the numbers that the driver gave; it can be made without one. The meaning of "not supported"
/// (`VA_ATTRIB_NOT_SUPPORTED`) differs from attribute to attribute: where it means that there is no such thing the
/// property says none, where it means that the driver does not tell the property is nil.
public struct EncodeCapabilities: Sendable, Hashable {
    /// The profile.
    public let profile: Profile
    /// The entrypoint.
    public let entrypoint: Entrypoint
    /// Every attribute that the driver was asked for, with its answer; also those that are not interpreted here.
    public let attributes: [ConfigAttributeValue]
    /// What it says of surfaces.
    public let surfaces: SurfaceCapabilities

    /// Interprets what a driver said.
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

    /// The value of an attribute; nil when the driver has it not, or was not asked. An attribute that is nil must not be
    /// given to a config.
    public subscript(attribute: ConfigAttribute) -> UInt32? {
        attributes.last { $0.attribute == attribute }.flatMap { $0.isNotSupported ? nil : $0.value }
    }
}

// MARK: - Formats and sizes

extension EncodeCapabilities {
    /// Formats of render targets; empty when the driver names none.
    public var renderTargetFormats: RTFormats { RTFormats(rawValue: self[.renderTargetFormat] ?? 0) }

    /// The greatest width in samples: the lesser of what the config and the surfaces allow; nil when neither says.
    public var maximumWidth: Int? { least(self[.maximumWidth], surfaces.maximumWidth) }
    /// The greatest height in rows, likewise.
    public var maximumHeight: Int? { least(self[.maximumHeight], surfaces.maximumHeight) }
    /// The least width in samples; nil when the driver does not say.
    public var minimumWidth: Int? { surfaces.minimumWidth }
    /// The least height in rows; nil when the driver does not say.
    public var minimumHeight: Int? { surfaces.minimumHeight }

    private func least(_ config: UInt32?, _ surface: Int?) -> Int? {
        [config.flatMap { $0 > 0 ? Int($0) : nil }, surface].compactMap { $0 }.min()
    }
}

// MARK: - Rate control

extension EncodeCapabilities {
    /// Modes of rate control and additions to them. Empty when the driver says nothing or that there is none: its
    /// encoder then has constant quantisation at best.
    public var rateControlModes: RateControlModes {
        RateControlModes(rawValue: self[.rateControl] ?? 0).subtracting(.none)
    }

    /// The modes alone: each of them can be the one of a config.
    public var exclusiveRateControlModes: [RateControlModes] {
        let modes = rateControlModes.subtracting([.perMacroblock, .parallel]).rawValue
        return (0..<UInt32.bitWidth).map { 1 << UInt32($0) }.filter { modes & $0 != 0 }.map(RateControlModes.init)
    }

    /// Quality levels, at least 1. Level 1 is the best and slowest; 1 level means that there is nothing to choose.
    public var qualityLevels: Int { max(1, Int(self[.qualityRange] ?? 1)) }

    /// Whether a frame's size can be limited, and how; nil when it cannot.
    public var frameSizeLimit: FrameSizeLimit? {
        let value = VAConfigAttribValMaxFrameSize(value: self[.maximumFrameSize] ?? 0)
        guard value.bits.max_frame_size != 0 else { return nil }
        return FrameSizeLimit(hasMultiplePasses: value.bits.multiple_pass != 0)
    }

    /// Temporal layers that the driver's rate control knows of; 1 when it knows none.
    public var temporalLayers: TemporalLayerSupport {
        let value = VAConfigAttribValEncRateControlExt(value: self[.rateControlExtension] ?? 0)
        return TemporalLayerSupport(
            count: Int(value.bits.max_num_temporal_layers_minus1) + 1,
            hasRateForEach: value.bits.temporal_layer_bitrate_control_flag != 0
        )
    }

    /// Layers of B pictures that are controlled in parallel; 0 without.
    public var parallelRateControlLayers: Int { Int(self[.parallelRateControl] ?? 0) }

    /// Whether the rate control can be told of frames that the application has dropped.
    public var knowsOfDroppedFrames: Bool { (self[.skipFrame] ?? 0) != 0 }
}

/// How a driver keeps a frame below a size.
public struct FrameSizeLimit: Sendable, Hashable {
    /// Whether the passes can be set (`VAEncMiscParameterBufferMultiPassFrameSize`).
    public let hasMultiplePasses: Bool
}

/// What a driver's rate control knows of temporal layers.
public struct TemporalLayerSupport: Sendable, Hashable {
    /// The greatest number of layers, at least 1.
    public let count: Int
    /// Whether each layer can have a rate of its own.
    public let hasRateForEach: Bool
}

// MARK: - Structure

extension EncodeCapabilities {
    /// Headers that the driver takes from the application. Empty both when it says so and when it says nothing; only in
    /// the first case may a config have the attribute.
    public var packedHeaders: PackedHeaders { PackedHeaders(rawValue: self[.packedHeaders] ?? 0) }

    /// How many pictures may be referred to; nil when the driver does not say.
    public var references: ReferenceLimits? {
        self[.maximumReferences].map { ReferenceLimits(list0: Int($0 & 0xFFFF), list1: Int($0 >> 16)) }
    }

    /// From where prediction may come; nil when there is no restriction beyond ``references``.
    public var predictionDirections: PredictionDirections? {
        self[.predictionDirection].map(PredictionDirections.init(rawValue:))
    }

    /// The greatest number of slices in a picture, at least 1; nil when the driver does not say.
    public var maximumSlices: Int? { self[.maximumSlices].map { max(1, Int($0)) } }

    /// How pictures may be divided into slices; nil when the driver does not say.
    public var sliceStructures: SliceStructures? { self[.sliceStructure].map(SliceStructures.init(rawValue:)) }

    /// Whether HEVC's tiles can be coded.
    public var hasTiles: Bool { (self[.tiles] ?? 0) != 0 }

    /// Whether coefficients can be chosen by trellis quantisation.
    public var hasTrellis: Bool {
        (self[.quantization] ?? 0) & UInt32(VA_ENC_QUANTIZATION_TRELLIS_SUPPORTED) != 0
    }
}

/// How many pictures may be referred to at once.
public struct ReferenceLimits: Sendable, Hashable, CustomStringConvertible {
    /// Entries of list 0; 0 when all pictures must be intra.
    public let list0: Int
    /// Entries of list 1; 0 when there are no B pictures.
    public let list1: Int

    /// Describes limits.
    public init(list0: Int, list1: Int) {
        self.list0 = list0
        self.list1 = list1
    }

    /// Such as `3,0`.
    public var description: String { "\(list0),\(list1)" }
}

// MARK: - Parts of a picture

extension EncodeCapabilities {
    /// Regions of interest; nil when there are none.
    public var regionsOfInterest: RegionSupport? {
        let bits = VAConfigAttribValEncROI(value: self[.regionsOfInterest] ?? 0).bits
        guard bits.num_roi_regions > 0 else { return nil }
        return RegionSupport(
            count: Int(bits.num_roi_regions),
            takesPriorities: bits.roi_rc_priority_support != 0,
            takesQPDifferences: bits.roi_rc_qp_delta_support != 0
        )
    }

    /// Ways of intra refresh; empty when there are none.
    public var intraRefresh: IntraRefreshKinds { IntraRefreshKinds(rawValue: self[.intraRefresh] ?? 0) }

    /// Rectangles that can be named as changed since the last picture; 0 when there are none.
    public var dirtyRectangles: Int { Int(self[.dirtyRectangles] ?? 0) }
}

/// What a driver does with regions of interest.
public struct RegionSupport: Sendable, Hashable {
    /// The greatest number of regions in a picture.
    public let count: Int
    /// Whether a region may have a priority while rate is controlled.
    public let takesPriorities: Bool
    /// Whether a region may have a difference of the quantisation parameter while rate is controlled. With constant
    /// quantisation it always may.
    public let takesQPDifferences: Bool
}
