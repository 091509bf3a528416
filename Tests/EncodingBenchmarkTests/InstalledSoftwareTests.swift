// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import EncodingBenchmark

@Suite struct InstalledSoftwareTests {
    @Test func librariesHaveVersions() throws {
        let components = InstalledSoftware.components
        for name in ["vatoolbox", "ffmpeg", "x264", "x265", "libva", "libyuv"] {
            let component = try #require(components.first { $0.name == name }, "\(name)")
            #expect(component.version.contains { $0.isNumber })
        }
    }

    @Test func versionsAreThoseOfTheFilesThatAreLoaded() {
        let maps = """
            7f00-7f01 r-xp 00000000 08:01 123    /usr/lib/x86_64-linux-gnu/libva-drm.so.2.1700.0
            7f02-7f03 r--p 00000000 08:01 124    /usr/lib/x86_64-linux-gnu/libva.so.2.1700.0
            7f04-7f05 rw-p 00000000 00:00 0      [heap]
            7f06-7f07 rw-p 00000000 00:00 0
            """
        #expect(InstalledSoftware.fileVersion(of: "libva", maps: maps) == "2.1700.0")
        #expect(InstalledSoftware.fileVersion(of: "libva-drm", maps: maps) == "2.1700.0")
        #expect(InstalledSoftware.fileVersion(of: "libdrm", maps: maps) == nil)
    }
}
