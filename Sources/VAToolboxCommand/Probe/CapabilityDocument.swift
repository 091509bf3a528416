// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import VAAPI

/// The encoding capabilities of a driver for `probe --json`; docs/command.md describes every key.
extension ProbedDriver.Encoder {
    var document: JSON {
        .object([
            "profile": .string("\(profile)"),
            "entrypoint": .string("\(entrypoint)"),
            "shortcoming": JSON(answer.shortcoming),
            "capabilities": answer.capabilities?.document ?? .null,
        ])
    }
}

extension EncodeCapabilities {
    fileprivate var document: JSON {
        .object([
            "rateControl": JSON(exclusiveRateControlModes.map(\.description)),
            "macroblockRateControl": .bool(rateControlModes.contains(.perMacroblock)),
            "qualityLevels": .integer(qualityLevels),
            "references": references.map { .object(["list0": .integer($0.list0), "list1": .integer($0.list1)]) }
                ?? .null,
            "predictionDirections": JSON(predictionDirections),
            "bFrames": .bool(hasBFrames),
            "slices": JSON(maximumSlices),
            "sliceStructures": JSON(sliceStructures),
            "packedHeaders": JSON(packedHeaders.names),
            "frameSizeLimit": .bool(frameSizeLimit != nil),
            "frameSizePasses": .bool(frameSizeLimit?.hasMultiplePasses ?? false),
            "temporalLayers": .integer(temporalLayers.count),
            "temporalLayerRates": .bool(temporalLayers.hasRateForEach),
            "droppedFrames": .bool(knowsOfDroppedFrames),
            "regionsOfInterest": regionsOfInterest?.document ?? .null,
            "intraRefresh": JSON(intraRefresh.names),
            "dirtyRectangles": .integer(dirtyRectangles),
            "trellis": .bool(hasTrellis),
            "tiles": .bool(hasTiles),
            "minimumWidth": JSON(minimumWidth),
            "minimumHeight": JSON(minimumHeight),
            "maximumWidth": JSON(maximumWidth),
            "maximumHeight": JSON(maximumHeight),
            "renderTargetFormats": JSON(renderTargetFormats.names),
            "surfaces": surfaces.document,
            "attributes": .object(attributes.filter { !$0.isNotSupported }.members),
        ])
    }
}

extension RegionSupport {
    fileprivate var document: JSON {
        .object([
            "count": .integer(count),
            "qpDifferences": .bool(takesQPDifferences),
            "priorities": .bool(takesPriorities),
        ])
    }
}

extension SurfaceCapabilities {
    fileprivate var document: JSON {
        .object([
            "formats": JSON(formats.map(\.description)),
            "memory": JSON(memoryTypes.names),
            "usageHints": .bool(takesUsage),
            "modifiers": .bool(takesModifiers),
        ])
    }
}

extension JSON {
    /// Creates a list of bit names, or null.
    fileprivate init(_ bits: (some NamedBits)?) { self = bits.map { JSON($0.names) } ?? .null }
}

extension [ConfigAttributeValue] {
    /// The driver's values by the names of their attributes.
    fileprivate var members: JSON.KeyValuePairs {
        var pairs: JSON.KeyValuePairs = [:]
        pairs.members = map { .init(key: "\($0.attribute)", value: .integer(Int($0.value))) }
        return pairs
    }
}
