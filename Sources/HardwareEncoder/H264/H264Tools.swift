// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import VAAPI

/// What H.264 is coded with. VA-API has no attribute for it: every driver's encoder has all of it.
struct H264Tools: CodingTools, Hashable {
    /// Whether it codes with CABAC.
    var hasCABAC = true
    /// Whether it uses the 8x8 transform in High profile.
    var has8x8Transform = true

    init() {}

    init(_ capabilities: EncodeCapabilities, _ quirks: Quirks) throws(MediaError) {}

    /// Macroblocks.
    var blockSize: Int { 16 }

    func codedSize(width: Int, height: Int) -> (width: Int, height: Int) {
        ((width + 15) / 16 * 16, (height + 15) / 16 * 16)
    }
}

/// Everything that is settled about an H.264 encoder.
typealias H264Setup = EncoderSetup<H264Stream>
