// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

/// An attribute of a profile and an entrypoint, which a driver reports and a config can set (`VAConfigAttribType`).
public struct ConfigAttribute: RawRepresentable, Sendable, Hashable {
    /// The value in `va.h`.
    public let rawValue: UInt32

    /// Wraps a value from `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    private init(_ type: VAConfigAttribType) { rawValue = type.rawValue }

    /// The surface formats; ``RTFormats``.
    public static let renderTargetFormat = Self(VAConfigAttribRTFormat)
    /// The rate control modes; ``RateControlModes``. A config has exactly one mode, plus modifiers.
    public static let rateControl = Self(VAConfigAttribRateControl)
    /// The packed headers; ``PackedHeaders``. For a driver, those that it accepts; for a config, those that it will
    /// receive.
    public static let packedHeaders = Self(VAConfigAttribEncPackedHeaders)
    /// The ways to encode fields; bits of `VA_ENC_INTERLACED_*`.
    public static let interlaced = Self(VAConfigAttribEncInterlaced)
    /// The maximum numbers of references; ``ReferenceLimits``.
    public static let maximumReferences = Self(VAConfigAttribEncMaxRefFrames)
    /// The maximum number of slices per picture.
    public static let maximumSlices = Self(VAConfigAttribEncMaxSlices)
    /// The slice structures; ``SliceStructures``.
    public static let sliceStructure = Self(VAConfigAttribEncSliceStructure)
    /// The maximum width in samples.
    public static let maximumWidth = Self(VAConfigAttribMaxPictureWidth)
    /// The maximum height in rows.
    public static let maximumHeight = Self(VAConfigAttribMaxPictureHeight)
    /// The number of quality levels.
    public static let qualityRange = Self(VAConfigAttribEncQualityRange)
    /// The quantization methods; bits of `VA_ENC_QUANTIZATION_*`.
    public static let quantization = Self(VAConfigAttribEncQuantization)
    /// The kinds of intra refresh; ``IntraRefreshKinds``.
    public static let intraRefresh = Self(VAConfigAttribEncIntraRefresh)
    /// Whether the rate control can be informed about frames that the application has dropped.
    public static let skipFrame = Self(VAConfigAttribEncSkipFrame)
    /// The support for regions of interest; ``RegionSupport``, from `VAConfigAttribValEncROI`.
    public static let regionsOfInterest = Self(VAConfigAttribEncROI)
    /// The support for temporal layers, as in `VAConfigAttribValEncRateControlExt`.
    public static let rateControlExtension = Self(VAConfigAttribEncRateControlExt)
    /// The maximum number of dirty rectangles.
    public static let dirtyRectangles = Self(VAConfigAttribEncDirtyRect)
    /// The number of B picture layers with parallel rate control.
    public static let parallelRateControl = Self(VAConfigAttribEncParallelRateControl)
    /// Whether HEVC tiles can be encoded.
    public static let tiles = Self(VAConfigAttribEncTileSupport)
    /// The support for limiting the frame size, as in `VAConfigAttribValMaxFrameSize`.
    public static let maximumFrameSize = Self(VAConfigAttribMaxFrameSize)
    /// The prediction directions; ``PredictionDirections``.
    public static let predictionDirection = Self(VAConfigAttribPredictionDirection)
    /// The HEVC coding tools, as in `VAConfigAttribValEncHEVCFeatures`.
    public static let hevcFeatures = Self(VAConfigAttribEncHEVCFeatures)
    /// The HEVC block sizes, as in `VAConfigAttribValEncHEVCBlockSizes`.
    public static let hevcBlockSizes = Self(VAConfigAttribEncHEVCBlockSizes)

    /// Every attribute in this libva's `va.h`, including gaps in the numbers.
    static let all: [ConfigAttribute] = (0..<VAConfigAttribTypeMax.rawValue).map(Self.init(rawValue:))
}

extension ConfigAttribute: CustomStringConvertible {
    /// The name in `va.h` without its prefix, such as `EncMaxSlices`; the number if libva has no name for it.
    public var description: String {
        shortName(vaConfigAttribTypeStr(VAConfigAttribType(rawValue: rawValue)), prefix: "VAConfigAttrib")
            ?? "attribute \(rawValue)"
    }
}

/// An attribute and its value (`VAConfigAttrib`).
public struct ConfigAttributeValue: Sendable, Hashable, CustomStringConvertible {
    /// The attribute.
    public var attribute: ConfigAttribute
    /// The value: bits, a number or several fields, depending on the attribute.
    public var value: UInt32

