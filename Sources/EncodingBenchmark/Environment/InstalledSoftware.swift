// SPDX-License-Identifier: GPL-2.0-or-later

internal import FFmpegSupport
internal import HostSystem
internal import SoftwareEncoder
internal import VAToolbox

/// The libraries used for encoding, as loaded by this process.
enum InstalledSoftware {
    /// The libraries with their versions.
    static var components: [BenchmarkReport.Component] {
        var components = [
            BenchmarkReport.Component(name: "vatoolbox", version: LibraryVersion.current, detail: build),
            BenchmarkReport.Component(name: "ffmpeg", version: MediaLibraries.version, detail: "its libraries"),
        ]
        for library in SoftwareLibraries.all {
            components.append(.init(name: library.name, version: library.version, detail: library.detail))
        }
        let maps = (try? MachineFiles().text("/proc/self/maps")) ?? ""
        for name in ["libva", "libdrm", "libyuv"] {
            guard let version = fileVersion(of: name, maps: maps) else { continue }
            components.append(.init(name: name, version: version))
        }
        return components
    }

    /// Returns the version in a library's file name: `2.1700.0` from `libva.so.2.1700.0`, which is libva 2.17.
    static func fileVersion(of library: String, maps: String) -> String? {
        let paths = maps.split(separator: "\n").compactMap { $0.split(separator: " ").last }
        let files = paths.compactMap { $0.split(separator: "/").last }
        return files.first { $0.hasPrefix(library + ".so.") }.map { String($0.dropFirst(library.count + 4)) }
    }

    /// The detail of this package if the compiler has not optimised it.
    static let withoutOptimisation = "built without optimisation"

    private static var build: String? {
        #if DEBUG
        withoutOptimisation
        #else
        nil
        #endif
    }
}
