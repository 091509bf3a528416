// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

/// Something that a driver tells, or can be told, about a profile and an entrypoint (`VAConfigAttribType`).
public struct ConfigAttribute: RawRepresentable, Sendable, Hashable {
    /// The number of `va.h`.
    public let rawValue: UInt32

    /// Wraps a number of `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    private init(_ type: VAConfigAttribType) { rawValue = type.rawValue }

    /// Formats of surfaces, ``RTFormats``.
    public static let renderTargetFormat = Self(VAConfigAttribRTFormat)
    /// ``RateControlModes``. A config has exactly one of them, besides the additions to it.
    public static let rateControl = Self(VAConfigAttribRateControl)
    /// ``PackedHeaders``, those that the driver takes or those that it will get.
    public static let packedHeaders = Self(VAConfigAttribEncPackedHeaders)
    /// Ways to code fields; bits of `VA_ENC_INTERLACED_*`.
    public static let interlaced = Self(VAConfigAttribEncInterlaced)
    /// ``ReferenceLimits``.
    public static let maximumReferences = Self(VAConfigAttribEncMaxRefFrames)
    /// Slices of a picture.
    public static let maximumSlices = Self(VAConfigAttribEncMaxSlices)
    /// ``SliceStructures``.
    public static let sliceStructure = Self(VAConfigAttribEncSliceStructure)
    /// Samples in a row.
    public static let maximumWidth = Self(VAConfigAttribMaxPictureWidth)
    /// Rows.
    public static let maximumHeight = Self(VAConfigAttribMaxPictureHeight)
    /// The number of quality levels.
    public static let qualityRange = Self(VAConfigAttribEncQualityRange)
    /// Methods of quantisation; bits of `VA_ENC_QUANTIZATION_*`.
    public static let quantization = Self(VAConfigAttribEncQuantization)
    /// ``IntraRefreshKinds``.
    public static let intraRefresh = Self(VAConfigAttribEncIntraRefresh)
    /// Whether the rate control can be told of frames that the application has dropped.
    public static let skipFrame = Self(VAConfigAttribEncSkipFrame)
    /// ``RegionSupport``, as `VAConfigAttribValEncROI`.
    public static let regionsOfInterest = Self(VAConfigAttribEncROI)
    /// Temporal layers, as `VAConfigAttribValEncRateControlExt`.
    public static let rateControlExtension = Self(VAConfigAttribEncRateControlExt)
    /// The number of rectangles that can be named as changed.
    public static let dirtyRectangles = Self(VAConfigAttribEncDirtyRect)
    /// Layers of B pictures whose rates can be controlled in parallel.
    public static let parallelRateControl = Self(VAConfigAttribEncParallelRateControl)
    /// Whether HEVC's tiles can be coded.
    public static let tiles = Self(VAConfigAttribEncTileSupport)
    /// A limit to the size of a frame, as `VAConfigAttribValMaxFrameSize`.
    public static let maximumFrameSize = Self(VAConfigAttribMaxFrameSize)
    /// ``PredictionDirections``.
    public static let predictionDirection = Self(VAConfigAttribPredictionDirection)
    /// HEVC's coding tools, as `VAConfigAttribValEncHEVCFeatures`.
    public static let hevcFeatures = Self(VAConfigAttribEncHEVCFeatures)
    /// HEVC's block sizes, as `VAConfigAttribValEncHEVCBlockSizes`.
    public static let hevcBlockSizes = Self(VAConfigAttribEncHEVCBlockSizes)

    /// Every attribute that this libva's `va.h` knows, gaps in its numbers included.
    static let all: [ConfigAttribute] = (0..<VAConfigAttribTypeMax.rawValue).map(Self.init(rawValue:))
}

extension ConfigAttribute: CustomStringConvertible {
    /// The name in `va.h` without its prefix, such as `EncMaxSlices`; the number where libva knows no name.
    public var description: String {
        shortName(vaConfigAttribTypeStr(VAConfigAttribType(rawValue: rawValue)), prefix: "VAConfigAttrib")
            ?? "attribute \(rawValue)"
    }
}

/// An attribute and its value (`VAConfigAttrib`).
public struct ConfigAttributeValue: Sendable, Hashable, CustomStringConvertible {
    /// The attribute.
    public var attribute: ConfigAttribute
    /// The value; bits, a number or several fields, as the attribute has it.
    public var value: UInt32

    /// Pairs an attribute with a value.
    public init(_ attribute: ConfigAttribute, _ value: UInt32) {
        self.attribute = attribute
        self.value = value
    }

