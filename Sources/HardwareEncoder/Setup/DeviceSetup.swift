// SPDX-License-Identifier: GPL-2.0-or-later

internal import GOPPlanning
internal import MediaTypes
internal import VAAPI

/// What is settled about an encoder before anything of it is created, as far as it is not peculiar to a codec.
struct DeviceSetup: Sendable {
    /// The profile, as the driver calls it.
    var profile: Profile
    /// The entrypoint: the full encoder or the low-power one.
    var entrypoint: Entrypoint
    /// What the config is made with: each attribute is one that the driver has, each value one that it offers.
    var attributes: [ConfigAttributeValue]
    /// The headers that the driver will be sent; it writes the others.
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
    /// Macroblocks that a picture of the wave of intra refresh inserts in a row or column, and which; `nil` without.
    var intraRefresh: IntraRefreshKinds?
    /// `VAEncMiscParameterBufferMaxFrameSize`, in bytes; `nil` for no limit.
    var maximumFrameSize: Int?
    /// How many regions of interest a picture may have, 0 for none.
    var regionsOfInterest: Int
    /// What the encoder does with the options of a configuration.
    var supportedProperties: Set<EncoderOption>
    /// Where it differs from what was asked for.
    var adjustments: [Adjustment]
}

/// ``DeviceSetup`` for H.264, with the stream that comes of it.
struct H264Setup: Sendable {
    var device: DeviceSetup
    var stream: H264Stream
}
