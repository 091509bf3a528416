// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax

extension EncoderConfiguration {
    /// The codec that these settings determine: the requested codec, or the only one that has the requested profile,
    /// entropy mode, level, chroma format or bit depth. `nil` if both codecs are possible, also if a level is set for
    /// each of them.
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
