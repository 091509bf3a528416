// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

@testable import VAAPI

@Suite struct DriverSearchTests {
    private static let folder = "/lib/dri"

    private func search(
        _ kernelDriver: String,
        name: String? = nil,
        path: String? = nil,
        minor: Int32 = 17,
        installed: Set<String> = []
    ) -> DriverSearch {
        let settings = DriverSearch.Settings(
            driverName: name,
            driversPath: path,
            defaultFolder: Self.folder,
            minorVersion: minor
        )
        return DriverSearch(kernelDriver: kernelDriver, settings: settings, exists: installed.contains)
    }

    /// That of the library which is loaded counts, not that of the headers.
    @Test(
        arguments: [
            ("/usr/lib/x86_64-linux-gnu/libva.so.2.1700.0", 17), ("/opt/libva.so.2.2200.1", 22), ("libva.so.2", nil),
            ("/lib/libva.so.2.9", nil), ("/lib/libva-drm.so.2.2200.0", nil), ("/lib/program", nil), ("", nil),
        ] as [(String, Int32?)]
    ) func theVersionIsThatOfTheLoadedLibrary(file: String, minor: Int32?) {
        #expect(DriverSearch.Settings.minorVersion(ofLibrary: file) == minor)
    }

    @Test(
        arguments: [
            ("i915", 17, ["iHD", "i965"]), ("xe", 20, ["xe"]), ("xe", 21, ["iHD"]),
            ("radeon", 17, ["r600", "radeonsi"]),
            ("amdgpu", 17, ["radeonsi"]), ("nvidia-drm", 17, ["nvidia"]), ("virtio_gpu", 17, ["virtio_gpu"]),
            ("i915x", 17, ["i915x"]),
        ] as [(String, Int32, [String])]
    )
    func namesFollowTheTableOfLibVA(kernelDriver: String, minor: Int32, names: [String]) {
        let search = search(kernelDriver, minor: minor)
        #expect(search.names == names)
        #expect(search.files == names.map { "/lib/dri/\($0)_drv_video.so" })
    }

    @Test func theEnvironmentRules() {
        let search = search("i915", name: "radeonsi", path: ":/a::/b:", installed: ["/b/radeonsi_drv_video.so"])
        #expect(search.names == ["radeonsi"])
        #expect(search.files == ["/a/radeonsi_drv_video.so", "/b/radeonsi_drv_video.so"])
        #expect(search.installed == ["/b/radeonsi_drv_video.so"])
        #expect(search.remedies.isEmpty)
    }

    @Test func namesComeBeforeFolders() {
        let names = search("i915", path: "/a:/b").files.map { $0.replacingOccurrences(of: "_drv_video.so", with: "") }
        #expect(names == ["/a/iHD", "/b/iHD", "/a/i965", "/b/i965"])
    }

    @Test(
        arguments: [
            ("i915", "intel-media-va-driver"), ("xe", "intel-media-va-driver"), ("amdgpu", "mesa-va-drivers"),
            ("radeon", "mesa-va-drivers"), ("nouveau", "mesa-va-drivers"), ("virtio_gpu", "mesa-va-drivers"),
        ]
    )
    func aMissingDriverIsNamedByItsPackage(kernelDriver: String, package: String) {
        #expect(search(kernelDriver).remedies.contains("install the driver: sudo apt-get install \(package)"))
    }

    @Test func aDriverWithoutPackageGetsNoCommand() {
        #expect(search("vgem").remedies.isEmpty)
        #expect(!search("nvidia-drm").remedies.contains { $0.contains("apt-get") })
    }

    @Test func anEnvironmentThatMisleadsIsTheFirstSuspect() {
        let remedies = search("amdgpu", name: "iHD", path: "/nowhere").remedies
        #expect(remedies.count == 3)
        #expect(remedies.first?.hasSuffix("unset LIBVA_DRIVER_NAME") == true)
        #expect(remedies.dropFirst().first?.hasSuffix("unset LIBVA_DRIVERS_PATH") == true)
        #expect(remedies.last?.hasSuffix("mesa-va-drivers") == true)
    }

    @Test func anOldLibVAThatDoesNotKnowXe() {
        #expect(search("xe", minor: 17).remedies.first?.hasSuffix("export LIBVA_DRIVER_NAME=iHD") == true)
        #expect(!search("xe", minor: 22).remedies.contains { $0.contains("LIBVA_DRIVER_NAME") })
        #expect(!search("xe", name: "iHD", minor: 17).remedies.contains { $0.contains("export") })
    }

    @Test func filesAreLookedForOnDisk() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "vatoolbox-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.path + "/i965_drv_video.so"
        try Data().write(to: URL(fileURLWithPath: file))
        let settings = DriverSearch.Settings(driversPath: folder.path, defaultFolder: Self.folder, minorVersion: 17)
        let search = DriverSearch(kernelDriver: "i915", settings: settings) {
            FileManager.default.fileExists(atPath: $0)
        }
        #expect(search.installed == [file])
        #expect(search.remedies.isEmpty)
    }

    /// libva's pkg-config file states the folder that was built in: the folder found at run time must be that one.
    @Test func theDefaultFolderIsTheOneThatLibVAWasBuiltWith() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["pkg-config", "--variable=driverdir", "libva"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(DriverSearch.Settings.current.defaultFolder == text.trimmingCharacters(in: .whitespacesAndNewlines))
    }
}
