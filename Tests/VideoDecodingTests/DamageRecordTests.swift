// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import VideoDecoding

/// Which damaged samples are remembered.
@Suite struct DamageRecordTests {
    @Test func onlyTheOldestAreForgotten() {
        let record = DamageRecord()
        record.listen()
        for number in 0..<3000 {
            record.note(DamageRecord.tag(Int64(number)), "a message")
            // Repeated complaints about a sample take no room.
            record.note(DamageRecord.tag(Int64(max(number - 100, 0))), "another message")
        }
        #expect((1976..<3000).allSatisfy { record.contains($0) })
        #expect(!(0..<1976).contains { record.contains($0) })
        #expect(record.takeNew(upTo: 3000).map(\.number) == Array(0..<3000))
    }

    @Test func aSampleThatWasForgottenIsReportedAgain() {
        let record = DamageRecord()
        record.listen()
        for number in 0..<Int64(1100) { record.note(DamageRecord.tag(number), "a message") }
        _ = record.takeNew(upTo: 1100)
        record.note(DamageRecord.tag(5), "a message")
        #expect(record.contains(5) && record.takeNew(upTo: 1100).map(\.number) == [5])
        #expect(!record.contains(76) && record.contains(77))
    }
}
