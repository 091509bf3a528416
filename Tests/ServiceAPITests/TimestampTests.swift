// SPDX-License-Identifier: GPL-2.0-or-later

import ServiceAPI
import Testing

@Suite("Times")
struct TimestampTests {
    @Test(
        "RFC 3339",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (1_795_770_915_123, "2026-11-27T09:15:15.123Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] as [(Int64, String)]
    )
    func writesAndReads(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).description == text)
        #expect(Timestamp(text)?.milliseconds == milliseconds)
    }

    @Test("Every day of 400 years, counted one by one")
    func countsDays() {
        var year = 1600
        var month = 1
        var day = 1
        let first = Timestamp("1600-01-01T12:00:00Z")?.milliseconds ?? 0
        for count in 0..<146_097 {
            let time = Timestamp(milliseconds: first + Int64(count) * 86_400_000)
            let expected = "\(year)-\(month < 10 ? "0" : "")\(month)-\(day < 10 ? "0" : "")\(day)T12:00:00.000Z"
            guard time.description == expected, Timestamp(expected) == time else {
                Issue.record("\(time) instead of \(expected)")
                return
            }
            let isLeap = year % 400 == 0 || year % 4 == 0 && year % 100 != 0
            day += 1
            if day > [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] {
                day = 1
                month = month % 12 + 1
                if month == 1 { year += 1 }
            }
        }
        #expect(year == 2000)
    }

    @Test(
        "Other ways to write a time",
        arguments: [
            ("2026-11-27T10:15:15.1239+01:00", "2026-11-27T09:15:15.123Z"),
            ("2026-11-26t23:45:15z", "2026-11-26T23:45:15.000Z"),
            ("2026-12-31T23:30:00.5-01:30", "2027-01-01T01:00:00.500Z"),
        ]
    )
    func readsOffsets(text: String, expected: String) {
        #expect(Timestamp(text)?.description == expected)
    }

    @Test(
        "Texts that are no times",
        arguments: [
            "", "2026", "2026-11-27", "2026-11-27T09:15:15", "2026-11-27 09:15:15Z", "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-04-31T00:00:00Z",
            "2026-11-27T24:00:00Z", "2026-11-27T09:60:00Z", "2026-11-27T09:15:60Z", "2026-11-27T09:15:15.Z",
            "2026-11-27T09:15:15.1234567890Z", "2026-11-27T09:15:15+1:00", "2026-11-27T09:15:15+01:00x",
            "2026-11-27T09:15:15+24:00", "9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00+00:01",
            "२०२६-11-27T09:15:15Z", "2026-11-27T09:15:15ZZ",
        ]
    )
    func refusesOthers(text: String) {
        #expect(Timestamp(text) == nil)
    }
}
