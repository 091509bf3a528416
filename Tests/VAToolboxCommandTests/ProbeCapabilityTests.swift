// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// How drivers encode, as `vatoolbox probe` tells it.
@Suite struct ProbeCapabilityTests {
    /// One encoder of a document.
    private struct Encoder {
        let profile: String
        let entrypoint: String
        let shortcoming: String?
        let capabilities: [String: Any]?

        init(_ value: [String: Any]) throws {
            profile = try #require(value["profile"] as? String)
            entrypoint = try #require(value["entrypoint"] as? String)
            shortcoming = value["shortcoming"] as? String
            capabilities = value["capabilities"] as? [String: Any]
        }

        func number(_ key: String) -> Int? { capabilities?[key] as? Int }
        func names(_ key: String) -> [String]? { capabilities?[key] as? [String] }

        /// The driver's own number, by the name of `va.h`.
        func attribute(_ name: String) -> Int? { (capabilities?["attributes"] as? [String: Any])?[name] as? Int }

        /// `list 0,list 1`
        var references: String? {
            (capabilities?["references"] as? [String: Int]).map { "\($0["list0"] ?? -1),\($0["list1"] ?? -1)" }
        }
    }

    private func encoders(_ driver: [String: Any]?) throws -> [Encoder] {
        try #require(driver?["encoders"] as? [[String: Any]]).map(Encoder.init)
    }

    // MARK: - The reference driver

    struct Persona: Sendable, CustomTestStringConvertible {
        let name: String
        let entrypoint: String
        let rateControl: [String]
        let packedHeaders: Int
        /// Of High profile.
        let references: String
        let slices: Int
        let qualityLevels: Int
        let smallest: [Int]
        let largest: [Int]
        let regions: Int

        var testDescription: String { "\(name) \(entrypoint)" }
    }

    /// The table of personas in the README of the test drivers.
    private static let personas = [
        Persona(
            name: "intel",
            entrypoint: "EncSlice",
            rateControl: ["CBR", "VBR", "CQP", "ICQ", "QVBR", "AVBR"],
            packedHeaders: 5,
            references: "4,2",
            slices: 256,
            qualityLevels: 7,
            smallest: [32, 32],
            largest: [4096, 4096],
            regions: 8
        ),
        Persona(
            name: "intel",
            entrypoint: "EncSliceLP",
            rateControl: ["CBR", "VBR", "CQP", "QVBR"],
            packedHeaders: 5,
            references: "3,0",
            slices: 256,
            qualityLevels: 7,
            smallest: [32, 32],
            largest: [4096, 4096],
            regions: 8
        ),
        Persona(
            name: "amd",
            entrypoint: "EncSlice",
            rateControl: ["CBR", "VBR", "CQP"],
            packedHeaders: 0,
            references: "1,0",
            slices: 1,
            qualityLevels: 1,
            smallest: [16, 16],
            largest: [4096, 2304],
            regions: 0
        ),
        Persona(
            name: "low-power",
            entrypoint: "EncSliceLP",
            rateControl: ["CQP"],
            packedHeaders: 5,
            references: "3,0",
            slices: 64,
            qualityLevels: 7,
            smallest: [32, 32],
            largest: [4096, 4096],
            regions: 0
        ),
    ]

    @Test(arguments: personas) func aPersona(_ persona: Persona) throws {
        let settings = try Scratch.driver("libref") + ["REFERENCE_DRIVER_PERSONA=\(persona.name)"]
        let probed = try Scratch().probe(settings)
        let found = try encoders(probed.driver).filter { $0.entrypoint == persona.entrypoint }
        let h264 = ["H264ConstrainedBaseline", "H264Main", "H264High"]
        #expect(found.map(\.profile) == h264 + ["HEVCMain", "HEVCMain10"])
        for encoder in found where !h264.contains(encoder.profile) {
            let isDeep = encoder.profile == "HEVCMain10"
            #expect(encoder.shortcoming == nil && encoder.names("rateControl") == persona.rateControl)
            #expect(encoder.names("renderTargetFormats") == [isDeep ? "YUV420_10" : "YUV420"])
            let surfaces = try #require(encoder.capabilities?["surfaces"] as? [String: Any])
            #expect(surfaces["formats"] as? [String] == [isDeep ? "P010" : "NV12"])
        }
        for encoder in found where h264.contains(encoder.profile) {
            let isBaseline = encoder.profile == "H264ConstrainedBaseline"
            #expect(encoder.shortcoming == nil && encoder.names("rateControl") == persona.rateControl)
            #expect(encoder.names("packedHeaders")?.count == persona.packedHeaders)
            let list0 = persona.references.prefix { $0 != "," }
            #expect(encoder.references == (isBaseline ? "\(list0),0" : persona.references))
            let hasBFrames = !isBaseline && !persona.references.hasSuffix(",0")
            #expect(encoder.capabilities?["bFrames"] as? Bool == hasBFrames)
            #expect(encoder.number("slices") == persona.slices)
            #expect(encoder.number("qualityLevels") == persona.qualityLevels)
            #expect(["minimumWidth", "minimumHeight"].map { encoder.number($0) } == persona.smallest)
            #expect(["maximumWidth", "maximumHeight"].map { encoder.number($0) } == persona.largest)
            let regions = encoder.capabilities?["regionsOfInterest"] as? [String: Any]
            #expect((regions?["count"] as? Int ?? 0) == persona.regions)
            let surfaces = try #require(encoder.capabilities?["surfaces"] as? [String: Any])
            #expect(surfaces["formats"] as? [String] == ["NV12"])
            #expect((surfaces["memory"] as? [String])?.contains("driver") == true)
            #expect(encoder.names("renderTargetFormats") == ["YUV420"])
        }
    }

