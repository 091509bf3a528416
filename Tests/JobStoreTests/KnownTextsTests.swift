// SPDX-License-Identifier: GPL-2.0-or-later

import JobStore
import Testing

@Suite struct KnownTextsTests {
    struct Wrong: Error {}

    @Test func eachTextIsReadOnceForEachType() {
        let known = KnownTexts(most: 10, longest: 3)
        var count = 0
        func number(_ text: String) -> Int? {
            known.value(Int?.self, text) {
                count += 1
                return Int(text)
            }
        }
        #expect([number("1"), number("2"), number("1"), number("x"), number("x")] == [1, 2, 1, nil, nil])
        #expect(count == 3)
        #expect(known.value(String.self, "1") { "one" } == "one")
        #expect(number("1") == 1 && count == 3)
        #expect(number("1234") == 1234 && number("1234") == 1234)
        #expect(count == 5)
    }

    @Test func textsOfOtherNormalFormsAreOthers() {
        let known = KnownTexts(most: 10, longest: 10)
        for text in ["\u{E9}", "e\u{301}", "K", "\u{212A}"] {
            #expect(known.value([UInt8].self, text) { Array(text.utf8) } == Array(text.utf8))
        }
    }

    @Test func failuresAreNotKept() {
        let known = KnownTexts(most: 10, longest: 10)
        #expect(throws: Wrong.self) { try known.value(Int.self, "1") { throw Wrong() } }
        #expect(known.value(Int.self, "1") { 1 } == 1)
    }

    @Test func theNumberOfTextsIsBounded() {
        let known = KnownTexts(most: 2, longest: 10)
        var read: [String] = []
        for text in ["a", "b", "a", "c", "a"] {
            _ = known.value(Int.self, text) {
                read.append(text)
                return 0
            }
        }
        #expect(read == ["a", "b", "c", "a"])
    }
}
