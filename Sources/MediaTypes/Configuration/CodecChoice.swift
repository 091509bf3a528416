// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax

extension EncoderConfiguration {
    /// The codec that these settings fix: the one that was asked for, or the one that a profile, an entropy mode or a level
    /// belongs to, or that alone has the chroma format or the bit depth; `nil` if it may be either, also with a level for each.
    public var fixedCodec: VideoCodec? {
        switch codec {
        case .h264: return .h264
        case .hevc: return .hevc
        case .automatic: break
        }
        if let profile { return profile.codec }
        if entropyMode != .automatic { return .h264 }
        if chromaFormat != .yuv420 || bitDepth == 12 { return .hevc }
        switch (h264Level, hevcLevel) {
        case (nil, nil), (_?, _?): return nil
        case (_?, nil): return .h264
        case (nil, _?): return .hevc
        }
    }
}
