// SPDX-License-Identifier: GPL-2.0-or-later

import Capture
import MediaTypes
import Testing

/// The test chart.
@Suite(.timeLimit(.minutes(60))) struct TestChartTests {
    private func chart(_ change: (inout TestChart.Request) -> Void) throws -> (TestChart, StopSignal) {
        var request = TestChart.Request()
        change(&request)
        let stop = try StopSignal()
        return (try TestChart(request, stop: stop), stop)
    }

    /// The luma in the middle of the square that flashes.
    private func square(_ picture: PixelBuffer) throws -> UInt8 {
        try picture.withPlanes { planes in planes[0].baseAddress.load(as: UInt8.self) }
    }

    @Test func itFlashesInTheFirstTenthOfEachSecond() throws {
        let (chart, _) = try chart {
            ($0.width, $0.height) = (64, 48)
            $0.frameRate = Rational(50)
        }
        var latest = MediaTime.invalid
        var seen: Set<UInt8> = []
        for _ in 0..<60 {
            let picture = try chart.read()
            let fraction = picture.time.seconds.truncatingRemainder(dividingBy: 1)
            let luma = try square(picture.buffer)
            #expect(luma == (fraction < 0.1 ? 235 : 16))
            seen.insert(luma)
            if latest.isValid {
                let steps = (picture.time - latest).seconds * 50
                #expect(abs(steps - Double(picture.lostBefore + 1)) < 0.001)
            }
            latest = picture.time
        }
        #expect(seen == [16, 235])
    }

    @Test func stoppingEndsTheWait() throws {
        let (chart, stop) = try chart { $0.frameRate = Rational(1) }
        _ = try chart.read()
        stop.stop()
        let error = #expect(throws: MediaError.self) { try chart.read() }
        #expect(error?.code == .cancelled)
    }

    @Test(arguments: [(15, 16), (17, 16), (16, 8194)]) func sizes(width: Int, height: Int) throws {
        let error = #expect(throws: MediaError.self) {
            try chart { ($0.width, $0.height) = (width, height) }
        }
        #expect(error?.given == "\(width)x\(height)")
    }
}
