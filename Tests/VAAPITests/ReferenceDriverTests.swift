// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import TestSupport
import Testing

/// The layer on the reference driver, which finds whatever is destroyed too early, twice or never.
@Suite struct ReferenceDriverTests {
    @Test(arguments: Rig.personas)
    func everyCallIsMadeAndEverythingEnds(persona: String) throws {
        try Rig.run("all-calls", persona: persona).expectClean()
    }

    /// Red is 63 in BT.709, which all list.
    @Test(arguments: Rig.personas)
    func aPictureIsProcessed(persona: String) throws {
        let outcome = try Rig.run("process", persona: persona)
        outcome.expectClean()
        let bt2020 = persona != "amd"
        #expect(
            outcome.lines == [
                "reads bgrx true, writes nv12 true", "bt709 true, bt2020 \(bt2020)", "luma 16 63", "done",
            ]
        )
    }

    @Test(arguments: Rig.personas)
    func noOrderOfLettingGoReachesTheDriver(persona: String) throws {
        let outcome = try Rig.run("loose-ends", persona: persona)
        outcome.expectClean()
        #expect(outcome.journal.count { $0.kind == "picture" } == 3)
    }

    @Test(arguments: Rig.personas)
    func aPictureDecodesAsTheDriverReconstructedIt(persona: String) throws {
        let scratch = try Scratch()
        let outcome = try Rig.run("encode", "642", "358", "3", scratch.path("stream.h264"), persona: persona)
        outcome.expectClean()
        let pictures = outcome.journal.filter { $0.kind == "picture" }
        #expect(pictures.count == 3)
        #expect(pictures.allSatisfy { $0.values["idr"] == "1" || $0.values["idr"] == "true" })
        let decoded = try decodedHashes(scratch.path("stream.h264"))
        #expect(decoded == pictures.compactMap { $0.values["reconstruction_md5"] })
        #expect(outcome.lines.contains(persona == "amd" ? "way put copies 2" : "way derived copies 1"))
    }

    /// The MD5s of the pictures, as ffmpeg decodes them.
    private func decodedHashes(_ path: String) throws -> [String] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            ["ffmpeg", "-nostdin", "-v", "error", "-i", path, "-pix_fmt", "nv12", "-f", "framemd5", "-"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }
            .compactMap { $0.split(separator: ",").last?.trimmingCharacters(in: .whitespaces) }
    }

    @Test(arguments: Rig.personas)
    func samplesReachTheSurfaceOneWayOrTheOther(persona: String) throws {
        let outcome = try Rig.run("upload", persona: persona)
        outcome.expectClean()
        let way = persona == "amd" ? "way put copies 2" : "way derived copies 1"
        #expect(outcome.lines.dropLast() == [way, way, way])
    }

    @Test(arguments: ["intel", "low-power"])
    func imagesStayMappedAndEndBeforeTheirSurfaces(persona: String) throws {
        try Rig.run("keep-mapped", persona: persona).expectClean()
    }

    /// One image serves all surfaces that cannot be written into.
    @Test func imagesAreMadeOnce() throws {
        // The fifth is the second of those that compare.
        let outcome = try Rig.run("upload", persona: "amd", faults: "vaCreateImage:5=status:0x18")
        #expect(outcome.lines.last?.hasPrefix("error vaCreateImage") != true)
        let refused = try Rig.run("upload", persona: "amd", faults: "vaCreateImage:4=status:0x18")
        #expect(refused.lines.last?.hasPrefix("error vaCreateImage") == true)
    }

    @Test(arguments: [("intel", ""), ("intel", "derive-image=no"), ("low-power", "derive-image=no sync-buffer=no")])
    func whatADriverLacksIsMadeUpFor(persona: String, limits: String) throws {
        try Rig.run("upload", persona: persona, limits: limits).expectClean()
        try Rig.run("waiting", persona: persona, limits: limits).expectClean()
        try Rig.run("threads", persona: persona, limits: limits).expectClean()
    }

    @Test(arguments: Rig.personas)
    func oneThreadSubmitsAndAnotherCollects(persona: String) throws {
        let outcome = try Rig.run("threads", persona: persona)
        outcome.expectClean()
        #expect(outcome.lines.count { $0.hasPrefix("picture ") } == 30)
    }

    /// 100 encoders with 20 pictures each.
    @Test(arguments: ["intel", "amd"])
    func neitherDescriptorsNorMemoryGrow(persona: String) throws {
        let outcome = try Rig.run("many-pictures", "20", "100", persona: persona, effort: "skip")
        outcome.expectClean()
        #expect(outcome.lines.first == "descriptors 0")
        let growth = try #require(outcome.lines.dropFirst().first?.split(separator: " ").last.flatMap { Int($0) })
        // A coded buffer alone is 12 KiB, a surface 6 KiB: a leak of either would show.
        #expect(growth < 540, "\(growth) KiB")
    }

    @Test(arguments: Rig.personas)
    func memoryIsSharedByDescriptor(persona: String) throws {
        let outcome = try Rig.run("dma-buf", "content", persona: persona)
        #expect(outcome.status == 0)
        #expect(
            outcome.lines == [
                "objects 1 layers NV12 2 modifier 0", "objects 1 layers R8 1, GR88 1 modifier 0",
                "refused modifier vaCreateSurfaces 0x12", "refused layers vaCreateSurfaces 0x12", "done",
            ]
        )
        #expect(outcome.findings == ["import-modifier"])
        #expect(outcome.unended == 0)
    }

    @Test(arguments: Rig.personas)
    func memoryIsSharedByPointerAndKept(persona: String) throws {
        let outcome = try Rig.run("user-pointer", persona: persona)
        if persona == "amd" {
            #expect(outcome.lines.last?.hasPrefix("error vaCreateSurfaces: an unsupported memory type") == true)
            #expect(outcome.findings == ["surface-attribute-not-advertised"])
        } else {
            outcome.expectClean()
            #expect(outcome.lines == ["in use", "memory given back", "done"])
        }
    }
}

