// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg

/// The libraries of FFmpeg behind this module, as they were found when the program started.
public enum MediaLibraries {
    /// FFmpeg's version as its packager names it, for example `5.1.8-0+deb12u1` (`av_version_info`).
    public static var version: String { av_version_info().map { String(cString: $0) } ?? "of unknown version" }
}