    /// Creates a pair of an attribute and a value.
    public init(_ attribute: ConfigAttribute, _ value: UInt32) {
        self.attribute = attribute
        self.value = value
    }

    /// Whether the driver reports that it does not support the attribute (`VA_ATTRIB_NOT_SUPPORTED`).
    public var isNotSupported: Bool { value == VA_ATTRIB_NOT_SUPPORTED }

    /// A description such as `EncMaxSlices=0x20`.
    public var description: String { "\(attribute)=" + (isNotSupported ? "-" : "0x" + String(value, radix: 16)) }

    init(_ pair: VAConfigAttrib) { self.init(ConfigAttribute(rawValue: pair.type.rawValue), pair.value) }

    var pair: VAConfigAttrib { VAConfigAttrib(type: VAConfigAttribType(rawValue: attribute.rawValue), value: value) }
}

// MARK: - Attribute values

/// Formats of render targets (`VA_RT_FORMAT_*`).
public struct RTFormats: NamedBits, Sendable, Hashable {
    /// The bits, as in `va.h`.
    public let rawValue: UInt32

    /// Wraps bits from `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// 4:2:0, 8 bits.
    public static let yuv420 = Self(rawValue: UInt32(VA_RT_FORMAT_YUV420))
    /// 4:2:2, 8 bits.
    public static let yuv422 = Self(rawValue: UInt32(VA_RT_FORMAT_YUV422))
    /// 4:4:4, 8 bits.
    public static let yuv444 = Self(rawValue: UInt32(VA_RT_FORMAT_YUV444))
    /// 4:0:0, 8 bits.
    public static let yuv400 = Self(rawValue: UInt32(VA_RT_FORMAT_YUV400))
    /// 4:2:0, 10 bits.
    public static let yuv420Bits10 = Self(rawValue: UInt32(VA_RT_FORMAT_YUV420_10))
    /// 4:2:2, 10 bits.
    public static let yuv422Bits10 = Self(rawValue: UInt32(VA_RT_FORMAT_YUV422_10))
    /// 4:4:4, 10 bits.
    public static let yuv444Bits10 = Self(rawValue: UInt32(VA_RT_FORMAT_YUV444_10))
    /// 4:2:0, 12 bits.
    public static let yuv420Bits12 = Self(rawValue: UInt32(VA_RT_FORMAT_YUV420_12))
    /// 4:2:2, 12 bits.
    public static let yuv422Bits12 = Self(rawValue: UInt32(VA_RT_FORMAT_YUV422_12))
    /// 4:4:4, 12 bits.
    public static let yuv444Bits12 = Self(rawValue: UInt32(VA_RT_FORMAT_YUV444_12))
    /// Packed RGB, 8 bits.
    public static let rgb32 = Self(rawValue: UInt32(VA_RT_FORMAT_RGB32))

    /// The names in `va.h` without their prefix.
    public static var bitNames: [(bit: UInt32, name: String)] {
        [
            (UInt32(VA_RT_FORMAT_YUV420), "YUV420"), (UInt32(VA_RT_FORMAT_YUV422), "YUV422"),
            (UInt32(VA_RT_FORMAT_YUV444), "YUV444"), (UInt32(VA_RT_FORMAT_YUV411), "YUV411"),
            (UInt32(VA_RT_FORMAT_YUV400), "YUV400"), (UInt32(VA_RT_FORMAT_YUV420_10), "YUV420_10"),
            (UInt32(VA_RT_FORMAT_YUV422_10), "YUV422_10"), (UInt32(VA_RT_FORMAT_YUV444_10), "YUV444_10"),
            (UInt32(VA_RT_FORMAT_YUV420_12), "YUV420_12"), (UInt32(VA_RT_FORMAT_YUV422_12), "YUV422_12"),
            (UInt32(VA_RT_FORMAT_YUV444_12), "YUV444_12"), (UInt32(VA_RT_FORMAT_RGB16), "RGB16"),
            (UInt32(VA_RT_FORMAT_RGB32), "RGB32"), (UInt32(VA_RT_FORMAT_RGBP), "RGBP"),
            (UInt32(VA_RT_FORMAT_RGB32_10), "RGB32_10"), (UInt32(VA_RT_FORMAT_PROTECTED), "PROTECTED"),
        ]
    }
}

/// Rate control modes (`VA_RC_*`).
public struct RateControlModes: NamedBits, Sendable, Hashable {
    /// The bits, as in `va.h`.
    public let rawValue: UInt32