    /// Whether the driver says that the attribute does not apply (`VA_ATTRIB_NOT_SUPPORTED`).
    public var isNotSupported: Bool { value == VA_ATTRIB_NOT_SUPPORTED }

    /// Such as `EncMaxSlices=0x20`.
    public var description: String { "\(attribute)=" + (isNotSupported ? "-" : "0x" + String(value, radix: 16)) }

    init(_ pair: VAConfigAttrib) { self.init(ConfigAttribute(rawValue: pair.type.rawValue), pair.value) }

    var pair: VAConfigAttrib { VAConfigAttrib(type: VAConfigAttribType(rawValue: attribute.rawValue), value: value) }
}

// MARK: - Values of attributes

/// Formats of render targets (`VA_RT_FORMAT_*`).
public struct RTFormats: NamedBits, Sendable, Hashable {
    /// The bits of `va.h`.
    public let rawValue: UInt32

    /// Wraps bits of `va.h`.
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

    /// The names of `va.h` without their prefix.
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

/// Ways to control the rate (`VA_RC_*`).
public struct RateControlModes: NamedBits, Sendable, Hashable {
    /// The bits of `va.h`.
    public let rawValue: UInt32

    /// Wraps bits of `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// There is no rate control at all; JPEG has this.
    public static let none = Self(rawValue: UInt32(VA_RC_NONE))
    /// Constant quantisation parameters.
    public static let cqp = Self(rawValue: UInt32(VA_RC_CQP))
    /// Constant bitrate.
    public static let cbr = Self(rawValue: UInt32(VA_RC_CBR))
    /// Variable bitrate.
    public static let vbr = Self(rawValue: UInt32(VA_RC_VBR))
    /// Video conference mode.
    public static let vcm = Self(rawValue: UInt32(VA_RC_VCM))
    /// Intelligent constant quality.
    public static let icq = Self(rawValue: UInt32(VA_RC_ICQ))
    /// Variable bitrate that spends no more than a quality needs.
    public static let qvbr = Self(rawValue: UInt32(VA_RC_QVBR))
    /// Average variable bitrate.
    public static let avbr = Self(rawValue: UInt32(VA_RC_AVBR))
    /// Bitrate that the transport sets for each frame.
    public static let tcbrc = Self(rawValue: UInt32(VA_RC_TCBRC))
    /// An addition to a mode: the driver changes the parameter from macroblock to macroblock.
    public static let perMacroblock = Self(rawValue: UInt32(VA_RC_MB))
    /// An addition to a mode: B pictures of a layer are controlled in parallel.
    public static let parallel = Self(rawValue: UInt32(VA_RC_PARALLEL))

    /// The names of `va.h` without their prefix.
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

/// Headers that the application writes (`VA_ENC_PACKED_HEADER_*`). The driver writes the others.
public struct PackedHeaders: NamedBits, Sendable, Hashable {
    /// The bits of `va.h`.
    public let rawValue: UInt32

    /// Wraps bits of `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The sequence parameter set (with HEVC the video parameter set, too).
    public static let sequence = Self(rawValue: UInt32(VA_ENC_PACKED_HEADER_SEQUENCE))
    /// The picture parameter set.
    public static let picture = Self(rawValue: UInt32(VA_ENC_PACKED_HEADER_PICTURE))
    /// Slice headers.
    public static let slice = Self(rawValue: UInt32(VA_ENC_PACKED_HEADER_SLICE))
    /// Others, such as SEI; superseded by ``rawData``.
    public static let miscellaneous = Self(rawValue: UInt32(VA_ENC_PACKED_HEADER_MISC))
    /// Whole NAL units of any kind.
    public static let rawData = Self(rawValue: UInt32(VA_ENC_PACKED_HEADER_RAW_DATA))

    /// Such as `sequence picture slice`.
    public static var bitNames: [(bit: UInt32, name: String)] {
        [
            (Self.sequence.rawValue, "sequence"), (Self.picture.rawValue, "picture"),
            (Self.slice.rawValue, "slice"), (Self.miscellaneous.rawValue, "misc"),
            (Self.rawData.rawValue, "raw"),
        ]
    }
}

/// How a picture may be divided into slices (`VA_ENC_SLICE_STRUCTURE_*`). A structure is free to use when any of the bits
/// that allow it is set.
public struct SliceStructures: NamedBits, Sendable, Hashable {
    /// The bits of `va.h`.
    public let rawValue: UInt32

