// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import MediaTypes
import Synchronization
import Testing

@testable import EncodingBenchmark

/// One session of the software decoder that decodes a clip of eight frames.
@Suite struct DecodingPassTests {
    private let clip: CodedClip
    private let loaded: LoadedSamples
    private let current = CurrentSession()

    init() async throws {
        clip = try CodedClip()
        loaded = try await SampleLoader().load(try clip.encode(), most: 300, Cancellation())
    }

    private func pass() async throws -> DecodingPass { try await DecodingPass(DecodingSubject(), loaded, current) }

    @Test func everythingIsMeasured() async throws {
        let count = Mutex(0)
        let measurement = try await pass().run { _ in count.withLock { $0 += 1 } }
        #expect(count.withLock { $0 } == 8 && measurement.frames == 8)
        #expect(measurement.wallTime > 0 && measurement.timeToFirstFrame > 0 && measurement.processorTime > 0)
        #expect(measurement.copiedFrames == 0 && measurement.failures == 0)
    }

    @Test func framesAreThoseOfTheSamples() async throws {
        let recorders = [FrameRecorder(), FrameRecorder()]
        for recorder in recorders {
            _ = try await pass().run { frame throws(MediaError) in try recorder.take(frame) }
        }
        let frames = recorders[0].frames
        #expect(frames.map(\.presentationTime) == frames.map(\.presentationTime).sorted())
        #expect(Set(frames.map(\.digest)).count == 8)
        #expect(recorders[1].frames == frames)
    }

    /// Whichever frame cannot be taken, its error is that of the run.
    @Test(arguments: [1, 8])
    func errorsOfTheConsumerEndTheRun(number: Int) async throws {
        let count = Mutex(0)
        let pass = try await pass()
        let error = await #expect(throws: MediaError.self) {
            try await pass.run { _ throws(MediaError) in
                let current = count.withLock { count in
                    count += 1
                    return count
                }
                if current == number { throw MediaError(.inputOutput, "frame \(number)") }
            }
        }
        #expect(error?.message == "frame \(number)")
    }

    @Test func aRunWithoutPicturesIsAnError() async throws {
        var empty = loaded
        empty.samples = []
        let pass = try await DecodingPass(DecodingSubject(), empty, current)
        let error = await #expect(throws: MediaError.self) { _ = try await pass.run() }
        #expect(error?.code == .malformedData && error?.message == "no picture could be decoded")
    }

    @Test func aStopEndsTheRunAndAllFurtherOnes() async throws {
        let pass = try await pass()
        let error = await #expect(throws: MediaError.self) {
            try await pass.run { [current] _ in current.stop() }
        }
        #expect(error == CurrentSession.error)
        let next = await #expect(throws: MediaError.self) { try await self.pass() }
        #expect(next == CurrentSession.error)
    }
}
