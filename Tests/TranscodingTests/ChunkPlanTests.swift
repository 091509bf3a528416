// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaIO
import MediaTypes
import TestSupport
import Testing

@testable import Transcoding

@Suite struct ChunkPlanTests {
    /// Pictures at 25 frames per second, with an entry at each of the given frames.
    private func index(_ count: Int, entries: Set<Int>) -> FrameIndex {
        FrameIndex(
            frames: (0..<count).map { number in
                FrameIndex.Frame(
                    presentationTime: MediaTime(value: Int64(number), timescale: 25),
                    isKeyFrame: entries.contains(number),
                    byteCount: 100
                )
            },
            end: MediaTime(value: Int64(count), timescale: 25)
        )
    }

    private func expectWhole(_ plan: ChunkPlan) {
        #expect(plan.chunks.first?.lowerBound == 0)
        #expect(plan.chunks.last?.upperBound == plan.index.frames.count)
        for (one, next) in zip(plan.chunks, plan.chunks.dropFirst()) { #expect(one.upperBound == next.lowerBound) }
        if plan.chunks.count > 1 {
            #expect(plan.chunks.allSatisfy { $0.count >= ChunkPlan.fewestPictures }, "\(plan.chunks)")
        }
    }

    @Test func bordersAreTheNearestEntries() {
        let plan = ChunkPlan(index(1000, entries: [0, 90, 240, 260, 480, 730, 990]), duration: 10)
        expectWhole(plan)
        #expect(plan.chunks.map(\.lowerBound) == [0, 240, 480, 730])
    }

    @Test func withoutEntriesBordersAreWhereTheyAreWanted() {
        let plan = ChunkPlan(index(1000, entries: [0]), duration: 10)
        expectWhole(plan)
        #expect(plan.chunks.map(\.count) == [250, 250, 250, 250])
    }

    @Test func shortInputsAreOneChunk() {
        for count in [1, 2, 3, 50, 374] {
            let plan = ChunkPlan(index(count, entries: Set(0..<count)), duration: 10)
            expectWhole(plan)
            #expect(plan.chunks.count == 1)
        }
        #expect(ChunkPlan(index(376, entries: [0]), duration: 10).chunks.count == 2)
    }

    /// Any times and entries: nothing is left out, and no chunk is far from the wanted duration if pictures are dense.
    @Test func randomInputs() {
        var random = SplitMix(29)
        for _ in 0..<500 {
            let count = Int.random(in: 1...400, using: &random)
            var (time, frames): (Int64, [FrameIndex.Frame]) = (0, [])
            for _ in 0..<count {
                frames.append(
                    FrameIndex.Frame(
                        presentationTime: MediaTime(value: time, timescale: 1000),
                        isKeyFrame: Bool.random(using: &random),
                        byteCount: 1
                    )
                )
                time += Int64.random(in: 1...(Bool.random(using: &random) ? 50 : 5000), using: &random)
            }
            let index = FrameIndex(frames: frames, end: MediaTime(value: time, timescale: 1000))
            let duration = Double.random(in: 1...20, using: &random)
            let plan = ChunkPlan(index, duration: duration)
            expectWhole(plan)
            #expect(plan == ChunkPlan(index, duration: duration))
        }
    }

    /// Borders lie between the pictures, whatever the timescale, and the parts are adjacent.
    @Test func sourcesAreAdjacent() throws {
        let plan = ChunkPlan(index(1000, entries: [0, 250, 500, 750]), duration: 10)
        let first = plan.source(of: 0, MediaSource.Options())
        #expect(first.start == nil)
        #expect(first.duration == MediaTime(value: 499, timescale: 50))
        let second = plan.source(of: 1, MediaSource.Options())
        #expect(second.start == MediaTime(value: 499, timescale: 50))
        #expect(second.duration == MediaTime(value: 500, timescale: 50))
        let last = plan.source(of: 3, MediaSource.Options())
        #expect(last.start == MediaTime(value: 1499, timescale: 50) && last.duration == nil)
    }

    @Test func sourcesOfAPart() throws {
        var found = index(1000, entries: [0, 500])
        found.offset = MediaTime(value: 7, timescale: 1)
        let whole = MediaSource.Options(start: found.offset, duration: MediaTime(value: 40, timescale: 1))
        let plan = ChunkPlan(found, duration: 20)
        #expect(plan.source(of: 0, whole).start == found.offset)
        let second = plan.source(of: 1, whole)
        #expect(second.start == MediaTime(value: 999 + 350, timescale: 50))
        #expect(second.duration == MediaTime(value: 2000 - 999, timescale: 50))
    }
}

@Suite struct ChunkRecordTests {
    private let record = ChunkRecord(
        key: "89ab",
        file: "00007-1f.mp4",
        encoder: ChunkRecord.Encoder(
            identity: EncoderIdentity(name: "vaapi-h264", codec: .h264, device: "/dev/dri/renderD128"),
            name: "Reference driver 1.0",
            profile: "High",
            level: "4.1",
            isInHelper: true,
            reason: "the first\nGPU"
        ),
        digest: "0123",
        parameterSets: "4567",
        samples: [
            ChunkRecord.Sample(rank: 0, byteCount: 900), ChunkRecord.Sample(rank: 2, byteCount: 300),
            ChunkRecord.Sample(rank: 1, byteCount: 100),
        ],
        comparedPictureCount: 3,
        psnr: ChunkRecord.PSNR(lowest: 41.5, mean: 43.25, pictureCount: 3)
    )