// MARK: - Waiting

@Suite struct WaitingTests {
    @Test(arguments: Rig.personas)
    func everyWayOfWaiting(persona: String) throws {
        try Rig.run("waiting", persona: persona).expectClean()
    }

    /// `vaSyncBuffer` is not asked for again: the second call would fail the scenario.
    @Test func whatIsUnimplementedIsRemembered() throws {
        let faults = "vaSyncBuffer:1=status:0x14;vaSyncBuffer:2+=status:0x18"
        try Rig.run("waiting", faults: faults).expectClean()
        let without = "\(faults);vaSyncSurface2:1=status:0x14;vaSyncSurface2:2+=status:0x18"
        try Rig.run("waiting", faults: without).expectClean()
    }

    @Test func waitingByTheSurfaceFailsByItsName() throws {
        let faults = "vaSyncBuffer:*=status:0x14;vaSyncSurface2:*=status:0x14;vaSyncSurface:1=status:0x18"
        let outcome = try Rig.run("waiting", faults: faults)
        #expect(outcome.lines.contains { $0.hasPrefix("error vaSyncSurface:") })
        #expect(outcome.findings == [])
    }

    /// As with radeonsi: what is unimplemented with a limit may be there without one.
    @Test func waitsWithAndWithoutALimitAreDifferentCalls() throws {
        let faults = "vaSyncBuffer:1=status:0x14;vaSyncBuffer:2+=status:0x18"
        let outcome = try Rig.run("both-waits", faults: faults)
        #expect(outcome.lines.first?.hasPrefix("with a limit: complete") == true)
        #expect(outcome.lines.dropFirst().first?.hasPrefix("without: vaSyncBuffer: ") == true)
    }

    /// On a driver that never completes a picture waits with a limit return.
    @Test(arguments: ["intel", "amd"])
    func aPictureThatIsNeverCompleted(persona: String) throws {
        let outcome = try Rig.run("unfinished-picture", persona: persona, faults: "coded:1=hang")
        #expect(outcome.status == 0)
        #expect(outcome.lines == ["done"])
        #expect(outcome.findings == [])
    }
}

// MARK: - Faults

