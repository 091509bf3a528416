// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import MediaIO

@Suite struct EditListTests {
    private func number(_ value: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    private func box(_ type: String, _ contents: [UInt8]) -> [UInt8] {
        number(UInt64(8 + contents.count), 4) + Array(type.utf8) + contents
    }

    private func trackHeader(_ identifier: Int, isLong: Bool, duration: UInt64) -> [UInt8] {
        let times = [UInt8](repeating: 0, count: isLong ? 16 : 8)
        let start: [UInt8] = [isLong ? 1 : 0, 0, 0, 0] + times + number(UInt64(identifier), 4) + number(0, 4)
        return box("tkhd", start + number(duration, isLong ? 8 : 4) + [UInt8](repeating: 0, count: 20))
    }

    private func movie(isLong: Bool, duration: UInt64) -> [UInt8] {
        let times = [UInt8](repeating: 0, count: isLong ? 16 : 8)
        return box("mvhd", [isLong ? 1 : 0, 0, 0, 0] + times + number(1000, 4) + number(duration, isLong ? 8 : 4))
    }

    private func track(_ identifier: Int = 1, isLong: Bool, edits: [UInt64]) -> [UInt8] {
        let size = isLong ? 8 : 4
        let list = edits.flatMap { number($0, size) + number(0, size) + number(65536, 4) }
        let elst = box("elst", [isLong ? 1 : 0, 0, 0, 0] + number(UInt64(edits.count), 4) + list)
        let header = trackHeader(identifier, isLong: isLong, duration: edits.reduce(0, +))
        return box("trak", header + (edits.isEmpty ? [] : box("edts", elst)))
    }

    @Test(arguments: [false, true]) func theLastEditAndTheDurationsBecomeShorter(isLong: Bool) {
        let bytes =
            movie(isLong: isLong, duration: 5000) + track(isLong: isLong, edits: [1000, 4000])
            + track(2, isLong: isLong, edits: [2000])
        let ends = [MediaTime(value: 3, timescale: 1), nil]
        let changes = EditLists.changes(in: bytes[...], ends: ends)
        #expect(changes.map(\.value) == [3000, 2000, 3000])
        #expect(changes.allSatisfy { $0.byteCount == (isLong ? 8 : 4) })
        // Each place had the old value.
        let old = changes.map { SampleEntry.bigEndian(bytes[$0.offset..<$0.offset + $0.byteCount]) }
        #expect(old == [5000, 4000, 5000])
    }

    @Test func tracksThatEndBeforeOrHaveNoEditsStay() {
        let bytes =
            movie(isLong: false, duration: 2000) + track(isLong: false, edits: [2000])
            + track(2, isLong: false, edits: [])
        let later = MediaTime(value: 2, timescale: 1)
        #expect(EditLists.changes(in: bytes[...], ends: [later, later]).isEmpty)
        #expect(EditLists.changes(in: bytes[...], ends: []).isEmpty)
    }

    /// A stream without packets has no track in the file.
    @Test func tracksAreFoundByTheirNumbers() {
        let bytes =
            movie(isLong: false, duration: 5000) + track(1, isLong: false, edits: [5000])
            + track(3, isLong: false, edits: [5000])
        let ends: [MediaTime?] = [nil, MediaTime(value: 1, timescale: 1), MediaTime(value: 4, timescale: 1)]
        #expect(EditLists.changes(in: bytes[...], ends: ends).map(\.value) == [4000, 4000])
        #expect(EditLists.changes(in: bytes[...], ends: [nil, nil, .invalid]).isEmpty)
    }

    @Test func damageChangesNothing() {
        let whole = movie(isLong: false, duration: 5000) + track(isLong: false, edits: [5000])
        for count in 0..<whole.count {
            let changes = EditLists.changes(in: whole[..<count], ends: [MediaTime(value: 1, timescale: 1)])
            #expect(changes.allSatisfy { $0.offset + $0.byteCount <= count })
        }
    }
}