    /// Wraps bits of `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Rows of macroblocks, a power of two of them in each slice.
    public static let powerOfTwoRows = Self(rawValue: UInt32(VA_ENC_SLICE_STRUCTURE_POWER_OF_TWO_ROWS))
    /// Any number of macroblocks.
    public static let arbitraryMacroblocks = Self(rawValue: UInt32(VA_ENC_SLICE_STRUCTURE_ARBITRARY_MACROBLOCKS))
    /// One row in each slice.
    public static let oneRow = Self(rawValue: UInt32(VA_ENC_SLICE_STRUCTURE_EQUAL_ROWS))
    /// The driver begins a slice when one is full.
    public static let maximumSize = Self(rawValue: UInt32(VA_ENC_SLICE_STRUCTURE_MAX_SLICE_SIZE))
    /// Any number of rows, different from slice to slice.
    public static let arbitraryRows = Self(rawValue: UInt32(VA_ENC_SLICE_STRUCTURE_ARBITRARY_ROWS))
    /// Any number of rows, the same in all slices but the last, which may have fewer.
    public static let equalRows = Self(rawValue: UInt32(VA_ENC_SLICE_STRUCTURE_EQUAL_MULTI_ROWS))

    /// Such as `arbitrary-rows`.
    public static var bitNames: [(bit: UInt32, name: String)] {
        [
            (Self.powerOfTwoRows.rawValue, "power-of-two-rows"),
            (Self.arbitraryMacroblocks.rawValue, "arbitrary-macroblocks"), (Self.oneRow.rawValue, "one-row"),
            (Self.maximumSize.rawValue, "maximum-size"), (Self.arbitraryRows.rawValue, "arbitrary-rows"),
            (Self.equalRows.rawValue, "equal-rows"),
        ]
    }
}

/// Ways to renew a picture by intra blocks (`VA_ENC_INTRA_REFRESH_*`).
public struct IntraRefreshKinds: NamedBits, Sendable, Hashable {
    /// The bits of `va.h`.
    public let rawValue: UInt32

    /// Wraps bits of `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A column moves over the picture.
    public static let rollingColumn = Self(rawValue: UInt32(VA_ENC_INTRA_REFRESH_ROLLING_COLUMN))
    /// A row moves over the picture.
    public static let rollingRow = Self(rawValue: UInt32(VA_ENC_INTRA_REFRESH_ROLLING_ROW))
    /// The driver chooses the blocks.
    public static let adaptive = Self(rawValue: UInt32(VA_ENC_INTRA_REFRESH_ADAPTIVE))
    /// A fixed number of blocks after the other.
    public static let cyclic = Self(rawValue: UInt32(VA_ENC_INTRA_REFRESH_CYCLIC))
    /// Holds for P pictures.
    public static let inPPictures = Self(rawValue: UInt32(VA_ENC_INTRA_REFRESH_P_FRAME))
    /// Holds for B pictures.
    public static let inBPictures = Self(rawValue: UInt32(VA_ENC_INTRA_REFRESH_B_FRAME))
    /// Holds with several references.
    public static let withReferences = Self(rawValue: UInt32(VA_ENC_INTRA_REFRESH_MULTI_REF))

    /// Such as `rolling-column rolling-row`.
    public static var bitNames: [(bit: UInt32, name: String)] {
        [
            (Self.rollingColumn.rawValue, "rolling-column"), (Self.rollingRow.rawValue, "rolling-row"),
            (Self.adaptive.rawValue, "adaptive"), (Self.cyclic.rawValue, "cyclic"),
            (Self.inPPictures.rawValue, "P"), (Self.inBPictures.rawValue, "B"),
            (Self.withReferences.rawValue, "several-references"),
        ]
    }
}

/// From where inter prediction may come (`VA_PREDICTION_DIRECTION_*`).
public struct PredictionDirections: NamedBits, Sendable, Hashable {
    /// The bits of `va.h`.
    public let rawValue: UInt32

    /// Wraps bits of `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// From pictures that are shown before.
    public static let previous = Self(rawValue: UInt32(VA_PREDICTION_DIRECTION_PREVIOUS))
    /// From pictures that are shown later.
    public static let future = Self(rawValue: UInt32(VA_PREDICTION_DIRECTION_FUTURE))
    /// Both lists of an inter picture must have an entry: there are no P pictures.
    public static let bothListsFilled = Self(rawValue: UInt32(VA_PREDICTION_DIRECTION_BI_NOT_EMPTY))

    /// Such as `previous future`.
    public static var bitNames: [(bit: UInt32, name: String)] {
        [
            (Self.previous.rawValue, "previous"), (Self.future.rawValue, "future"),
            (Self.bothListsFilled.rawValue, "both-lists-filled"),
        ]
    }
}
