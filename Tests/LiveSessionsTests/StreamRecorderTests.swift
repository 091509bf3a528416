// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Dispatch
import MediaIO
import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import LiveSessions

/// The recorder of a stream, with files that the test controls.
@Suite(.timeLimit(.minutes(10))) struct StreamRecorderTests {
    /// What has become of a file.
    private final class Disk: Sendable {
        struct State {
            var pictures = 0
            var isFinished = false
            var isDiscarded = false
            /// The number of pictures after which it is full.
            var capacity = Int.max
        }

        let state = Mutex(State())
        /// Every picture waits for it while the disk is stuck.
        let pause = DispatchSemaphore(value: 0)
        let isStuck: Bool

        init(isStuck: Bool = false) { self.isStuck = isStuck }
    }

    private final class File: OutputSink {
        private let disk: Disk

        init(_ disk: Disk) { self.disk = disk }

        var takesAudio: Bool { true }
        var temporaryPath: String? { "/nowhere/.part" }

        func omitVideo() throws(MediaError) {}
        func addTrack(_ track: MediaTrack) throws(MediaError) -> MediaSink.Acceptance { .accepted }
        func setChapters(_ chapters: [Chapter]) throws(MediaError) -> MediaSink.Acceptance { .accepted }
        func setMetadata(_ metadata: [String: String]) throws(MediaError) -> MediaSink.Acceptance { .accepted }
        func prepareForSwitches() {}
        func write(_ packet: MediaPacket) throws(MediaError) {}
        func complete() throws(MediaError) {}
        func abort() { disk.state.withLock { $0.isDiscarded = true } }

        func write(_ sample: SampleBuffer) throws(MediaError) {
            if disk.isStuck { disk.pause.wait() }
            let isFull = disk.state.withLock { state in
                state.pictures += 1
                return state.pictures > state.capacity
            }
            if isFull { throw MediaError(.inputOutput, "no space left on the device") }
        }

        func finish() throws(MediaError) -> MediaSink.Summary {
            disk.state.withLock { $0.isFinished = true }
            return MediaSink.Summary(
                byteCount: 1,
                sampleCount: disk.state.withLock { $0.pictures },
                duration: MediaTime(value: 1, timescale: 1)
            )
        }
    }

    private func recorder(_ disk: Disk, mostQueued: Int = 1 << 20) -> StreamRecorder {
        let recorder = StreamRecorder(path: "show.mp4", mostQueued: mostQueued) { () throws(MediaError) in File(disk) }
        recorder.start()
        return recorder
    }

    private func picture(_ number: Int, bytes: Int = 100) -> StreamRecorder.Step {
        let time = MediaTime(value: Int64(number), timescale: 25)
        return .picture(
            SampleBuffer(
                data: CodedData([UInt8](repeating: 0, count: bytes)),
                presentationTime: time,
                decodeTime: time,
                duration: MediaTime(value: 1, timescale: 25),
                isKeyFrame: number == 0,
                formatDescription: FormatDescription(codec: .h264, width: 16, height: 16, parameterSets: [])
            )
        )
    }

    @Test func everythingIsWrittenBeforeTheFileIsComplete() async {
        let disk = Disk()
        let recorder = recorder(disk)
        for number in 0..<50 { recorder.add(picture(number)) }
        await recorder.finish()
        #expect(recorder.status.state == .finished)
        #expect(recorder.status.file?.sampleCount == 50)
        #expect(recorder.status.pictures == 50)
        #expect(recorder.status.codedBytes == 5000)
        #expect(recorder.status.queuedBytes == 0)
        #expect(recorder.status.duration == MediaTime(value: 2, timescale: 1))
        #expect(recorder.status.temporaryPath == nil)
        #expect(disk.state.withLock { $0.isFinished && !$0.isDiscarded })
    }

    @Test func aFullDiskEndsTheRecordingAndDiscardsTheFile() async {
        let disk = Disk()
        disk.state.withLock { $0.capacity = 10 }
        let recorder = recorder(disk)
        for number in 0..<20 { recorder.add(picture(number)) }
        #expect(await Patience.wait { recorder.status.state.error != nil })
        // The stream goes on, and nothing is kept for the file.
        for number in 20..<40 { recorder.add(picture(number)) }
        #expect(recorder.status.queuedBytes == 0)
        await recorder.finish()
        #expect(recorder.status.state.error?.message == "no space left on the device")
        #expect(recorder.status.file == nil)
        #expect(recorder.status.pictures == 10)
        #expect(disk.state.withLock { $0.isDiscarded && !$0.isFinished && $0.pictures == 11 })
    }

    @Test func aDiskThatIsTooSlowEndsTheRecordingWithWhatCameUntilThen() async {
        let disk = Disk(isStuck: true)
        let recorder = recorder(disk, mostQueued: 1000)
        // Nothing waits for the disk here, although it takes nothing.
        for number in 0..<100 { recorder.add(picture(number)) }
        #expect(recorder.status.queuedBytes == 1000)
        for _ in 0..<100 { disk.pause.signal() }
        await recorder.finish()
        #expect(recorder.status.state.error?.message == "the disk is too slow for the recording")
        #expect(recorder.status.file?.sampleCount == 10)
        #expect(disk.state.withLock { $0.isFinished && !$0.isDiscarded })
    }

    @Test func aStreamWithoutPicturesLeavesNoFile() async {
        let disk = Disk()
        let recorder = recorder(disk)
        recorder.add(.prepareForSwitches)
        await recorder.finish()
        #expect(recorder.status.state == .waiting)
        #expect(recorder.status.file == nil)
        #expect(disk.state.withLock { !$0.isFinished })
    }

    @Test func aFileThatCannotBeOpenedIsToldAndNotWaitedFor() async {
        let recorder = StreamRecorder(path: "show.mp4") { () throws(MediaError) in
            throw MediaError(.inputOutput, "the folder is gone")
        }
        recorder.start()
        recorder.add(picture(0))
        #expect(await Patience.wait { recorder.status.state.error?.message == "the folder is gone" })
        recorder.add(picture(1))
        await recorder.finish()
        #expect(recorder.status.pictures == 0)
    }
}
