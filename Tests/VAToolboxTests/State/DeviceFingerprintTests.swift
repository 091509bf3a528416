// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import HardwareEncoder
import Testing

@testable import RenderNodes
@testable import VAToolbox

@Suite struct DeviceFingerprintTests {
    private let node = RenderNode(
        path: "/dev/dri/renderD128",
        minor: 128,
        file: nil,
        groupName: nil,
        kernelDriver: nil,
        pci: nil,
        huC: nil,
        access: .accessible
    )

    @Test func whatIsKnownOfDriversIsPartOfIt() {
        let (now, again) = (DeviceFingerprint(node, helperPath: nil), DeviceFingerprint(node, helperPath: nil))
        #expect(now == again && now.device == again.device)
        let other = DeviceFingerprint(node, helperPath: nil, knownDrivers: KnownDrivers.text + " one quirk more")
        #expect(other != now && other.device == now.device)
        for part in ["Mesa Gallium driver", "Intel iHD driver", "..<24.1.0", "25.0.7"] {
            #expect(KnownDrivers.text.contains(part), "\(part)")
        }
    }

    /// A library of one note segment with one note.
    private func library(_ identifier: [UInt8], type: UInt8 = 3) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 64 + 56)
        bytes.replaceSubrange(0..<5, with: [0x7F, 0x45, 0x4C, 0x46, 2])
        (bytes[32], bytes[54], bytes[56]) = (64, 56, 1)
        let note: [UInt8] = [4, 0, 0, 0, UInt8(identifier.count), 0, 0, 0, type, 0, 0, 0] + Array("GNU\0".utf8)
        (bytes[64], bytes[64 + 8], bytes[64 + 32]) = (4, 120, UInt8(note.count + identifier.count))
        return bytes + note + identifier
    }

    private func read(_ bytes: [UInt8]) -> String? {
        ELFBuild.identifier { offset, count in Array(bytes.dropFirst(offset).prefix(count)) }
    }

    @Test func buildsAreRead() {
        #expect(read(library([0x0A, 0xFF, 0x10, 0x02])) == "0aff1002")
        #expect(read(library([1, 2, 3, 4], type: 1)) == nil)
        #expect(ELFBuild.identifier(ofFile: "/nonexistent") == nil)
    }

    /// Neither a cut file nor any single wrong byte does more harm than that nothing is found.
    @Test func damagedLibrariesHaveNone() {
        let whole = library([1, 2, 3, 4])
        for count in 0..<whole.count { #expect(read(Array(whole.prefix(count))) == nil) }
        for index in whole.indices {
            for value: UInt8 in [0x7F, 0x80, 0xFF] {
                var damaged = whole
                damaged[index] = value
                #expect((read(damaged)?.count ?? 0) <= 8)
            }
        }
    }

    /// Two drivers of one path and size.
    @Test func buildsOfFilesDiffer() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "fingerprint-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "any_drv_video.so")
        var found: Set<String?> = []
        for last: UInt8 in [1, 2] {
            try Data(library([7, 7, 7, last])).write(to: file)
            found.insert(ELFBuild.identifier(ofFile: file.path))
        }
        #expect(found == ["07070701", "07070702"])
    }
}
