// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import Transcoding

@Suite struct BufferModelTests {
    /// A buffer of one second at 8000 bit/s, in pictures of 10 per second: 100 bytes each keep it as full as it is.
    private let limit = RateLimit(bitsPerSecond: 8000, bufferSize: 8000)

    private func pictures(_ sizes: [Int], from first: Int = 0) -> [BufferModel.Picture] {
        sizes.enumerated().map { number, size in
            BufferModel.Picture(decodeTime: MediaTime(value: Int64(first + number), timescale: 10), byteCount: size)
        }
    }

    /// Whether each picture has arrived in time.
    private func arrivals(_ pictures: [BufferModel.Picture]) -> [Bool] {
        var model = BufferModel(limit)
        return pictures.map { model.remove($0) }
    }

    @Test func aSteadyStreamNeverEmptiesIt() {
        #expect(arrivals(pictures(Array(repeating: 100, count: 500))).allSatisfy { $0 })
    }

    @Test func theFirstPictureMayBeAsLargeAsTheFilling() {
        #expect(arrivals(pictures([900])) == [true])
        #expect(arrivals(pictures([905])) == [false])
    }

    @Test func itFillsAtThePeakAndNotBeyondItsSize() {
        // After two seconds it is full: 1000 bytes and no more.
        let later = MediaTime(value: 2, timescale: 1)
        let sizes = [(MediaTime.zero, 900), (later, 1000), (later, 10)]
        #expect(arrivals(sizes.map { BufferModel.Picture(decodeTime: $0, byteCount: $1) }) == [true, true, false])
    }

    /// Each chunk alone begins with a full buffer; behind another that has emptied it, the large first picture is too much.
    @Test func onlyTheJointIsBlamed() {
        let draining = pictures([500] + Array(repeating: 110, count: 30))
        let large = pictures([800] + Array(repeating: 80, count: 10), from: draining.count)
        let small = pictures(Array(repeating: 90, count: 10), from: draining.count + large.count)
        #expect(BufferModel.chunksOverLimit([draining, large, small], limit) == [1])
        #expect(BufferModel.chunksOverLimit([pictures(Array(repeating: 100, count: 31)), large, small], limit) == [])
    }

    /// An encoder that exceeds the limit within a chunk would do so again.
    @Test func chunksThatExceedItAloneAreNotBlamed() {
        let excessive = pictures([100, 2000, 100])
        #expect(BufferModel.chunksOverLimit([excessive], limit) == [])
    }
}
