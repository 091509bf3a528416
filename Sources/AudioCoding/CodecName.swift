// SPDX-License-Identifier: GPL-2.0-or-later

extension AudioStreamDescription {
    /// The codec in the form of RFC 6381, as playlists and MIME types state it, for example `mp4a.40.2`; `nil` for codecs
    /// that HTTP Live Streaming does not have (authoring specification for Apple devices, 2.2 and 2.5).
    public var mediaTypeCodec: String? {
        switch codecName {
        case "aac":
            // The profile is the audio object type of ISO/IEC 14496-3 minus one; LC if it is not known.
            return "mp4a.40.\((profile ?? 1) + 1)"
        case "mp3": return "mp4a.40.34"
        case "ac3": return "ac-3"
        case "eac3": return "ec-3"
        case "flac": return "fLaC"
        case "alac": return "alac"
        default: return nil
        }
    }
}
