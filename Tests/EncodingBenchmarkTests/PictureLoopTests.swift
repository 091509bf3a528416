// SPDX-License-Identifier: GPL-2.0-or-later

import EncodingBenchmark
import Testing

@Suite struct PictureLoopTests {
    @Test func goesForwardsAndBackwards() {
        let loop = PictureLoop(count: 4)
        #expect((0..<13).map(loop.index(ofFrame:)) == [0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0])
    }

    @Test func neighboursStayNeighbours() {
        for count in 1...9 {
            let indexes = (0..<100).map(PictureLoop(count: count).index(ofFrame:))
            #expect(indexes.allSatisfy { (0..<count).contains($0) })
            #expect(zip(indexes, indexes.dropFirst()).allSatisfy { abs($0 - $1) == (count > 1 ? 1 : 0) })
        }
    }

    @Test func memoryLimitsPictures() {
        #expect(PictureLoop.pictureCount(frames: 300, bytes: 1000, limit: 1_000_000) == 300)
        #expect(PictureLoop.pictureCount(frames: 300, bytes: 1000, limit: 100_000) == 100)
        #expect(PictureLoop.pictureCount(frames: 300, bytes: 1000, limit: 1) == 2)
    }
}