    /// Wraps bits from `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// No rate control at all; used for JPEG.
    public static let none = Self(rawValue: UInt32(VA_RC_NONE))
    /// Constant quantization parameter.
    public static let cqp = Self(rawValue: UInt32(VA_RC_CQP))
    /// Constant bitrate.
    public static let cbr = Self(rawValue: UInt32(VA_RC_CBR))
    /// Variable bitrate.
    public static let vbr = Self(rawValue: UInt32(VA_RC_VBR))
    /// Video conference mode.
    public static let vcm = Self(rawValue: UInt32(VA_RC_VCM))
    /// Intelligent constant quality.
    public static let icq = Self(rawValue: UInt32(VA_RC_ICQ))
    /// Quality-defined variable bitrate: it spends no more bits than a quality requires.
    public static let qvbr = Self(rawValue: UInt32(VA_RC_QVBR))
    /// Average variable bitrate.
    public static let avbr = Self(rawValue: UInt32(VA_RC_AVBR))
    /// Bitrate that the transport sets for each frame (transport-controlled).
    public static let tcbrc = Self(rawValue: UInt32(VA_RC_TCBRC))
    /// A modifier: the driver changes the quantization parameter per macroblock.
    public static let perMacroblock = Self(rawValue: UInt32(VA_RC_MB))
    /// A modifier: parallel rate control of the B pictures in a layer.
    public static let parallel = Self(rawValue: UInt32(VA_RC_PARALLEL))

    /// The names in `va.h` without their prefix.
    public static var bitNames: [(bit: UInt32, name: String)] {
        [
            (UInt32(VA_RC_NONE), "NONE"), (UInt32(VA_RC_CBR), "CBR"), (UInt32(VA_RC_VBR), "VBR"),
            (UInt32(VA_RC_VCM), "VCM"), (UInt32(VA_RC_CQP), "CQP"),
            (UInt32(VA_RC_VBR_CONSTRAINED), "VBR_CONSTRAINED"), (UInt32(VA_RC_ICQ), "ICQ"),
            (UInt32(VA_RC_MB), "MB"), (UInt32(VA_RC_CFS), "CFS"), (UInt32(VA_RC_PARALLEL), "PARALLEL"),
            (UInt32(VA_RC_QVBR), "QVBR"), (UInt32(VA_RC_AVBR), "AVBR"), (UInt32(VA_RC_TCBRC), "TCBRC"),
        ]
    }
}

/// Headers that the application writes (`VA_ENC_PACKED_HEADER_*`). The driver writes all others.
public struct PackedHeaders: NamedBits, Sendable, Hashable {
    /// The bits, as in `va.h`.
    public let rawValue: UInt32

    /// Wraps bits from `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The sequence parameter set; for HEVC, also the video parameter set.
    public static let sequence = Self(rawValue: UInt32(VA_ENC_PACKED_HEADER_SEQUENCE))
    /// The picture parameter set.
    public static let picture = Self(rawValue: UInt32(VA_ENC_PACKED_HEADER_PICTURE))
    /// Slice headers.
    public static let slice = Self(rawValue: UInt32(VA_ENC_PACKED_HEADER_SLICE))
    /// Other headers, such as SEI; superseded by ``rawData``.
    public static let miscellaneous = Self(rawValue: UInt32(VA_ENC_PACKED_HEADER_MISC))
    /// Complete NAL units of any type.
    public static let rawData = Self(rawValue: UInt32(VA_ENC_PACKED_HEADER_RAW_DATA))

    /// Names such as `sequence picture slice`.
    public static var bitNames: [(bit: UInt32, name: String)] {
        [
            (Self.sequence.rawValue, "sequence"), (Self.picture.rawValue, "picture"),
            (Self.slice.rawValue, "slice"), (Self.miscellaneous.rawValue, "misc"),
            (Self.rawData.rawValue, "raw"),
        ]
    }
}

/// The ways to divide a picture into slices (`VA_ENC_SLICE_STRUCTURE_*`). A structure is allowed if any bit that
/// permits it is set.
public struct SliceStructures: NamedBits, Sendable, Hashable {
    /// The bits, as in `va.h`.
    public let rawValue: UInt32

