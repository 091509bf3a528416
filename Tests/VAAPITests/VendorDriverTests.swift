// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// The layer on the distribution's own drivers, in the versions that the table of the test drivers is about. They take
/// every call; their devices do nothing.
@Suite struct VendorDriverTests {
    private static let intel = ["skl", "kbl", "icl", "tgl", "adlp"]
    private static let amd = ["polaris10", "raven", "renoir", "navi21"]

    private static let chips =
        (isKnown("skl") ? intel : []) + (isKnown("raven") ? amd : [])
    private static let listedChips = chips + (chips.contains("skl") ? ["dg2"] : [])
    /// One of each generation that its driver treats in a way of its own.
    private static let differentChips = ["skl", "tgl", "polaris10", "navi21"].filter(chips.contains)

    /// Whether the driver for a chip is installed, in the version of the table.
    private static func isKnown(_ chip: String) -> Bool {
        guard let version = try? section(chip).first?.split(separator: " ").last,
            let driver = try? Rig.run("capabilities", chip: chip).lines.first
        else { return false }
        return driver.hasPrefix("driver ") && driver.contains(version)
    }

    /// What the table says of a chip: a heading with the driver's version, then a line for each profile and entrypoint.
    private static func section(_ chip: String) throws -> [String] {
        let sections = try Rig.vendorTable().components(separatedBy: "\n[")
        let section = try #require(sections.first { $0.hasPrefix("\(chip)] ") })
        return section.split(separator: "\n").map(String.init)
    }

    /// The capability model reads the same as the table that another program has made of the same drivers.
    @Test(arguments: listedChips)
    func capabilitiesAreThoseOfTheTable(chip: String) throws {
        let outcome = try Rig.run("capabilities", chip: chip)
        #expect(outcome.status == 0)
        let listed = outcome.lines.dropFirst().filter { !$0.hasPrefix("message ") }
        #expect(listed.sorted() == (try Self.section(chip).dropFirst().sorted()))
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

    /// iHD refuses parameters that it does not know, radeonsi passes them over. Either goes on.
    @Test(arguments: differentChips, ["first", "last"])
    func refusedParametersEndThePictureOnly(chip: String, place: String) throws {
        let outcome = try Rig.run("refused-parameters", place, chip: chip)
        let isAMD = Self.amd.contains(chip)
        #expect(outcome.lines.first?.hasPrefix(isAMD ? "taken 1000 bytes" : "refused vaRenderPicture: ") == true)
        #expect(outcome.lines.suffix(2) == ["next 1000 bytes", "done"], "\(outcome.lines)")
    }

    /// A wait with a limit comes to its end at some time, also where the driver knows no limits or takes none for a poll.
    @Test(arguments: differentChips, ["0", "1000000"])
    func pollingComesToAnEnd(chip: String, nanoseconds: String) throws {
        #expect(try Rig.run("poll", "buffer", nanoseconds, chip: chip).lines == ["complete", "done"])
        #expect(try Rig.run("poll", "surface", nanoseconds, chip: chip).lines == ["complete", "done"])
    }

    /// Intel's driver keeps to the limit of a wait when its device does nothing more.
    @Test(arguments: differentChips.filter { !amd.contains($0) })
    func waitsReturnFromAHungDevice(chip: String) throws {
        #expect(try Rig.run("unfinished-picture", chip: chip, hangs: true).lines == ["done"])
    }

    /// Intel's surfaces are tiled and come back by either kind of layers; AMD's are linear, in two objects, and do not come
    /// back on a node that stores no tiling.
    @Test(arguments: differentChips)
    func surfacesAreExported(chip: String) throws {
        let outcome = try Rig.run("dma-buf", chip: chip)
        let isAMD = Self.amd.contains(chip)
        let start = isAMD ? "objects 2 layers NV12 2 " : "objects 1 layers NV12 2 modifier \(0x0100_0000_0000_0002)"
        #expect(outcome.lines.first?.hasPrefix(start) == true)
        #expect(outcome.lines.count { $0.hasPrefix("not imported vaCreateSurfaces") } == (isAMD ? 2 : 0))
        #expect(outcome.lines.last == "done")
    }

    /// Memory of the process is taken by Intel's driver even where it does not list it.
    @Test(arguments: differentChips)
    func memoryIsTakenByPointer(chip: String) throws {
        let outcome = try Rig.run("user-pointer", chip: chip)
        if Self.amd.contains(chip) {
            #expect(outcome.lines.last?.hasPrefix("error vaCreateSurfaces: an unsupported memory type") == true)
        } else {
            #expect(outcome.lines == ["in use", "memory given back", "done"])
        }
        #expect(outcome.lines.contains("memory given back"))
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
