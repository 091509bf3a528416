// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import HelperIPC

/// Parts of a ring never overlap, stay inside, and all of the ring can be used.
@Suite struct RingSpaceTests {
    @Test(arguments: 0..<20) func partsDoNotOverlap(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let capacity = 64 * Int.random(in: 1...20, using: &random)
        var ring = RingSpace(capacity: capacity)
        var taken: [Range<Int>] = []
        var total: UInt64 = 0
        for _ in 0..<2000 {
            let size = Int.random(in: 0...capacity / Int.random(in: 1...4, using: &random), using: &random)
            if let offset = ring.reserve(size) {
                let part = offset..<offset + size
                #expect(part.lowerBound >= 0 && part.upperBound <= capacity && offset % 64 == 0)
                #expect(!taken.contains { $0.overlaps(part) })
                taken.append(part)
            } else {
                #expect(!taken.isEmpty)
            }
            if random.flag(), !taken.isEmpty {
                let count = Int.random(in: 1...taken.count, using: &random)
                taken.removeFirst(count)
                total += UInt64(count)
                let isReleased = ring.release(total: total)
                #expect(isReleased)
            }
        }
    }

    @Test func itsLimits() {
        var ring = RingSpace(capacity: 256)
        var offsets = [257, -1, .max, 256, 0].map { ring.reserve($0) }
        #expect(offsets == [nil, nil, nil, 0, nil])
        var releases = [2, 1, 1, 0].map { ring.release(total: $0) }
        #expect(releases == [false, true, true, false])
        offsets = [64, 65, 64, 1].map { ring.reserve($0) }
        #expect(offsets == [0, 64, 192, nil])
        releases = [ring.release(total: 2)]
        offsets = [64, 64].map { ring.reserve($0) }
        #expect(releases == [true] && offsets == [0, nil])
    }
}
