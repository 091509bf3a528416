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
        #expect(found.map(\.type) == ["avc3", "hev1", "avc3"])
        for (offset, type) in found {
            let old = String(decoding: movie[offset..<offset + 4], as: UTF8.self)
            #expect(old == (type == "avc3" ? "avc1" : "hvc1"))
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
