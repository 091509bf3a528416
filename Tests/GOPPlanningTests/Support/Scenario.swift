// SPDX-License-Identifier: GPL-2.0-or-later

import GOPPlanning
import MediaTypes

/// A structure and a stream of pictures and reports, all chosen by a seed.
struct Scenario {
    let structure: GOPStructure
    let log: PlanLog
    /// Widths of the numbers; as small as the structure allows every other time.
    let log2MaxFrameNum: Int?
    let log2MaxLsb: Int?

    init(seed: UInt64) throws(MediaError) {
        var random = SeededGenerator(seed: seed)
        structure = Self.structure(&random)
        log2MaxFrameNum = random.isOne(of: 2) ? nil : random.number(6...16)
        log2MaxLsb = random.isOne(of: 2) ? nil : random.number(8...16)
        var log = try PlanLog(structure)
        try Self.play(&log, &random)
        self.log = log
    }

    private static func structure(_ random: inout SeededGenerator) -> GOPStructure {
        var structure = GOPStructure()
        structure.consecutiveBFrames = random.isOne(of: 3) ? 0 : random.number(0...(random.isOne(of: 2) ? 16 : 4))
        structure.temporalLayers = random.isOne(of: 3) ? random.number(2...3) : 1
        if structure.temporalLayers == 1 { structure.pyramidDepth = random.number(0...4) }
        structure.list0Limit = random.number(1...(random.isOne(of: 2) ? 16 : 3))
        structure.list1Limit = random.number(1...(random.isOne(of: 2) ? 16 : 2))
        if random.isOne(of: 2) { structure.longTermReferences = random.number(1...4) }
        let interval = random.isOne(of: 4) ? nil : random.number(1...(random.isOne(of: 2) ? 60 : 8))
        switch random.number(0...4) {
        case 0, 1: structure.randomAccess = .closed(interval: interval)
        case 2, 3: structure.randomAccess = .open(interval: interval)
        default:
            structure.randomAccess = .intraRefresh(period: random.number(1...20))
            structure.consecutiveBFrames = 0
            structure.temporalLayers = 1
        }
        structure.isLowLatency = structure.consecutiveBFrames == 0 && random.isOne(of: 2)
        // As tight as can be, half of the time.
        let room = random.isOne(of: 2) ? structure.minimumPictureCount : random.number(1...16)
        return structure.limited(toReorderDepth: random.number(0...5), pictures: min(room, 16))
    }

    private static func play(_ log: inout PlanLog, _ random: inout SeededGenerator) throws(MediaError) {
        let length = random.number(1...(random.isOne(of: 3) ? 200 : 40))
        let forceRate = random.number(2...60)
        let markRate = log.structure.longTermReferences > 0 ? random.number(2...30) : nil
        let lossRate = random.isOne(of: 2) ? random.number(3...40) : nil
        let dueRate = random.isOne(of: 3) ? random.number(3...40) : nil
        let finishRate = random.isOne(of: 4) ? random.number(5...50) : nil
        var number = Int64(random.number(-20...20))
        for _ in 0..<length {
            var input = InputPicture(number: number)
            input.forceKeyFrame = random.isOne(of: forceRate)
            input.isKeyFrameDue = dueRate.map { random.isOne(of: $0) } ?? false
            if let markRate, random.isOne(of: markRate) {
                input.longTermIndex = random.number(0...(log.structure.longTermReferences - 1))
            }
            try log.add(input)
            number += random.isOne(of: 10) ? Int64(random.number(2...5)) : 1
            if let lossRate { report(&log, &random, rate: lossRate) }
            if let finishRate, random.isOne(of: finishRate) { log.finish() }
        }
        log.finish()
    }

    /// What a receiver may report: mostly on pictures that it can know of.
    private static func report(_ log: inout PlanLog, _ random: inout SeededGenerator, rate: Int) {
        guard let number = log.plannedNumbers.suffix(12).randomElement(using: &random) else { return }
        if random.isOne(of: rate) {
            random.isOne(of: 2) ? log.lose(from: number) : log.lose(number...(number + Int64(random.number(0...3))))
        }
        if random.isOne(of: 3) { log.acknowledge(number) }
    }
}
