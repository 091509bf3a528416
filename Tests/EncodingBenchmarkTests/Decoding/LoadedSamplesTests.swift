// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import MediaTypes
import Testing

@testable import EncodingBenchmark

@Suite struct LoadedSamplesTests {
    @Test func asManyAreReadAsFit() async throws {
        let clip = try CodedClip()
        let path = try clip.encode()
        let loader = SampleLoader()
        let all = try await loader.load(path, most: 300, Cancellation())
        #expect(all.samples.count == 8 && all.input.samples == 8 && all.input.limit == nil)
        #expect(all.input.bytes == all.samples.reduce(0) { $0 + $1.data.count })
        #expect((all.input.width, all.input.height) == (192, 108))
        let whole = try await loader.load(path, most: 8, Cancellation())
        #expect(whole.input.limit == nil, "there are no more")
        let part = try await loader.load(path, most: 3, Cancellation())
        #expect(part.samples.count == 3 && part.input.limit == .samples)
        let bytes = all.samples[0].data.count + all.samples[1].data.count
        let small = try await loader.load(path, most: 300, mostBytes: bytes, Cancellation())
        #expect(small.samples.count == 2 && small.input.limit == .bytes)
        let first = try await loader.load(path, most: 300, mostBytes: 0, Cancellation())
        #expect(first.samples.count == 1 && first.input.limit == .bytes)
    }

    @Test func readingCanBeCancelled() async throws {
        let clip = try CodedClip()
        let path = try clip.encode()
        let cancellation = Cancellation()
        cancellation.cancel()
        let error = await #expect(throws: MediaError.self) {
            try await SampleLoader().load(path, most: 300, cancellation)
        }
        #expect(error?.code == .cancelled)
    }
}
