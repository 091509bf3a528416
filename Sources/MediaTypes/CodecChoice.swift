// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax

extension EncoderConfiguration {
    /// The codec that these settings fix: the one that was asked for, or the one that a profile, a level or an entropy mode
    /// belongs to; `nil` if it may be either.
    public var fixedCodec: VideoCodec? {
        switch codec {
        case .h264: return .h264
        case .hevc: return .hevc
        case .automatic: break
        }
        if let profile { return profile.codec }
        if level != nil || entropyMode != .automatic { return .h264 }
        return hevcLevel != nil ? .hevc : nil
    }
}
