// SPDX-License-Identifier: GPL-2.0-or-later

/// A video coding standard whose bitstreams this package reads and writes.
public enum VideoCodec: String, Sendable, Hashable, CaseIterable {
    /// ITU-T H.264 | ISO/IEC 14496-10, also called AVC.
    case h264
    /// ITU-T H.265 | ISO/IEC 23008-2.
    case hevc
}
