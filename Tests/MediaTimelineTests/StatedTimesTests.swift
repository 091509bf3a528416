// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTimeline
import Testing

@Suite struct StatedTimesTests {
    /// - Parameters:
    ///   - decode: The decode times of all packets, in decoding order.
    ///   - presentation: The presentation times of the pictures' packets, in presentation order.
    private func times(_ decode: [Int64?], _ presentation: [Int64?], reorderDepth: Int = 1) -> [Int64?] {
        var times = StatedTimes(reorderDepth: reorderDepth)
        decode.forEach { times.add($0) }
        return presentation.map { times.next($0) }
    }

    @Test func presentationTimesInOrderAreUsed() {
        #expect(times([-1, 0, 1, 2], [0, 1, 2, 3]) == [0, 1, 2, 3])
        #expect(times([nil, nil, nil], [5, 6, 9]) == [5, 6, 9])
    }

    @Test func missingPresentationTimesAreThoseOfDecoding() {
        #expect(times([0, 1, 2, 3], [nil, nil, nil]) == [1, 2, 3])
        #expect(times([0, 1, 2], [nil, nil, nil, nil], reorderDepth: 0) == [0, 1, 2, nil])
    }

    /// A muxer has written decode times as presentation times: they are not in order behind the decoder.
    @Test func presentationTimesOutOfOrderAreReplaced() {
        #expect(times([0, 1, 2, 3, 4], [0, 2, 1, 3]) == [0, 2, 3, 4])
    }

    @Test func lostPicturesDoNotFillMemory() {
        var times = StatedTimes(reorderDepth: 0)
        for time in 0..<100_000 { times.add(Int64(time)) }
        #expect(times.next(nil).map { $0 > 98_000 } == true)
    }
}
