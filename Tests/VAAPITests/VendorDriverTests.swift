// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import TestSupport
import Testing

/// The layer on the distribution's own drivers, in the versions that the table of the test drivers is about. They take
/// every call; their devices do nothing.
@Suite struct VendorDriverTests {
    private static let amd: Set = [
        "polaris10", "raven", "renoir", "navi21", "navi31", "navi33", "phoenix", "strix", "navi44", "navi48",
    ]
    /// Without DG2, on whose fake node iHD 23.1 crashes.
    private static let chips = listedChips.filter { $0 != "dg2" }
    /// Without Panther Lake, for which iHD 25.2 lists nothing but VP9, of 0 slices, which are 1 in the capability model.
    private static let listedChips = sections.keys.filter { $0 != "ptl" }.sorted()
    /// By their kernel driver.
    private static let xe: Set = ["lnl", "bmg"]
    /// One of each generation that its driver treats in a way of its own.
    private static let differentChips = ["skl", "tgl", "mtl", "lnl", "bmg", "polaris10", "navi21", "navi31", "navi48"]
        .filter(chips.contains)

    /// What the tables say of the chips whose drivers are installed, in the version of a table: a heading with the
    /// driver's version, then a line for each profile and entrypoint.
    private static let sections: [String: [String]] = {
        let drivers = ["kbl", "renoir"].compactMap { try? Rig.run("capabilities", chip: $0).lines.first }
            .filter { $0.hasPrefix("driver ") }
        let texts = (try? Rig.vendorTables())?.components(separatedBy: "\n[").dropFirst() ?? []
        var found: [String: [String]] = [:]
        for text in texts {
            let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init)
            let heading = lines[0].components(separatedBy: "] ")
            let words = heading[1].split(separator: " ")
            if drivers.contains(where: { $0.contains(words[0]) && $0.contains(" \(words[words.count - 1])") }) {
                found[heading[0]] = lines
            }
        }
        return found
    }()

    /// The first number of the version of a chip's driver.
    private static func release(_ chip: String) -> Int {
        sections[chip]?.first?.split(separator: " ").last?.split(separator: ".").first.flatMap { Int($0) } ?? 0
    }

    /// The capability model reads the same as the table that another program has made of the same drivers.
    @Test(arguments: listedChips)
    func capabilitiesAreThoseOfTheTable(chip: String) throws {
        let outcome = try Rig.run("capabilities", chip: chip)
        #expect(outcome.status == 0)
        let listed = outcome.lines.dropFirst().filter { !$0.hasPrefix("message ") }
        #expect(listed.sorted() == Self.sections[chip]?.dropFirst().sorted())
    }

    @Test(arguments: chips)
    func theModelOfAChip(chip: String) throws {
        let lines = try Rig.run("capability-model", chip: chip).lines
        func value(_ name: String) -> Substring? {
            let isLowPower = ["skl", "kbl", "icl", "tgl", "adlp"].contains(chip)
            let entrypoint = isLowPower ? "EncSliceLP" : "EncSlice"
            let start = "H264Main \(entrypoint) \(name): "
            return lines.first { $0.hasPrefix(start) }?.dropFirst(start.count)
        }
        let isAMD = Self.amd.contains(chip)
        #expect(value("formats")?.hasPrefix("NV12") == true)
        #expect(value("maximum-width") == "4096")
        #expect(value("dirty-rectangles") == (isAMD ? "0" : "4"))
        #expect(value("memory")?.split(separator: " ").contains("prime-2") == true)
        let all: Substring = "sequence picture slice misc raw"
        let hasBFrames = !["skl", "kbl", "icl", "tgl", "adlp", "polaris10", "raven", "renoir"].contains(chip)
        if !isAMD {
            #expect(value("maximum-height") == "4096" && value("quality-levels") == "7")
            #expect(value("references") == (hasBFrames ? "3,1" : "3,0") && value("packed-headers") == all)
            #expect(value("roi") == (["skl", "kbl", "icl"].contains(chip) ? "3 false true" : "16 false true"))
            #expect(value("intra-refresh") == "rolling-column rolling-row")
        } else if Self.release(chip) >= 24 {
            let isOld = ["polaris10", "raven", "renoir", "navi21"].contains(chip)
            #expect(value("maximum-height") == (isOld ? "2304" : "4096") && value("quality-levels") == "32")
            #expect(value("references") == (hasBFrames ? "1,1" : "1,0") && value("packed-headers") == all)
            #expect(value("roi") == (chip == "polaris10" ? "-" : "32 false true"))
            #expect(value("intra-refresh") == "rolling-column rolling-row P")
            #expect(value("minimum-width") == (["navi44", "navi48"].contains(chip) ? "96" : "128"))
        } else {
            #expect(value("maximum-height") == "2304" && value("references") == "1,0")
            #expect(value("packed-headers") == "none" && value("roi") == "-" && value("intra-refresh") == "none")
            #expect(value("quality-levels") == (chip == "polaris10" ? "1" : "32"))
        }
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
        #expect(outcome.lines.first?.hasPrefix(isAMD ? "taken " : "refused vaRenderPicture: ") == true)
        let next = try #require(outcome.lines.dropLast().last?.split(separator: " "))
        // Mesa 25 puts parameter sets in front of what the device codes.
        #expect(next.first == "next" && (Int(next[1]) ?? 0) >= 1000 && outcome.lines.last == "done", "\(outcome.lines)")
    }

    /// A wait with a limit comes to its end at some time, also where the driver knows no limits or takes none for a poll.
    @Test(arguments: differentChips, ["0", "1000000"])
    func pollingComesToAnEnd(chip: String, nanoseconds: String) throws {
        #expect(try Rig.run("poll", "buffer", nanoseconds, chip: chip).lines == ["complete", "done"])
        #expect(try Rig.run("poll", "surface", nanoseconds, chip: chip).lines == ["complete", "done"])
    }

    /// Intel's driver keeps to the limit of a wait when its device does nothing more; by xe it has none.
    @Test(arguments: differentChips.filter { !amd.contains($0) && !xe.contains($0) })
    func waitsReturnFromAHungDevice(chip: String) throws {
        #expect(try Rig.run("unfinished-picture", chip: chip, hangs: true).lines == ["done"])
    }

    /// Intel's surfaces are tiled (Y, from Alchemist on 4) and come back by either kind of layers; AMD's are linear.
    /// Those of Mesa 22 are two objects and do not come back on a node that stores no tiling; those of Mesa 25 are one,
    /// and it takes them with any modifier.
    @Test(arguments: differentChips)
    func surfacesAreExported(chip: String) throws {
        let outcome = try Rig.run("dma-buf", chip: chip)
        let isOldMesa = Self.amd.contains(chip) && Self.release(chip) < 24
        let modifier =
            switch chip {
            case "skl", "tgl": 0x0100_0000_0000_0002
            case "mtl", "lnl", "bmg": 0x0100_0000_0000_0009
            case "polaris10": 0x00FF_FFFF_FFFF_FFFF  // its kernel driver has none
            default: 0
            }
        let start = isOldMesa ? "objects 2 layers NV12 2 " : "objects 1 layers NV12 2 modifier \(modifier)"
        #expect(outcome.lines.first?.hasPrefix(start) == true)
        #expect(outcome.lines.count { $0.hasPrefix("not imported vaCreateSurfaces") } == (isOldMesa ? 2 : 0))
        let misreads = Self.amd.contains(chip) && !isOldMesa
        #expect(outcome.lines.last == (misreads ? "error a wrong modifier was imported" : "done"))
    }

    /// Memory of the process is taken by Intel's driver even where it does not list it; by xe it cannot be mapped then.
    @Test(arguments: differentChips)
    func memoryIsTakenByPointer(chip: String) throws {
        let outcome = try Rig.run("user-pointer", chip: chip)
        if Self.amd.contains(chip) {
            #expect(outcome.lines.last?.hasPrefix("error vaCreateSurfaces: an unsupported memory type") == true)
        } else if Self.xe.contains(chip) {
            #expect(outcome.lines.last?.hasPrefix("error vaMapBuffer: ") == true)
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
        let isOldMesa = Self.amd.contains(chip) && Self.release(chip) < 24
        #expect(outcome.lines.contains(isOldMesa ? "way put copies 2" : "way derived copies 1"))
        #expect(outcome.lines.last == "done")
    }
}