    /// Wraps bits from `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A power of two of macroblock rows per slice.
    public static let powerOfTwoRows = Self(rawValue: UInt32(VA_ENC_SLICE_STRUCTURE_POWER_OF_TWO_ROWS))
    /// Any number of macroblocks per slice.
    public static let arbitraryMacroblocks = Self(rawValue: UInt32(VA_ENC_SLICE_STRUCTURE_ARBITRARY_MACROBLOCKS))
    /// One row per slice.
    public static let oneRow = Self(rawValue: UInt32(VA_ENC_SLICE_STRUCTURE_EQUAL_ROWS))
    /// The driver starts a new slice when the maximum size is reached.
    public static let maximumSize = Self(rawValue: UInt32(VA_ENC_SLICE_STRUCTURE_MAX_SLICE_SIZE))
    /// Any number of rows per slice, which may differ between slices.
    public static let arbitraryRows = Self(rawValue: UInt32(VA_ENC_SLICE_STRUCTURE_ARBITRARY_ROWS))
    /// Any number of rows, the same for all slices except the last, which may have fewer.
    public static let equalRows = Self(rawValue: UInt32(VA_ENC_SLICE_STRUCTURE_EQUAL_MULTI_ROWS))

    /// Names such as `arbitrary-rows`.
    public static var bitNames: [(bit: UInt32, name: String)] {
        [
            (Self.powerOfTwoRows.rawValue, "power-of-two-rows"),
            (Self.arbitraryMacroblocks.rawValue, "arbitrary-macroblocks"), (Self.oneRow.rawValue, "one-row"),
            (Self.maximumSize.rawValue, "maximum-size"), (Self.arbitraryRows.rawValue, "arbitrary-rows"),
            (Self.equalRows.rawValue, "equal-rows"),
        ]
    }
}

/// Kinds of intra refresh (`VA_ENC_INTRA_REFRESH_*`).
public struct IntraRefreshKinds: NamedBits, Sendable, Hashable {
    /// The bits, as in `va.h`.
    public let rawValue: UInt32

    /// Wraps bits from `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// An intra column moves across the picture.
    public static let rollingColumn = Self(rawValue: UInt32(VA_ENC_INTRA_REFRESH_ROLLING_COLUMN))
    /// An intra row moves across the picture.
    public static let rollingRow = Self(rawValue: UInt32(VA_ENC_INTRA_REFRESH_ROLLING_ROW))
    /// The driver selects the blocks.
    public static let adaptive = Self(rawValue: UInt32(VA_ENC_INTRA_REFRESH_ADAPTIVE))
    /// A fixed number of blocks per picture, in turn.
    public static let cyclic = Self(rawValue: UInt32(VA_ENC_INTRA_REFRESH_CYCLIC))
    /// Supported in P pictures.
    public static let inPPictures = Self(rawValue: UInt32(VA_ENC_INTRA_REFRESH_P_FRAME))
    /// Supported in B pictures.
    public static let inBPictures = Self(rawValue: UInt32(VA_ENC_INTRA_REFRESH_B_FRAME))
    /// Supported with multiple references.
    public static let withReferences = Self(rawValue: UInt32(VA_ENC_INTRA_REFRESH_MULTI_REF))

    /// Names such as `rolling-column rolling-row`.
    public static var bitNames: [(bit: UInt32, name: String)] {
        [
            (Self.rollingColumn.rawValue, "rolling-column"), (Self.rollingRow.rawValue, "rolling-row"),
            (Self.adaptive.rawValue, "adaptive"), (Self.cyclic.rawValue, "cyclic"),
            (Self.inPPictures.rawValue, "P"), (Self.inBPictures.rawValue, "B"),
            (Self.withReferences.rawValue, "several-references"),
        ]
    }
}

/// The directions of inter prediction (`VA_PREDICTION_DIRECTION_*`).
public struct PredictionDirections: NamedBits, Sendable, Hashable {
    /// The bits, as in `va.h`.
    public let rawValue: UInt32

    /// Wraps bits from `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Prediction from pictures that are shown earlier.
    public static let previous = Self(rawValue: UInt32(VA_PREDICTION_DIRECTION_PREVIOUS))
    /// Prediction from pictures that are shown later.
    public static let future = Self(rawValue: UInt32(VA_PREDICTION_DIRECTION_FUTURE))
    /// Both reference lists of an inter picture must have an entry: there are no P pictures.
    public static let bothListsFilled = Self(rawValue: UInt32(VA_PREDICTION_DIRECTION_BI_NOT_EMPTY))

    /// Names such as `previous future`.
    public static var bitNames: [(bit: UInt32, name: String)] {
        [
            (Self.previous.rawValue, "previous"), (Self.future.rawValue, "future"),
            (Self.bothListsFilled.rawValue, "both-lists-filled"),
        ]
    }
}
