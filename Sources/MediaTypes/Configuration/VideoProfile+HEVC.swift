// SPDX-License-Identifier: GPL-2.0-or-later

package import BitstreamSyntax

extension VideoProfile {
    /// The profile fields of the parameter sets for an HEVC profile, without the tier and the flags that describe the
    /// source; `nil` for H.264 profiles.
    package var hevcProfile: HEVCProfile? {
        guard codec == .hevc else { return nil }
        var result = HEVCProfile()
        switch self {
        // Main 10 and Main 12 decoders also decode the lower profiles (HEVC A.3.2 and A.3.3).
        case .hevcMain: (result.profileIdc, result.profileCompatibilityFlags) = (1, 0x6000_0000)
        case .hevcMain10: (result.profileIdc, result.profileCompatibilityFlags) = (2, 0x2000_0000)
        default:
            (result.profileIdc, result.profileCompatibilityFlags) = (4, 0x0800_0000)
            result.constraints.max12bit = maximumBitDepth <= 12
            result.constraints.max10bit = maximumBitDepth <= 10
            result.constraints.max8bit = maximumBitDepth <= 8
            result.constraints.max422chroma = chromaFormat <= .yuv422
            result.constraints.max420chroma = chromaFormat <= .yuv420
            result.constraints.lowerBitRate = true
        }
        return result
    }
}