    @Test func isReadAsItIsWritten() throws {
        var expected = record
        expected.encoder.reason = "the first GPU"
        #expect(ChunkRecord(text: record.text) == expected)
        var onCPU = record
        (onCPU.encoder.identity.device, onCPU.psnr, onCPU.encoder.reason) = (nil, nil, "no GPU")
        #expect(ChunkRecord(text: onCPU.text) == onCPU)
        #expect(record.reorderDepth == 1)
        #expect(ChunkRecord(text: record.text)?.samples.count == 3)
    }

    @Test func reorderDepth() {
        var pyramid = record
        pyramid.samples = [0, 4, 2, 1, 3].map { ChunkRecord.Sample(rank: $0, byteCount: 1) }
        #expect(pyramid.reorderDepth == 2)
    }

    /// What a crash or a bad disk leaves is no record.
    @Test func damageIsNoRecord() {
        let text = Array(record.text.utf8)
        for end in 0..<text.count { #expect(ChunkRecord(text: String(decoding: text[..<end], as: UTF8.self)) == nil) }
        let lines = record.text.split(separator: "\n", omittingEmptySubsequences: false)
        for number in lines.indices where !["compared", "psnr"].contains(lines[number].split(separator: " ").first) {
            var others = lines
            others.remove(at: number)
            // Only the last sample in the order of presentation can be missing without a trace; the count tells it.
            if lines[number].hasPrefix("sample 2 ") { continue }
            #expect(ChunkRecord(text: others.joined(separator: "\n")) == nil, "without \(lines[number])")
        }
        #expect(ChunkRecord(text: record.text.replacing("sample 1 ", with: "sample 2 ")) == nil)
        #expect(ChunkRecord(text: record.text.replacing("sample 1 ", with: "sample -1 ")) == nil)
        #expect(ChunkRecord(text: record.text.replacing("codec h264", with: "codec av1")) == nil)
    }

    @Test func strangersAreThoseThatFewPicturesHave() {
        var software = record
        software.encoder.identity = EncoderIdentity(name: "x264", codec: .h264)
        var otherGPU = record
        otherGPU.encoder.identity.device = "/dev/dri/renderD129"
        #expect(ChunkUnity.outliers([record, otherGPU, record]) == [])
        #expect(ChunkUnity.outliers([record, software, record]) == [1])
        #expect(ChunkUnity.outliers([software, record]) == [1])
        var otherSets = record
        otherSets.parameterSets = "89ab"
        #expect(ChunkUnity.outliers([otherSets, record, record]) == [0])
        #expect(ChunkUnity.outliers([]) == [])
        #expect(ChunkUnity.differing(from: 1, [record, software, record]) == [0, 2])
    }
}