    // MARK: - Refusals and failures

    /// What a driver refuses for one profile and entrypoint is told there, and nowhere else.
    @Test(arguments: [
        ("vaGetConfigAttributes:2=status:1", "vaGetConfigAttributes: "),
        ("vaCreateConfig:2=status:1", "vaCreateConfig: "),
        ("vaQuerySurfaceAttributes:3=status:1", "vaQuerySurfaceAttributes: "),
    ])
    func oneRefusalHidesNoOther(fault: String, told: String) throws {
        let probed = try Scratch().probe(try Scratch.driver("libref") + ["REFERENCE_DRIVER_FAULTS=\(fault)"])
        #expect(probed.refusal.isEmpty)
        let encoders = try encoders(probed.driver)
        #expect(encoders.count == 10)
        #expect(encoders.filter { $0.shortcoming != nil }.map(\.profile) == ["H264ConstrainedBaseline"])
        #expect(encoders[1].shortcoming?.hasPrefix(told) == true)
        // The attributes are known if it is about the surfaces that the driver says nothing.
        let rateControl = encoders[1].names("rateControl") ?? []
        #expect(rateControl.isEmpty == told.hasPrefix("vaGetConfigAttributes"))
    }

    /// A driver that crashes over one encoder has answered about those before it.
    @Test func aCrashKeepsWhatWasSaid() throws {
        let fault = "REFERENCE_DRIVER_FAULTS=vaGetConfigAttributes:4=segv"
        let probed = try Scratch().probe(try Scratch.driver("libref") + [fault])
        let encoders = try encoders(probed.driver)
        #expect(encoders.map { $0.capabilities != nil } == (0..<10).map { $0 < 3 })
        #expect(encoders.last?.shortcoming?.hasPrefix("not queried") == true)
        #expect(probed.named("profile", "entrypoint") == ["H264Main", "EncSliceLP"])
    }

    // MARK: - The vendors' drivers

    /// What one of the tables of the vendors' drivers says of a chip.
    private struct Section {
        let chip: String
        /// `iHD driver 25.2.3`
        let driver: String
        let lines: [String]

        var version: Substring { driver.split(separator: " ").last ?? "" }
    }

    /// The tables of all releases of the distribution.
    private static let tables: [Section] = ["vendor-drivers.txt", "vendor-drivers-debian-13.txt"].flatMap { name in
        let text = (try? String(contentsOfFile: FakeGPU.sources + "/node/" + name, encoding: .utf8)) ?? ""
        return text.components(separatedBy: "\n[").dropFirst().map { section in
            let lines = section.split(separator: "\n").map(String.init)
            let heading = lines[0].components(separatedBy: "] ")
            return Section(chip: heading[0], driver: heading[1], lines: Array(lines.dropFirst()))
        }
    }

    /// The document says the same as the table of the installed version, which another program has made.
    @Test(arguments: [("iHD", "kbl"), ("radeonsi", "renoir")].filter { FakeGPU.isInstalled($0.0) })
    func theTableOfTheVendorsDrivers(file: String, known: String) throws {
        let driver = file == "iHD" ? "iHD" : "Mesa"
        let vendor = try #require(try Scratch().probe(nodes: "128=\(known)", []).driver?["vendor"] as? String)
        // Another version lists other things.
        let chips = Self.tables.filter { $0.driver.hasPrefix(driver) && vendor.contains(" \($0.version)") }
        let nodes = chips.enumerated().map { "\(128 + $0.offset)=\($0.element.chip)" }.joined(separator: ",")
        guard !chips.isEmpty else { return }
        let probed = try Scratch().probe(nodes: nodes, [], ["--timeout", "100"])
        try #require(probed.nodes.count == chips.count)
        // iHD 25.2 lists for Panther Lake nothing but VP9, of 0 slices, which are 1 in the document.
        for (node, chip) in zip(probed.nodes, chips) where chip.chip != "ptl" {
            let lines = try encoders(try #require(node["driver"] as? [String: Any], "\(chip.chip)")).map(Self.line)
            #expect(lines.sorted() == chip.lines.sorted(), "\(chip.chip)")
        }
    }

    /// An encoder as the table has it.
    private static func line(_ encoder: Encoder) -> String {
        let order = ["CQP", "CBR", "VBR", "VCM", "ICQ", "QVBR", "AVBR", "TCBRC"]
        var modes = order.filter((encoder.names("rateControl") ?? []).contains)
        if encoder.capabilities?["macroblockRateControl"] as? Bool == true { modes.append("MB") }
        func text(_ number: Int?) -> String { number.map(String.init) ?? "-" }
        func hexadecimal(_ name: String) -> String {
            encoder.attribute(name).map { "0x" + String($0, radix: 16) } ?? "-"
        }
        let width = encoder.attribute("MaxPictureWidth")
        let ofHEVC = ["HEVCMain", "HEVCMain10"].contains(encoder.profile)
        let columns = [
            encoder.profile, encoder.entrypoint, modes.isEmpty ? "-" : modes.joined(separator: ","),
            hexadecimal("EncPackedHeaders"),
            encoder.references ?? "-", text(encoder.number("slices")), text(encoder.attribute("EncQualityRange")),
            width == nil ? "-" : "\(text(encoder.number("maximumWidth")))x\(text(encoder.number("maximumHeight")))",
        ]
        let more = ["PredictionDirection", "EncHEVCFeatures", "EncHEVCBlockSizes"].map(hexadecimal)
        return (columns + (ofHEVC ? more : [])).joined(separator: " ")
    }
}
