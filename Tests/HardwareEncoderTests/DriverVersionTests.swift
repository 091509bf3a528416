// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Testing

@testable import HardwareEncoder
@testable import VAAPI

@Suite struct DriverVersionTests {
    static let mesa25 =
        "Mesa Gallium driver 25.0.7-2 for AMD Radeon RX 7900 XT (radeonsi, navi31, LLVM 19.1.7, DRM 3.61, 6.12.0)"

    @Test func versionsAreRead() {
        #expect(DriverVersion(vendor: DriverNumbers.skylake.vendor) == DriverVersion(23, 1, 1))
        #expect(DriverVersion(vendor: DriverNumbers.navi21.vendor) == DriverVersion(22, 3, 6))
        #expect(DriverVersion(vendor: Self.mesa25) == DriverVersion(25, 0, 7))
        #expect(DriverVersion(vendor: "Mesa Gallium driver 26.0.0-devel for AMD") == DriverVersion(26, 0))
        let i965 = "Intel i965 driver for Intel(R) Kaby Lake - 2.4.1"
        #expect(DriverVersion(vendor: i965) == DriverVersion(2, 4, 1))
        let intel = "Intel iHD driver for Intel(R) Gen Graphics - 25.2.3 ()"
        #expect(DriverVersion(vendor: intel) == DriverVersion(25, 2, 3))
        for vendor in ["no number", "", "driver 7", "1..2", "99999999999999999999.1"] {
            #expect(DriverVersion(vendor: vendor) == nil)
        }
    }

    @Test func versionsHaveAnOrder() {
        let ordered = [(1, 9, 9), (2, 0, 0), (22, 3, 6), (23, 1, 1), (24, 1, 0), (24, 10, 0), (25, 0, 7), (25, 2, 3)]
            .map { DriverVersion($0.0, $0.1, $0.2) }
        #expect(ordered == ordered.shuffled().sorted())
        let some = DriverVersions.between(DriverVersion(24, 1)..<DriverVersion(25, 0, 7))
        #expect(ordered.filter(some.contains) == [DriverVersion(24, 1), DriverVersion(24, 10)])
        #expect(ordered.filter(DriverVersions.since(DriverVersion(25, 0, 7)).contains).count == 2)
        #expect(ordered.filter(DriverVersions.before(DriverVersion(2, 0)).contains).count == 1)
        #expect(ordered.allSatisfy(DriverVersions.all.contains))
    }

    @Test func quirksConcernTheirVersions() {
        let old = Quirk("Gallium", in: .before(DriverVersion(24, 0)), what: "", why: "", source: "") { _ in }
        #expect(old.concerns(DriverNumbers.navi21.vendor, .h264) && old.concerns("Gallium of no version", .hevc))
        #expect(!old.concerns("Mesa Gallium driver 24.0.1", .h264))
        #expect(!old.concerns(DriverNumbers.skylake.vendor, .h264))
        let one = Quirk("Gallium", .hevc, what: "", why: "", source: "") { _ in }
        #expect(one.concerns("Gallium", .hevc) && !one.concerns("Gallium", .h264))
    }

    @Test func mesaOfTodayHasOtherQuirks() {
        let (old, new) = (
            Quirks(vendor: DriverNumbers.navi21.vendor, codec: .h264), Quirks(vendor: Self.mesa25, codec: .h264)
        )
        #expect(old.ignoresSliceQuantizers && !new.ignoresSliceQuantizers)
        #expect(old.statusMask == 0 && new.statusMask == .max)
        #expect(old.unkeptSliceStructures.isEmpty && new.unkeptSliceStructures.contains(.arbitraryMacroblocks))
        #expect(new.regionBlock == 16 && Quirks(vendor: Self.mesa25, codec: .hevc).regionBlock == 64)
        #expect(new.refusesBFrameReferences)
    }
}
