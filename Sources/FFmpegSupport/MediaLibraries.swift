// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg

/// The FFmpeg libraries that this module uses, as loaded at program start.
public enum MediaLibraries {
    /// FFmpeg's version with its packager's suffix, for example `5.1.8-0+deb12u1` (`av_version_info`).
    public static var version: String { av_version_info().map { String(cString: $0) } ?? "unknown version" }
}
