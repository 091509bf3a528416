// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA
internal import MediaTypes
internal import VAAPI

/// The HEVC coding tools of one of a driver's encoders: block sizes, tools, and the signalling of P pictures.
///
/// Tools that the driver supports and that reduce the size of pictures are used; others only if the driver requires
/// them.
struct HEVCTools: CodingTools, Hashable {
    /// `CtbLog2SizeY`, 4...6: the largest supported size.
    var ctbLog2Size = 5
    /// `MinCbLog2SizeY`, at least 3.
    var minCbLog2Size = 4
    /// `MinTbLog2SizeY`, at least 2 and below ``minCbLog2Size``.
    var minTbLog2Size = 2
    /// `MaxTbLog2SizeY`, at most 5 and ``ctbLog2Size``.
    var maxTbLog2Size = 5
    /// `max_transform_hierarchy_depth_inter`.
    var interDepth = 3
    /// `max_transform_hierarchy_depth_intra`.
    var intraDepth = 3

    /// `amp_enabled_flag`.
    var hasAsymmetricPartitions = true
    /// `sample_adaptive_offset_enabled_flag`.
    var hasAdaptiveOffset = false
    /// `sps_temporal_mvp_enabled_flag`.
    var hasTemporalPrediction = false
    /// `strong_intra_smoothing_enabled_flag`.
    var hasStrongSmoothing = false
    /// `sign_data_hiding_enabled_flag`.
    var hidesSigns = false
    /// `transform_skip_enabled_flag`.
    var skipsTransforms = false
    /// Whether `constrained_intra_pred_flag` may be set.
    var canConstrainIntra = true
    /// Whether `cu_qp_delta_enabled_flag` may be set.
    var canChangeQuantizers = true
    /// Whether `cu_qp_delta_enabled_flag` must be set.
    var mustChangeQuantizers = false
    /// The maximum number of entries in list 1 of P pictures if the driver has B slices instead of P slices; otherwise
    /// 0.
    var generalizedList1Limit = 0
    /// The alignment of coded pictures, in addition to ``minCbLog2Size``.
    var alignment = PictureAlignment(width: 1, height: 1)

    /// Starts with the defaults for encoders that report nothing: the blocks and tools of Intel's first encoders.
    init(_ capabilities: EncodeCapabilities, _ quirks: Quirks) throws(MediaError) {
        let stated = capabilities.surfaces.alignment ?? (1, 1)
        alignment = PictureAlignment(
            width: max(quirks.hevcAlignment.width, stated.width),
            height: max(quirks.hevcAlignment.height, stated.height)
        )
        if let directions = capabilities.predictionDirections, directions.contains(.bothListsFilled) {
            generalizedList1Limit = capabilities.references?.list1 ?? 0
        }
        if let sizes = capabilities[.hevcBlockSizes] { try setBlockSizes(sizes) }
        if let features = capabilities[.hevcFeatures] { try setFeatures(features) }
    }

    var blockSize: Int { 1 << ctbLog2Size }

    /// Returns the size of coded pictures.
    func codedSize(width: Int, height: Int) -> (width: Int, height: Int) {
        let block = 1 << minCbLog2Size
        return (
            Self.round(Self.round(width, up: block), up: alignment.width),
            Self.round(Self.round(height, up: block), up: alignment.height)
        )
    }

    private static func round(_ value: Int, up unit: Int) -> Int { (value + unit - 1) / unit * unit }

    private mutating func setBlockSizes(_ value: UInt32) throws(MediaError) {
        let bits = VAConfigAttribValEncHEVCBlockSizes(value: value).bits
        ctbLog2Size = min(Int(bits.log2_max_coding_tree_block_size_minus3) + 3, 6)
        minCbLog2Size = Int(bits.log2_min_luma_coding_block_size_minus3) + 3
        minTbLog2Size = Int(bits.log2_min_luma_transform_block_size_minus2) + 2
        maxTbLog2Size = min(Int(bits.log2_max_luma_transform_block_size_minus2) + 2, 5, ctbLog2Size)
        guard ctbLog2Size >= 4, minCbLog2Size <= ctbLog2Size, minTbLog2Size < minCbLog2Size,
            minTbLog2Size <= maxTbLog2Size
        else {
            throw MediaError(
                .unsupported,
                "the driver lists block sizes that HEVC does not support",
                given: "VAConfigAttribEncHEVCBlockSizes 0x\(String(value, radix: 16))"
            )
        }
        // HEVC 7.4.3.2.1
        let deepest = ctbLog2Size - minTbLog2Size
        interDepth = min(Int(bits.max_max_transform_hierarchy_depth_inter), deepest)
        intraDepth = min(Int(bits.max_max_transform_hierarchy_depth_intra), deepest)
    }

    private mutating func setFeatures(_ value: UInt32) throws(MediaError) {
        let bits = VAConfigAttribValEncHEVCFeatures(value: value).bits
        let required = UInt32(VA_FEATURE_REQUIRED)
        let missing = [
            ("separate colour planes", bits.separate_colour_planes), ("scaling lists", bits.scaling_lists),
            ("PCM blocks", bits.pcm), ("dependent slices", bits.dependent_slices),
            ("weighted prediction", bits.weighted_prediction), ("transform bypass", bits.transquant_bypass),
            ("unfiltered pictures", bits.deblocking_filter_disable),
        ].filter { $0.1 == required }
        if let (name, _) = missing.first {
            throw MediaError(
                .unsupported,
                "the driver requires an HEVC tool that this encoder does not support",
                given: name
            )
        }
        hasAsymmetricPartitions = bits.amp != 0
        hasAdaptiveOffset = bits.sao != 0
        hasTemporalPrediction = bits.temporal_mvp != 0
        hasStrongSmoothing = bits.strong_intra_smoothing != 0
        hidesSigns = bits.sign_data_hiding == required
        skipsTransforms = bits.transform_skip == required
        canConstrainIntra = bits.constrained_intra_pred != 0
        canChangeQuantizers = bits.cu_qp_delta != 0
        mustChangeQuantizers = bits.cu_qp_delta == required
    }
}

/// The alignment of the width and height of coded pictures, at least 1 each.
struct PictureAlignment: Hashable, Sendable {
    var width: Int
    var height: Int
}

/// The complete setup of an HEVC encoder.
typealias HEVCSetup = EncoderSetup<HEVCStream>
