// SPDX-License-Identifier: GPL-2.0-or-later

internal import GOPPlanning
internal import MediaTypes
internal import VAAPI

extension DeviceSettlement {
    /// The limits of the codec for structure and slices.
    struct CodecLimits {
        /// Whether the profile supports B-frames.
        var hasBFrames: Bool
        /// The size of the decoded picture buffer with the requested level, or otherwise with the lowest level for size
        /// and rate, 1...16.
        var pictures: Int
        /// The name of the requested level; `nil` if the level may be chosen to fit the request.
        var level: String?
        /// The maximum number of slices per picture in that level; `nil` for any number.
        var slices: Int?
    }

    /// The maximum numbers of references of the driver. A driver that does not report them has the single one of every
    /// encoder.
    var references: ReferenceLimits {
        let stated = capabilities.references ?? ReferenceLimits(list0: 1, list1: 0)
        let directions = capabilities.predictionDirections ?? [.previous, .future]
        return ReferenceLimits(
            list0: directions.contains(.previous) ? stated.list0 : 0,
            list1: directions.contains(.future) ? stated.list1 : 0
        )
    }

    /// Low-power encoders have three references in list 0; each further one costs more time and memory than it saves
    /// bits. A second one in list 1 is further away than the first and hardly ever used.
    static let usualReferences = ReferenceLimits(list0: 3, list1: 1)

    /// - Parameter depth: The maximum number of pictures that are coded before a picture and shown after it; `nil` for
    ///   any.
    mutating func structure(
        _ codec: CodecLimits,
        refresh: IntraRefreshWave?,
        maximumReorderDepth depth: Int?
    ) -> GOPStructure {
        var structure = GOPStructure()
        structure.isLowLatency = configuration.isLowLatency
        structure.temporalLayers = temporalLayers(refresh)
        structure.longTermReferences = longTermReferences()
        structure.consecutiveBFrames = bFrames(codec, refresh, layers: structure.temporalLayers)
        structure.pyramidDepth = pyramidDepth(structure)
        // A driver that writes slice headers itself has no parameter for the order of the lists. A single entry, the
        // nearest picture, needs no order.
        if !packedHeaders.isEmpty {
            structure.list0Limit = min(max(references.list0, 1), Self.usualReferences.list0)
            structure.list1Limit = min(max(references.list1, 1), Self.usualReferences.list1)
        }
        if let limit = quirks.list0LimitBesideBFrames, structure.consecutiveBFrames > 0 {
            structure.list0Limit = min(structure.list0Limit, limit)
        }
        structure.randomAccess = randomAccess(refresh, hasBFrames: structure.consecutiveBFrames > 0)
        let isDemanded = configuration.bFrames.isDemanded || structure.longTermReferences > 0
        let least = codec.level == nil && isDemanded ? min(structure.minimumPictureCount, 16) : 1
        let limited = structure.limited(toReorderDepth: depth ?? 16, pictures: max(codec.pictures, least))
        reportLimits(structure, limited, codec)
        return limited
    }

    // MARK: - Parts

    private mutating func temporalLayers(_ refresh: IntraRefreshWave?) -> Int {
        let asked = configuration.temporalLayers
        if references.list0 == 0 {
            report("temporal layers", "\(asked)", "1", "the driver has no P-frames")
            return 1
        }
        if refresh != nil {
            report("temporal layers", "\(asked)", "1", "intra refresh does not support temporal layers")
            return 1
        }
        if quirks.lacksTemporalLayers {
            report("temporal layers", "\(asked)", "1", "the driver puts all slices into the lowest layer")
            return 1
        }
        return min(max(asked, 1), 3)
    }

    /// Slice headers mark and unmark them.
    private func longTermReferences() -> Int {
        packedHeaders.isEmpty || references.list0 == 0 ? 0 : min(max(configuration.longTermReferences, 0), 15)
    }

    private func hasBFrames(_ codec: CodecLimits) -> Bool {
        codec.hasBFrames && references.list0 > 0 && references.list1 > 0
    }

    private func bFrames(_ codec: CodecLimits, _ refresh: IntraRefreshWave?, layers: Int) -> Int {
        guard hasBFrames(codec), refresh == nil, configuration.allowsReordering else { return 0 }
        // With three layers, the middle one consists of B-frames that are references.
        if layers > 2, quirks.refusesBFrameReferences { return 0 }
        let filling = GOPStructure.bFrames(fillingLayers: layers)
        switch configuration.bFrames {
        case .off: return 0
        case .maximum(let count) where layers > 1: return count < filling ? 0 : filling
        case .maximum(let count): return min(count, 16)
        // The smallest number that fills the layers or a pyramid; without these, a third B-frame is too far from its
        // references.
        case .automatic: return layers > 1 ? filling : hasPyramid ? 3 : 2
        }
    }

    /// Slice headers signal which picture a reference B-frame removes from the decoded picture buffer.
    private var hasPyramid: Bool {
        configuration.allowsBPyramid && !packedHeaders.isEmpty && !quirks.refusesBFrameReferences
    }

    private func pyramidDepth(_ structure: GOPStructure) -> Int {
        guard hasPyramid, structure.temporalLayers == 1, structure.consecutiveBFrames >= 2 else { return 0 }
        return structure.consecutiveBFrames >= 7 ? 2 : 1
    }

    private mutating func randomAccess(_ refresh: IntraRefreshWave?, hasBFrames: Bool) -> GOPStructure.RandomAccess {
        if references.list0 == 0 {
            let asked = keyFrameDistance.map { "\($0) frames" } ?? "none"
            report("key-frame interval", asked, "1 frames", "the driver supports only intra pictures for \(encoder)")
            return .closed(interval: 1)
        }
        if let refresh { return .intraRefresh(period: refresh.period) }
        return configuration.allowsOpenGOP && hasBFrames
            ? .open(interval: keyFrameDistance) : .closed(interval: keyFrameDistance)
    }

    // MARK: - Adjustments

    private mutating func reportLimits(
        _ wanted: GOPStructure,
        _ limited: GOPStructure,
        _ codec: CodecLimits
    ) {
        // Intra refresh, which excludes B-frames, was already refused in combination with them.
        if case .maximum(let count) = configuration.bFrames {
            let reason =
                if !hasBFrames(codec) {
                    "the driver does not support B-frames for \(encoder)"
                } else if wanted.temporalLayers > 1, limited.consecutiveBFrames == wanted.consecutiveBFrames {
                    "\(wanted.temporalLayers) temporal layers, each of which doubles the rate, have "
                        + "\(GOPStructure.bFrames(fillingLayers: wanted.temporalLayers)) in a row or none"
                } else {
                    "the reorder depth or the decoded picture buffer allows no more"
                }
            report("B-frames", "\(count)", "\(limited.consecutiveBFrames)", reason)
        }
        let reason =
            wanted.longTermReferences == 0
            ? "the driver writes its own slice headers, or has no P-frames"
            : "the decoded picture buffer has no room for more"
        let (asked, used) = (configuration.longTermReferences, limited.longTermReferences)
        report("long-term references", "\(asked)", "\(used)", reason)
    }
}
