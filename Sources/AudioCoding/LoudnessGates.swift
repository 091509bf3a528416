// SPDX-License-Identifier: GPL-2.0-or-later

/// The blocks of a loudness measurement and their gates. A pure value; its input is the mean square of each 100 ms.
struct LoudnessGates: Sendable {
    /// The mean squares of the latest 3 s.
    private var recent: [Double] = []
    /// The mean squares of the blocks of 400 ms that are above the absolute gate.
    private var blocks: [Double] = []
    /// The mean squares of the blocks of 3 s that are above the absolute gate.
    private var longBlocks: [Double] = []

    /// A block has 4 steps and overlaps the next one by 75 %: ITU-R BS.1770-4.
    private static let block = 4
    /// Short-term loudness: EBU Tech 3341.
    private static let longBlock = 30
    private static let gate = Decibels.energy(Loudness.gate)

    /// Adds the mean square of the next 100 ms, weighted and added up over the channels.
    mutating func add(_ meanSquare: Double) {
        recent.append(meanSquare)
        if recent.count > Self.longBlock { recent.removeFirst() }
        for (length, path) in [(Self.block, \Self.blocks), (Self.longBlock, \Self.longBlocks)]
        where recent.count >= length {
            let energy = recent.suffix(length).reduce(0, +) / Double(length)
            if energy >= Self.gate { self[keyPath: path].append(energy) }
        }
    }

    /// The integrated loudness in LUFS; `nil` if all blocks are below the absolute gate.
    var integrated: Double? {
        guard let mean = Self.mean(blocks) else { return nil }
        // The relative gate is 10 LU below the mean of what passes the absolute one.
        return Self.mean(blocks.filter { $0 >= mean / 10 }).map(Decibels.loudness)
    }

    /// The loudness range in LU: EBU Tech 3342.
    var range: Double {
        guard let mean = Self.mean(longBlocks) else { return 0 }
        // The relative gate is 20 LU below the mean.
        let sorted = longBlocks.filter { $0 >= mean / 100 }.sorted()
        guard !sorted.isEmpty else { return 0 }
        func percentile(_ share: Double) -> Double {
            Decibels.loudness(sorted[Int((Double(sorted.count - 1) * share).rounded())])
        }
        return percentile(0.95) - percentile(0.1)
    }

    var momentaryMaximum: Double? { blocks.max().map(Decibels.loudness) }
    var shortTermMaximum: Double? { longBlocks.max().map(Decibels.loudness) }

    private static func mean(_ values: [Double]) -> Double? {
        values.isEmpty ? nil : values.reduce(0, +) / Double(values.count)
    }
}
