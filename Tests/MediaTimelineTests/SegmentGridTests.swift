// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTimeline
import MediaTypes
import Testing

@Suite struct SegmentGridTests {
    private func marks(_ grid: SegmentGrid, _ times: [MediaTime]) -> (segments: [Int], keyFrames: [Int]) {
        var grid = grid
        var (segments, keyFrames): ([Int], [Int]) = ([], [])
        for (index, time) in times.enumerated() {
            switch grid.place(time) {
            case .segment: segments.append(index)
            case .keyFrame: keyFrames.append(index)
            case nil: break
            }
        }
        return (segments, keyFrames)
    }

    private let six = MediaTime(value: 6, timescale: 1)
    private let two = MediaTime(value: 2, timescale: 1)

    /// The numbers of frames in a segment and between key frames stay the same, however many segments there are.
    @Test(arguments: [
        (30000, 1001, 180, 60), (24000, 1001, 144, 48), (25, 1, 150, 50), (60000, 1001, 360, 120), (12, 1, 72, 24),
    ])
    func constantRates(numerator: Int32, denominator: Int32, segment: Int, keyFrame: Int) {
        let rate = Rational(numerator, denominator)
        let times = (0..<(segment * 50)).map { frame in
            MediaTime.rational(Int64(frame), numerator: Int64(denominator), denominator: Int64(numerator))
        }
        let marks = marks(SegmentGrid(duration: six, keyFrames: two, frameRate: rate), times)
        #expect(marks.segments == Array(stride(from: 0, to: times.count, by: segment)))
        #expect(marks.keyFrames == stride(from: 0, to: times.count, by: keyFrame).filter { $0 % segment != 0 })
        // Times in milliseconds, as Matroska has them, give the same.
        let rounded = self.marks(
            SegmentGrid(duration: six, keyFrames: two, frameRate: rate),
            times.map { $0.converted(to: 1000) }
        )
        #expect(rounded == marks)
    }

    @Test func variableRates() {
        let times = [0, 5.0, 5.99, 6.5, 30, 30.1, 36.1].map { MediaTime(seconds: $0, preferredTimescale: 1000) }
        #expect(marks(SegmentGrid(duration: six), times).segments == [0, 3, 4, 6])
    }
}