@Suite struct FaultTests {
    /// What the judge finds after a call was refused, and no client can avoid: a buffer stays mapped, a context alive and a
    /// surface in use, whether or not what belongs to them is destroyed.
    private static let consequences = [
        "vaUnmapBuffer": ["image-destroyed-while-mapped", "buffer-destroyed-while-mapped"],
        "vaDestroyContext": ["surface-destroyed-before-context"],
        "vaSyncSurface": ["surface-destroyed-in-use"],
    ]

    /// Every call, each time that it is made: the error or the message names it, and nothing else is left behind.
    @Test(arguments: Rig.personas)
    func everyRefusedCallIsNamedAndLeavesNothingBehind(persona: String) throws {
        let outcome = try Rig.run("every-fault", persona: persona)
        #expect(outcome.status == 0)
        var calls: Set<Substring> = []
        for line in outcome.lines {
            let words = line.split(separator: " ")
            let call = try #require(words.first)
            if words.dropFirst().first == "made" {
                #expect(line != "\(call) made 0")
                calls.insert(call)
                continue
            }
            let seen = line.components(separatedBy: ": ").dropFirst().first ?? ""
            let isReport = call.hasPrefix("vaDestroy") || call == "vaTerminate"
            #expect(seen.hasPrefix(isReport ? "message \(call)" : "error "), "\(line)")
            #expect(line.contains("\(call): internal encoding error"), "\(line)")
        }
        #expect(calls.count == 32)
        try expectNoOtherFindings(outcome)
    }

    /// Each finding must be a consequence of the fault before it.
    private func expectNoOtherFindings(_ outcome: DriverRig.Outcome) throws {
        var fault = ""
        for entry in outcome.journal {
            switch entry.kind {
            case "initialise": fault = ""
            case "fault": fault = entry.values["target"] ?? ""
            case "finding":
                let name = try #require(entry.values["name"])
                #expect(Self.consequences[fault]?.contains(name) == true, "\(fault): \(entry.values)")
            default: break
            }
        }
        // A refused vaTerminate is the one end that does not come.
        #expect(outcome.unended == 1)
    }

    /// The device is lost at each call in turn; ending goes on.
    @Test(arguments: [
        "vaCreateContext", "vaCreateSurfaces", "vaBeginPicture", "vaEndPicture", "vaSyncBuffer", "vaMapBuffer",
    ])
    func aLostDeviceIsAnError(call: String) throws {
        let outcome = try Rig.run("all-calls", faults: "\(call):1=device-lost")
        #expect(outcome.lines.contains { $0.hasPrefix("error va") }, "\(outcome.lines)")
        #expect(outcome.findings == [])
        #expect(outcome.unended == 0)
    }

    @Test func whatTheDriverSaysOfAPictureIsPassedOn() throws {
        let scratch = try Scratch()
        let faults = "coded:1=size:0;coded:2=status:0x8000;coded:3=overflow"
        let outcome = try Rig.run("encode", "64", "64", "4", scratch.path("stream"), faults: faults)
        outcome.expectClean()
        let pictures = outcome.lines.filter { $0.hasPrefix("picture ") }
        try #require(pictures.count == 4)
        #expect(pictures[0] == "picture 0 size 0 status 0x0")
        #expect(pictures[1].hasSuffix("status 0x8000"))
        #expect(pictures[2].hasSuffix("status 0x200"))
        #expect(pictures[3].hasSuffix("status 0x0") && !pictures[3].contains("size 0"))
    }

    /// A picture that failed leaves the encoder fit for the next one.
    @Test(arguments: ["vaBeginPicture", "vaRenderPicture", "vaEndPicture", "vaMapBuffer", "vaSyncBuffer"])
    func thePictureAfterAFailedOne(call: String) throws {
        let scratch = try Scratch()
        // The first vaMapBuffer is the upload's.
        let number = call == "vaMapBuffer" ? 2 : 1
        let faults = "\(call):\(number)=status:0x18"
        let outcome = try Rig.run("encode", "64", "64", "2", scratch.path("stream"), faults: faults)
        let failed = try #require(outcome.lines.first { $0.hasPrefix("picture 0") })
        #expect(failed.contains("\(call): internal encoding error"))
        let next = try #require(outcome.lines.first { $0.hasPrefix("picture 1") })
        #expect(next.hasSuffix("status 0x0"))
        outcome.expectClean()
    }
}
