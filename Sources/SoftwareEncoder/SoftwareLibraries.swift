// SPDX-License-Identifier: GPL-2.0-or-later

internal import CX264
internal import CX265

/// A library that encodes.
public struct SoftwareLibrary: Sendable, Hashable {
    /// The name: `x264` or `x265`.
    public let name: String
    /// The version that the library reports: `0.164.3095 baee400`.
    public let version: String
    /// The build options, if the library reports them.
    public let detail: String?
}

/// The encoder libraries that are used.
public enum SoftwareLibraries {
    /// x264 according to the headers of this build, whose build number the loaded library has; x265 as loaded.
    public static var all: [SoftwareLibrary] {
        var libraries = [SoftwareLibrary(name: "x264", version: X264_POINTVER, detail: nil)]
        if let api = x265_shim_api_get(0)?.pointee, let version = api.version_str {
            let detail = api.build_info_str.map { String(cString: $0) }
            libraries.append(SoftwareLibrary(name: "x265", version: String(cString: version), detail: detail))
        }
        return libraries
    }
}
