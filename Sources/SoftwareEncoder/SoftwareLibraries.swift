// SPDX-License-Identifier: GPL-2.0-or-later

internal import CX264
internal import CX265

/// The libraries that encode.
public struct SoftwareLibrary: Sendable, Hashable {
    /// `x264` or `x265`.
    public let name: String
    /// What it calls itself: `0.164.3095 baee400`.
    public let version: String
    /// How it was built, where it tells.
    public let detail: String?
}

/// Which libraries these are.
public enum SoftwareLibraries {
    /// x264 of the headers that this was built with, whose build number the loaded library has; x265 as it is loaded.
    public static var all: [SoftwareLibrary] {
        var libraries = [SoftwareLibrary(name: "x264", version: X264_POINTVER, detail: nil)]
        if let api = x265_shim_api_get(0)?.pointee, let version = api.version_str {
            let detail = api.build_info_str.map { String(cString: $0) }
            libraries.append(SoftwareLibrary(name: "x265", version: String(cString: version), detail: detail))
        }
        return libraries
    }
}
