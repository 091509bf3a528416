// SPDX-License-Identifier: GPL-2.0-or-later

internal import GOPPlanning
internal import MediaTypes
internal import VAAPI

/// What is settled about an encoder before anything of it is created, as far as it is not peculiar to a codec.
///
/// Nothing in it goes beyond what the driver lists: drivers have been seen to crash on what they do not list.
struct DeviceSetup: Sendable {
    /// The profile, as the driver calls it.
    var profile: Profile
    /// The entrypoint: the full encoder or the low-power one.
    var entrypoint: Entrypoint
    /// What the config is made with: each attribute is one that the driver has, each value one that it offers.
    var attributes: [ConfigAttributeValue]
    /// The format of the surfaces that pictures are coded from.
    var surfaceFormat: FourCC
    /// The headers that the driver will be sent; it writes the others. Either the parameter sets and slice headers
    /// together or none; with them ``PackedHeaders/rawData`` where the driver takes other NAL units as well.
    var packedHeaders: PackedHeaders
    /// What pictures refer to.
    var structure: GOPStructure
    /// How bits are spent.
    var rate: RatePlan
    /// The macroblocks, or coding tree units, of each slice, in raster order without gaps.
    var slices: [Range<Int>]
    /// How many pictures may be with the device at a time, at least 1.
    var framesInFlight: Int
    /// `VAEncMiscParameterBufferQualityLevel`; `nil` to send none.
    var qualityLevel: Int?
    /// What a wave of intra refresh consists of; `nil` without. Its period is that of ``structure``.
    var intraRefresh: IntraRefreshWave?
    /// `VAEncMiscParameterBufferMaxFrameSize`, in bytes; `nil` for no limit.
    var maximumFrameSize: Int?
    /// The regions of interest that a picture may have.
    var regions: RegionLimits
    /// Whether the driver says that it makes surfaces of memory of the process.
    var takesPages: Bool
    /// What the encoder does with the options of a configuration.
    var supportedProperties: Set<EncoderOption>
    /// Where it differs from what was asked for.
    var adjustments: [Adjustment]
    /// What has to be known of this driver.
    var quirks: Quirks
}

/// What a driver does with regions of interest.
struct RegionLimits: Hashable, Sendable {
    /// How many a picture may have, 0 for none.
    var count: Int
    /// How far the quantizer of one may be from that of the picture; what is beyond becomes the nearest.
    var offsets = -51...51
}

/// A wave of intra blocks that moves over the picture, from the first block column or row to the last.
struct IntraRefreshWave: Hashable, Sendable {
    /// Whether it moves from left to right, in columns, and not from top to bottom, in rows.
    var isColumn: Bool
    /// How many columns or rows of blocks a picture has.
    var length: Int
    /// In how many pictures it goes over the whole picture, 1...``length``.
    var period: Int

    /// The columns or rows that a picture renews. Those at positions 0..<``period`` together have all; each goes on by
    /// one or more, and begins with the last one of the picture before. Beside that one were old samples, which the
    /// deblocking filter mixed into it (H.264 8.7): without that, what is renewed would be right only after two waves.
    func blocks(at position: Int) -> Range<Int> {
        let position = min(max(position, 0), period - 1)
        return max(position * length / period - 1, 0)..<(position + 1) * length / period
    }
}
