// SPDX-License-Identifier: GPL-2.0-or-later

import VAAPI

enum Capabilities {
    private static func visit(_ use: (EncodeCapabilities) -> Void) throws {
        let display = try Scenarios.display()
        let description = try display.describe()
        say("driver \(description.vendor)")
        for profile in description.profiles.sorted(by: { $0.profile.rawValue < $1.profile.rawValue }) {
            for entrypoint in profile.entrypoints.sorted(by: { $0.rawValue < $1.rawValue }) {
                guard ["EncSlice", "EncSliceLP", "EncPicture"].contains(entrypoint.description) else { continue }
                use(try display.encodeCapabilities(profile: profile.profile, entrypoint: entrypoint))
            }
        }
    }

    /// One line for each profile and entrypoint, with the columns of the vendor drivers' table.
    static func printAll() throws {
        try visit { capabilities in
            let modes: [(RateControlModes, String)] = [
                (.cqp, "CQP"), (.cbr, "CBR"), (.vbr, "VBR"), (.vcm, "VCM"), (.icq, "ICQ"), (.qvbr, "QVBR"),
                (.avbr, "AVBR"), (.tcbrc, "TCBRC"), (.perMacroblock, "MB"), (.parallel, "PARALLEL"),
            ]
            let names = modes.filter { capabilities.rateControlModes.contains($0.0) }.map(\.1)
            var columns = [capabilities.profile.description, capabilities.entrypoint.description]
            func column(_ value: (some CustomStringConvertible)?) { columns.append(value?.description ?? "-") }
            column(names.isEmpty ? nil : names.joined(separator: ","))
            column(capabilities[.packedHeaders].map { "0x" + String($0, radix: 16) })
            column(capabilities.references)
            column(capabilities.maximumSlices)
            column(capabilities[.qualityRange] == nil ? nil : capabilities.qualityLevels)
            let size = [capabilities.maximumWidth, capabilities.maximumHeight].compactMap { $0 }.map(String.init)
            column(capabilities[.maximumWidth] == nil ? nil : size.joined(separator: "x"))
            if ["HEVCMain", "HEVCMain10"].contains(capabilities.profile.description) {
                for attribute in [ConfigAttribute.predictionDirection, .hevcFeatures, .hevcBlockSizes] {
                    column(capabilities[attribute].map { "0x" + String($0, radix: 16) })
                }
            }
            say(columns.joined(separator: " "))
        }
    }

    /// Everything that is interpreted, a line for each property.
    static func printModels() throws {
        try visit { capabilities in
            func line(_ name: String, _ value: (some CustomStringConvertible)?) {
                let value = value?.description ?? "-"
                say("\(capabilities.profile) \(capabilities.entrypoint) \(name): \(value)")
            }
            line("rt-formats", capabilities.renderTargetFormats)
            line("rate-control", capabilities.rateControlModes)
            line("modes", capabilities.exclusiveRateControlModes.map(\.description).joined(separator: ","))
            line("packed-headers", capabilities.packedHeaders)
            line("references", capabilities.references)
            line("directions", capabilities.predictionDirections)
            line("slices", capabilities.maximumSlices)
            line("slice-structures", capabilities.sliceStructures)
            line("quality-levels", capabilities.qualityLevels)
            let regions = capabilities.regionsOfInterest
            line("roi", regions.map { "\($0.count) \($0.takesPriorities) \($0.takesQPDifferences)" })
            line("intra-refresh", capabilities.intraRefresh)
            line("dirty-rectangles", capabilities.dirtyRectangles)
            line("frame-size-limit", capabilities.frameSizeLimit?.hasMultiplePasses)
            let layers = capabilities.temporalLayers
            line("temporal-layers", "\(layers.count) \(layers.hasRateForEach)")
            line("trellis", capabilities.hasTrellis)
            line("minimum-width", capabilities.minimumWidth)
            line("maximum-width", capabilities.maximumWidth)
            line("minimum-height", capabilities.minimumHeight)
            line("maximum-height", capabilities.maximumHeight)
            line("formats", capabilities.surfaces.formats.map(\.description).joined(separator: ","))
            line("memory", capabilities.surfaces.memoryTypes)
            line("usage-hint", capabilities.surfaces.takesUsage)
            line("modifiers", capabilities.surfaces.takesModifiers)
            let stated = capabilities.attributes.filter { !$0.isNotSupported }
            line("raw", stated.map(\.description).joined(separator: " "))
        }
    }
}
