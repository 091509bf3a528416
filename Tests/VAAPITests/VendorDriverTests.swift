// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// The layer on the distribution's own drivers. They take every call; their devices do nothing.
@Suite(.serialized) struct VendorDriverTests {
    private static let intel = ["skl", "kbl", "icl", "tgl", "adlp"]
    private static let amd = ["polaris10", "raven", "renoir", "navi21"]

    private static func isInstalled(_ chip: String) -> Bool {
        let driver = amd.contains(chip) ? "radeonsi" : "iHD"
        let folders = ["/usr/lib/x86_64-linux-gnu/dri", "/usr/lib64/dri", "/usr/lib/dri"]
        return folders.contains { FileManager.default.fileExists(atPath: "\($0)/\(driver)_drv_video.so") }
    }

    /// Those chips whose drivers are installed.
    private static let chips = (intel + amd).filter(isInstalled)
    /// One of each generation that its driver treats in a way of its own.
    private static let differentChips = ["skl", "tgl", "polaris10", "navi21"].filter(isInstalled)
    private static let listedChips = (intel + ["dg2"] + amd).filter(isInstalled)

    /// The capability model reads the same as the table that another program has made of the same drivers.
    @Test(arguments: listedChips)
    func capabilitiesAreThoseOfTheTable(chip: String) throws {
        let table = try Rig.vendorTable().components(separatedBy: "\n[")
        let section = try #require(table.first { $0.hasPrefix("\(chip)] ") }).split(separator: "\n")
        let heading = try #require(section.first)
        let outcome = try Rig.run("capabilities", chip: chip)
        let version = try #require(heading.split(separator: " ").last)
        // Another version may list something else; the table's own test says so then.
        guard outcome.lines.first?.contains(version) == true else { return }
        #expect(outcome.status == 0)
        let listed = outcome.lines.dropFirst().filter { !$0.hasPrefix("message ") }
        #expect(listed.sorted() == section.dropFirst().map(String.init).sorted())
    }

    @Test(arguments: chips)
    func theModelOfAChip(chip: String) throws {
        let lines = try Rig.run("capability-model", chip: chip).lines
        func value(_ name: String) -> Substring? {
            let entrypoint = Self.amd.contains(chip) ? "EncSlice" : "EncSliceLP"
            let start = "H264Main \(entrypoint) \(name): "
            return lines.first { $0.hasPrefix(start) }?.dropFirst(start.count)
        }
        let isAMD = Self.amd.contains(chip)
        #expect(value("formats")?.hasPrefix("NV12") == true)
        #expect(value("maximum-width") == "4096")
        #expect(value("maximum-height") == (isAMD ? "2304" : "4096"))
        #expect(value("references") == (isAMD ? "1,0" : "3,0"))
        #expect(value("packed-headers") == (isAMD ? "none" : "sequence picture slice misc raw"))
        let regions = ["skl", "kbl", "icl"].contains(chip) ? 3 : 16
        #expect(value("roi") == (isAMD ? "-" : "\(regions) false true"))
        #expect(value("intra-refresh") == (isAMD ? "none" : "rolling-column rolling-row"))
        #expect(value("dirty-rectangles") == (isAMD ? "0" : "4"))
        #expect(value("quality-levels") == (isAMD ? (chip == "polaris10" ? "1" : "32") : "7"))
        #expect(value("memory")?.split(separator: " ").contains("prime-2") == true)
    }

    @Test(arguments: differentChips)
    func everyCallIsTaken(chip: String) throws {
        for scenario in ["all-calls", "loose-ends", "waiting", "threads"] {
            let outcome = try Rig.run(scenario, chip: chip)
            #expect(outcome.status == 0 && outcome.lines.last == "done", "\(scenario): \(outcome.lines.suffix(3))")
        }
    }

    @Test(arguments: differentChips)
    func aPictureComesOut(chip: String) throws {
        let scratch = try Scratch()
        let outcome = try Rig.run("encode", "642", "358", "2", scratch.path("stream"), chip: chip)
        #expect(outcome.lines.count { $0.contains(" size 1000 ") } == 2)
        #expect(outcome.lines.contains(Self.amd.contains(chip) ? "way put copies 2" : "way derived copies 1"))
        #expect(outcome.lines.last == "done")
    }
}
