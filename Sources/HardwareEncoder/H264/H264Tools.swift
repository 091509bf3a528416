// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import VAAPI

/// The H.264 coding tools. VA-API has no attribute for them: every driver's encoder supports all of them.
struct H264Tools: CodingTools, Hashable {
    /// Whether CABAC is used.
    var hasCABAC = true
    /// Whether the 8x8 transform is used in High profile.
    var has8x8Transform = true

    init() {}

    init(_ capabilities: EncodeCapabilities, _ quirks: Quirks) throws(MediaError) {}

    /// The size of a macroblock.
    var blockSize: Int { 16 }

    func codedSize(width: Int, height: Int) -> (width: Int, height: Int) {
        ((width + 15) / 16 * 16, (height + 15) / 16 * 16)
    }
}

/// The complete setup of an H.264 encoder.
typealias H264Setup = EncoderSetup<H264Stream>
