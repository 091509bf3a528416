// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import MediaIO

/// The table of containers in ``ParameterSetCarriage``.
@Suite struct SinkParameterSetTests {
    @Test(arguments: ContainerFormat.allCases, [false, true])
    func files(format: ContainerFormat, isStreamed: Bool) {
        let carriage = ParameterSetCarriage(format, isStreamed: isStreamed)
        switch format {
        case .h264, .hevc, .ts:
            #expect(carriage.isRepeated && carriage.change == .none)
        case .mp4, .mov:
            #expect(carriage.isInBand == isStreamed && carriage.isRepeated == isStreamed)
            #expect(carriage.change == (isStreamed ? .none : .sampleEntry))
        case .mkv, .null:
            #expect(carriage.isInBand == isStreamed && carriage.isRepeated == isStreamed && carriage.change == .none)
        }
    }

    @Test func segments() {
        let movie = ParameterSetCarriage(SegmentFormat.fmp4)
        #expect(!movie.isInBand && !movie.isRepeated && movie.change == .segment)
        let stream = ParameterSetCarriage(SegmentFormat.ts)
        #expect(stream.isRepeated && stream.change == .segment)
    }
}
