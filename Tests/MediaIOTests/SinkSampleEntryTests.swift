// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import MediaIO

@Suite struct SinkSampleEntryTests {
    private func box(_ type: String, _ contents: [UInt8] = []) -> [UInt8] {
        let size = UInt32(8 + contents.count)
        return (0..<4).map { UInt8(truncatingIfNeeded: size >> (24 - 8 * $0)) } + Array(type.utf8) + contents
    }

    private func track(_ entries: [[UInt8]]) -> [UInt8] {
        let descriptions = box("stsd", [0, 0, 0, 0, 0, 0, 0, UInt8(entries.count)] + entries.flatMap { $0 })
        return box("trak", box("tkhd", [1, 2]) + box("mdia", box("minf", box("stbl", descriptions + box("stts")))))
    }

    @Test func everyVideoEntryIsFoundAndNothingElse() {
        let movie =
            box("mvhd", Array("avc1".utf8)) + track([box("avc1", [1, 2, 3])]) + track([box("mp4a")])
            + track([box("hvc1"), box("tx3g"), box("avc1")])
        let found = SampleEntry.replacements(in: movie[...])
        let types = found.map { String(decoding: $0.bytes, as: UTF8.self) }
        #expect(types == ["avc3", "hev1", "avc3"])
        for (change, type) in zip(found, types) {
            let old = String(decoding: movie[change.offset..<change.offset + 4], as: UTF8.self)
            #expect(old == (type == "avc3" ? "avc1" : "hvc1"))
        }
    }

    /// Once sets are in the samples the record does not say that it has them all.
    @Test func setsAreNoLongerComplete() throws {
        let front = [UInt8](repeating: 0xFF, count: 22) + [3]
        func record(_ completeness: UInt8) -> [UInt8] {
            [[0x40, 1, 2], [0x42, 1, 3, 4], [0x44, 1]].reduce(front) { (bytes: [UInt8], unit: [UInt8]) in
                bytes + [completeness | unit[0] >> 1, 0, 1, 0, UInt8(unit.count)] + unit
            }
        }
        func entry(_ record: [UInt8]) -> [UInt8] {
            [UInt8](repeating: 0, count: 78) + box("colr", [9]) + box("hvcC", record) + box("pasp")
        }
        var movie = track([box("hvc1", entry(record(0x80)))])
        for (offset, bytes) in SampleEntry.replacements(in: movie[...]) {
            movie.replaceSubrange(offset..<offset + bytes.count, with: bytes)
        }
        #expect(movie == track([box("hev1", entry(record(0)))]))
        #expect(SampleEntry.replacements(in: movie[...]).isEmpty)
        // Records that end anywhere, or say what they have not.
        for count in 0..<record(0x80).count {
            for damage in [0, 1, 0xFF] as [UInt8] {
                let torn = track([box("hvc1", entry(record(0x80).prefix(count) + [damage]))])
                #expect(SampleEntry.replacements(in: torn[...]).count <= 4)
            }
        }
    }

    @Test func truncatedAndAbsurdBoxesAreSkipped() {
        let movie = track([box("avc1", [1, 2, 3])])
        for count in 0..<movie.count { #expect(SampleEntry.replacements(in: movie[..<count]).isEmpty) }
        for index in movie.indices {
            for value in [0, 7, 0xFF] as [UInt8] {
                var damaged = movie
                damaged[index] = value
                #expect(SampleEntry.replacements(in: damaged[...]).count <= 1)
            }
        }
    }
}
