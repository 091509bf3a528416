// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes

/// What chunks must have in common to follow each other in one stream.
struct ChunkUnity: Hashable {
    private let name: String
    private let codec: String
    private let version: String
    private let parameterSets: String

    private init(_ record: ChunkRecord) {
        name = record.encoder.identity.name
        codec = record.encoder.identity.codec.rawValue
        version = record.encoder.name
        parameterSets = record.parameterSets
    }

    /// Returns the chunks that differ from the majority, counted in pictures; none if all are alike.
    static func outliers(_ records: [ChunkRecord]) -> [Int] {
        let kinds = records.map { ChunkUnity($0) }
        var counts: [ChunkUnity: Int] = [:]
        for (kind, record) in zip(kinds, records) { counts[kind, default: 0] += record.samples.count }
        // Of two with as many pictures, the one that comes first.
        guard let most = counts.values.max(), let usual = kinds.first(where: { counts[$0] == most }) else { return [] }
        return kinds.indices.filter { kinds[$0] != usual }
    }

    /// Returns the chunks that differ from one of them.
    static func differing(from number: Int, _ records: [ChunkRecord]) -> [Int] {
        records.indices.filter { ChunkUnity(records[$0]) != ChunkUnity(records[number]) }
    }
}
