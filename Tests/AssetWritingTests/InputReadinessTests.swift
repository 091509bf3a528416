// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import AssetWriting

@Suite struct InputReadinessTests {
    private func time(_ value: Int64) -> MediaTime { MediaTime(value: value, timescale: 10) }

    @Test func theFastestWaits() {
        var readiness = InputReadiness(largestLead: time(10))
        let (picture, sound) = (readiness.add(), readiness.add())
        #expect(readiness.isReady(picture) && readiness.isReady(sound))
        #expect(readiness.note(picture, end: time(1)) == true)
        // The other has nothing yet.
        #expect(!readiness.isReady(picture) && readiness.isReady(sound))
        #expect(readiness.note(sound, end: time(1)) == true)
        #expect(readiness.isReady(picture))
        #expect(readiness.note(picture, end: time(11)) == true)
        #expect(readiness.isReady(picture))
        #expect(readiness.note(picture, end: time(12)) == true)
        #expect(!readiness.isReady(picture) && readiness.isReady(sound))
        // A picture out of order changes nothing.
        #expect(readiness.note(picture, end: time(5)) == false)
        #expect(!readiness.isReady(picture))
        readiness.finish(sound)
        #expect(readiness.isReady(picture) && !readiness.isReady(sound) && readiness.isFinished(sound))
        readiness.finishAll()
        #expect(!readiness.isReady(picture))
    }

    @Test func oneInputIsAlwaysReady() {
        var readiness = InputReadiness(largestLead: .zero)
        let input = readiness.add()
        for second in 0..<10 {
            #expect(readiness.isReady(input))
            _ = readiness.note(input, end: time(Int64(second)))
        }
    }
}
