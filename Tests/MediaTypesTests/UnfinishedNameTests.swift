// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@Suite struct UnfinishedNameTests {
    @Test(arguments: ["film.mp4", "a-b-c.part", "-", "", "größer – 1.mov", "\u{303}.mp4"])
    func finalNamesAreReadAgain(name: String) {
        let unfinished = UnfinishedName.make(for: name)
        #expect(unfinished.hasPrefix(".vatoolbox-") && UnfinishedName.make(for: name) != unfinished)
        #expect(UnfinishedName.finalName(of: unfinished) == name)
    }

    @Test func longNamesAreCutBetweenCharacters() throws {
        let name = String(repeating: "ä", count: 127) + "x"
        let unfinished = UnfinishedName.make(for: name)
        #expect(unfinished.utf8.count < 255)
        #expect(UnfinishedName.finalName(of: unfinished) == String(repeating: "ä", count: 100))
    }

    @Test(arguments: ["film.mp4", ".vatoolbox-1-2.part", ".vatoolbox-1-2-a.mp4", "vatoolbox-1-2-a.part", ".part", ""])
    func otherNamesAreNone(name: String) { #expect(UnfinishedName.finalName(of: name) == nil) }
}
