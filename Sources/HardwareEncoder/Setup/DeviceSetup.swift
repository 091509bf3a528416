// SPDX-License-Identifier: GPL-2.0-or-later

internal import GOPPlanning
internal import MediaTypes
internal import VAAPI

/// The settings of an encoder that are determined before anything of it is created, as far as they do not depend on the
/// codec.
///
/// Nothing in it exceeds what the driver lists: some drivers crash on unlisted values.
struct DeviceSetup: Sendable {
    /// The VA-API profile.
    var profile: Profile
    /// The entrypoint: the full encoder or the low-power one.
    var entrypoint: Entrypoint
    /// The attributes of the config: the driver supports each attribute and each value.
    var attributes: [ConfigAttributeValue]
    /// The format of the input surfaces.
    var surfaceFormat: FourCC
    /// The headers that the driver receives; it writes the others. Either parameter sets and slice headers together or
    /// none; with them, ``PackedHeaders/rawData`` if the driver also accepts other NAL units.
    var packedHeaders: PackedHeaders
    /// The reference structure of the pictures.
    var structure: GOPStructure
    /// The rate control.
    var rate: RatePlan
    /// The range of macroblocks, or coding tree units, of each slice, in raster order without gaps.
    var slices: [Range<Int>]
    /// The maximum number of pictures at the device at a time, at least 1.
    var framesInFlight: Int
    /// `VAEncMiscParameterBufferQualityLevel`; `nil` to send none.
    var qualityLevel: Int?
    /// The intra refresh wave; `nil` without intra refresh. Its period is that of ``structure``.
    var intraRefresh: IntraRefreshWave?
    /// `VAEncMiscParameterBufferMaxFrameSize`, in bytes; `nil` for no limit.
    var maximumFrameSize: Int?
    /// The limits for regions of interest.
    var regions: RegionLimits
    /// Whether the driver reports support for surfaces in memory of the process.
    var takesPages: Bool
    /// The options of a configuration that the encoder supports.
    var supportedProperties: Set<EncoderOption>
    /// The settings that differ from the request.
    var adjustments: [Adjustment]
    /// The known quirks of this driver.
    var quirks: Quirks
}

/// The support of a driver for regions of interest.
struct RegionLimits: Hashable, Sendable {
    /// The maximum number per picture, 0 for none.
    var count: Int
    /// The allowed quantizer differences to the picture; values outside become the nearest one.
    var offsets = -51...51
}

/// A wave of intra blocks that moves across the picture, from the first block column or row to the last.
struct IntraRefreshWave: Hashable, Sendable {
    /// Whether it moves from left to right by columns, rather than from top to bottom by rows.
    var isColumn: Bool
    /// The number of block columns or rows of a picture.
    var length: Int
    /// The number of pictures in which it crosses the whole picture, 1...``length``.
    var period: Int

    /// Returns the columns or rows that a picture refreshes. Positions 0..<``period`` cover the whole picture. Each
    /// advances by one or more and also repeats the last one of the previous picture, which was next to old samples
    /// that the deblocking filter mixed into it (H.264 8.7). Without this, refreshed blocks would only be correct after
    /// two waves.
    func blocks(at position: Int) -> Range<Int> {
        let position = min(max(position, 0), period - 1)
        return max(position * length / period - 1, 0)..<(position + 1) * length / period
    }
}
