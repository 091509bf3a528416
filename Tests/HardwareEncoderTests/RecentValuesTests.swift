// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import HardwareEncoder

@Suite struct RecentValuesTests {
    @Test func thoseThatWereUsedLongestAgoGo() {
        var values = RecentValues<Int, String>(limit: 2)
        for key in [1, 2] {
            #expect(values.use(key) == nil)
            values.makeRoom()
            values.insert("\(key)", for: key)
        }
        #expect(values.use(1) == "1")
        values.makeRoom()
        values.insert("3", for: 3)
        #expect(values.use(2) == nil)
        #expect(values.use(1) == "1")
        #expect(values.use(3) == "3")
    }

    @Test func noMoreBytesAreKeptThanThereMayBeUnlessTheyAreFew() {
        var values = RecentValues<Int, Int>(limit: 100, byteLimit: 50, fewest: 2)
        for key in 0..<6 {
            _ = values.use(key)
            values.makeRoom(byteCount: 10)
            values.insert(key, for: key, byteCount: 10)
        }
        #expect((0..<6).map { values.use($0) } == [nil, 1, 2, 3, 4, 5])
        values.makeRoom(byteCount: 1000)
        values.insert(6, for: 6, byteCount: 1000)
        #expect((0..<7).map { values.use($0) } == [nil, nil, nil, nil, nil, 5, 6])
    }
}
