// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import MediaTypes
import VAAPI

/// The encoding capabilities of a driver, for people.
extension TextPage {
    /// Adds a short summary of each profile and entrypoint.
    mutating func addSummary(of driver: ProbedDriver, indentation: Int) {
        if driver.encoders.isEmpty { entry("encodes", "nothing", indentation: indentation) }
        for (index, group) in driver.grouped(\.summary).enumerated() {
            entry(index == 0 ? "encodes" : "", group.profileNames, indentation: indentation)
            for line in group.said {
                entry("\(line.entrypoint)", line.said, indentation: indentation + 12, nameWidth: 12)
            }
        }
    }

    /// Adds the profiles that are decoded, with the largest size where the driver states it.
    mutating func addDecoders(of driver: ProbedDriver, indentation: Int) {
        if driver.decoders.isEmpty { entry("decodes", "nothing of H.264 or HEVC", indentation: indentation) }
        var groups: [(note: String, profiles: [String])] = []
        for decoder in driver.decoders {
            let note = decoder.largestSize.map { " up to \($0)" } ?? ""
            if groups.last?.note == note {
                groups[groups.count - 1].profiles.append("\(decoder.profile)")
            } else {
                groups.append((note, ["\(decoder.profile)"]))
            }
        }
        for (index, group) in groups.enumerated() {
            let words = group.profiles.joined(separator: ", ") + group.note
            entry(index == 0 ? "decodes" : "", words, indentation: indentation)
        }
    }

    /// Adds all encoding capabilities.
    mutating func addDetails(of driver: ProbedDriver, indentation: Int) {
        for answer in driver.answers {
            paragraph("\(answer.group.profileNames) by \(answer.entrypoint)", indentation: indentation)
            for (name, words) in answer.group.said.details {
                entry(name, words, indentation: indentation + 2, nameWidth: 19)
            }
        }
    }
}

extension ProbedDriver.Group {
    fileprivate var profileNames: String { profiles.map(\.description).joined(separator: ", ") }
}

extension ProbedDriver.Encoder {
    /// A short summary of the capabilities.
    fileprivate var summary: String {
        if let shortcoming = answer.shortcoming { return Readable.shortened(shortcoming) }
        guard let capabilities = answer.capabilities else { return "" }
        let modes = capabilities.exclusiveRateControlModes.map(\.description)
        var words = [modes.isEmpty ? "no rate control" : modes.joined(separator: " ")]
        if capabilities.references != nil { words.append(capabilities.hasBFrames ? "B-frames" : "no B-frames") }
        if let size = capabilities.largestSize { words.append("up to \(size)") }
        return words.joined(separator: "; ")
    }
}

extension ProbedDriver.Answer {
    /// All known capabilities, each with a name and a description.
    fileprivate var details: [(name: String, words: String)] {
        let known = capabilities?.details ?? []
        return known + (shortcoming.map { [("incomplete", Readable.shortened($0))] } ?? [])
    }
}

extension EncodeCapabilities {
    /// The maximum size, such as `4096x2304`; `nil` if the driver does not report it.
    fileprivate var largestSize: String? { Self.size(maximumWidth, maximumHeight) }

    private static func size(_ width: Int?, _ height: Int?) -> String? {
        guard width != nil || height != nil else { return nil }
        return [width, height].map { $0.map(String.init) ?? "any" }.joined(separator: "x")
    }

    /// All capabilities as text, including those that the driver does not report.
    fileprivate var details: [(name: String, words: String)] {
        [
            ("rate control", rateControlWords),
            ("quality levels", "\(qualityLevels)"),
            ("references", referenceWords),
            ("slices", sliceWords),
            ("packed headers", packedHeaders.description),
            ("frame size limit", frameSizeLimit.map { $0.hasMultiplePasses ? "yes, in passes" : "yes" } ?? "no"),
            ("temporal layers", temporalLayerWords),
            ("regions", regionWords),
            ("intra refresh", intraRefresh.description),
            ("dirty rectangles", dirtyRectangles == 0 ? "none" : "up to \(dirtyRectangles)"),
            ("trellis", hasTrellis ? "yes" : "no"),
            ("sizes", sizeWords),
            ("coded from", renderTargetFormats.description),
            ("surfaces", surfaceWords),
            ("their memory", surfaces.memoryTypes.description),
        ]
    }

    private var rateControlWords: String {
        let modes = exclusiveRateControlModes.map(\.description)
        var words = [modes.isEmpty ? "none" : modes.joined(separator: " ")]
        if rateControlModes.contains(.perMacroblock) { words.append("by macroblock") }
        if rateControlModes.contains(.parallel) { words.append("in parallel") }
        if knowsOfDroppedFrames { words.append("supports dropped frames") }
        return words.joined(separator: ", ")
    }

    private var referenceWords: String {
        guard let references else { return "not stated" }
        let limits = "\(references.list0) in list 0, \(references.list1) in list 1"
        return limits + (predictionDirections.map { "; predicts from \($0)" } ?? "")
    }

    private var sliceWords: String {
        guard let maximumSlices else { return "not stated" }
        let count = maximumSlices == 1 ? "1" : "up to \(maximumSlices)"
        return sliceStructures.map { "\(count); \($0)" } ?? count
    }

    private var temporalLayerWords: String {
        guard temporalLayers.count > 1 else { return "none" }
        return "up to \(temporalLayers.count)" + (temporalLayers.hasRateForEach ? ", each with its rate" : "")
    }

    private var regionWords: String {
        guard let regions = regionsOfInterest else { return "none" }
        let ways = [
            regions.takesQPDifferences ? "QP offsets" : nil, regions.takesPriorities ? "priorities" : nil,
        ].compactMap { $0 }
        return "up to \(regions.count)" + (ways.isEmpty ? "" : ", by " + ways.joined(separator: " or "))
    }

    private var sizeWords: String {
        let smallest = Self.size(minimumWidth, minimumHeight)
        guard smallest != nil || largestSize != nil else { return "not stated" }
        return [smallest.map { "from \($0)" }, largestSize.map { "up to \($0)" }].compactMap { $0 }
            .joined(separator: " ")
    }

    private var surfaceWords: String {
        let formats = surfaces.formats.map(\.description)
        var words = [formats.isEmpty ? "formats not stated" : formats.joined(separator: " ")]
        words.append(surfaces.takesModifiers ? "modifiers can be requested" : "no modifiers")
        if surfaces.takesUsage { words.append("usage hints") }
        return words.joined(separator: "; ")
    }
}
