// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Testing

@testable import HardwareEncoder

/// Which memory of others drivers read as it lies.
@Suite struct ImportedSurfacesTests {
    private typealias File = ImportedSurfaces.File

    private func planes(_ layouts: (object: Int, offset: Int, pitch: Int)...) -> [DMABuffer.Plane] {
        layouts.map { layout in
            let place = PlaneLayout(offset: layout.offset, bytesPerRow: layout.pitch)
            return DMABuffer.Plane(object: layout.object, layout: place)
        }
    }

    private let one = [File(device: 1, number: 7)]
    /// Two descriptors of one memory, and of two.
    private let same = [File(device: 1, number: 7), File(device: 1, number: 7)]
    private let two = [File(device: 1, number: 7), File(device: 1, number: 8)]

    @Test func planesOfWholeRowsInOneMemory() {
        let usual = planes((0, 0, 2048), (0, 2048 * 1088, 2048))
        #expect(ImportedSurfaces.areEven(usual, one))
        #expect(ImportedSurfaces.areEven(planes((0, 0, 7680)), one))
        #expect(ImportedSurfaces.areEven(planes((0, 0, 2048), (1, 2048 * 1088, 2048)), same))
        #expect(ImportedSurfaces.areEven(planes((1, 0, 2048), (1, 2048 * 1088, 2048)), same))
    }

    @Test func planesThatIHDReadsFromElsewhere() {
        // Chroma at 2 MiB is in the middle of a row of 1920 bytes.
        #expect(!ImportedSurfaces.areEven(planes((0, 0, 1920), (0, 2_097_152, 1920)), one))
        #expect(!ImportedSurfaces.areEven(planes((0, 0, 2048), (0, 2048 * 1088, 1024)), one))
        #expect(!ImportedSurfaces.areEven(planes((0, 0, 2048), (1, 0, 2048)), two))
        // The driver looks at the first object, wherever luma is.
        #expect(!ImportedSurfaces.areEven(planes((1, 0, 2048), (1, 2048 * 1088, 2048)), two))
        #expect(!ImportedSurfaces.areEven([], one))
    }

    /// Linear, not told, and tiled by AMD; by Intel (Y), NVIDIA and ARM.
    @Test func modifiersOfAnotherGPU() {
        for modifier in [0, 0x00FF_FFFF_FFFF_FFFF, 0x0200_0000_0040_1B05] as [UInt64] {
            #expect(ImportedSurfaces.isModifier(modifier, of: 0x02))
        }
        for modifier in [0x0100_0000_0000_0002, 0x0300_0000_0060_6010, 0x0800_0000_0000_0041] as [UInt64] {
            #expect(!ImportedSurfaces.isModifier(modifier, of: 0x02))
        }
        #expect(Quirks(vendor: DriverVersionTests.mesa25, codec: .h264).readModifierVendor == 0x02)
        #expect(Quirks(vendor: DriverNumbers.skylake.vendor, codec: .h264).readModifierVendor == nil)
    }

    @Test func onlyIHDNeedsThat() {
        #expect(Quirks(vendor: DriverNumbers.skylake.vendor, codec: .hevc).importsEvenPlanesOnly)
        #expect(!Quirks(vendor: DriverNumbers.navi21.vendor, codec: .hevc).importsEvenPlanesOnly)
    }
}
