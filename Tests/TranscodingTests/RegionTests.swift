// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import Transcoding

/// Regions of interest that are given for a whole video.
@Suite struct RegionTests {
    private func settings(_ regions: [RegionOfInterest]) -> VideoSettings {
        var settings = VideoSettings()
        settings.regionsOfInterest = regions
        return settings
    }

    private func region(_ x: Int, _ y: Int, _ width: Int, _ height: Int, offset: Int = -3) -> RegionOfInterest {
        RegionOfInterest(x: x, y: y, width: width, height: height, quantizerOffset: offset)
    }

    @Test func whatLiesInsideStaysAsItIs() throws {
        let regions = [region(0, 0, 64, 48), region(63, 47, 1, 1, offset: 51)]
        let (kept, adjustments) = try settings(regions).regions(width: 64, height: 48)
        #expect(kept == regions)
        #expect(adjustments.isEmpty)
    }

    @Test func whatLiesPartlyOutsideIsCutAndReported() throws {
        let regions = [region(60, 40, 10, 10), region(-4, -4, 8, 8), region(1, 1, .max, .max)]
        let (kept, adjustments) = try settings(regions).regions(width: 64, height: 48)
        #expect(kept == [region(60, 40, 4, 8), region(0, 0, 4, 4), region(1, 1, 63, 47)])
        #expect(adjustments.map(\.used) == ["4x8 at 60,40", "4x4 at 0,0", "63x47 at 1,1"])
        #expect(adjustments.first?.requested == "10x10 at 60,40")
    }

    @Test func whatCannotBeARegionIsRefused() throws {
        let refusals: [(RegionOfInterest, String, String)] = [
            (region(64, 0, 4, 4), "4x4 at 64,0", "within 64x48"), (region(0, 48, 4, 4), "4x4 at 0,48", "within 64x48"),
            (region(-4, 0, 4, 4), "4x4 at -4,0", "within 64x48"), (region(0, 0, 0, 4), "0x4 at 0,0", "within 64x48"),
            (region(0, 0, 4, -1), "4x-1 at 0,0", "within 64x48"), (region(0, 0, 4, 4, offset: 52), "52", "-51...51"),
            (region(.min, 0, .max, 4), "\(Int.max)x4 at \(Int.min),0", "within 64x48"),
            (region(0, 0, 4, 4, offset: .min), "\(Int.min)", "-51...51"),
        ]
        for (region, given, allowed) in refusals {
            let error = #expect(throws: MediaError.self) { try settings([region]).regions(width: 64, height: 48) }
            #expect(error?.code == .invalidArgument && error?.given == given && error?.allowed == allowed)
        }
        let many = Array(repeating: region(0, 0, 4, 4), count: PixelAttachments.maximumRegionsOfInterest + 1)
        #expect(throws: MediaError.self) { try settings(many).regions(width: 64, height: 48) }
    }
}
