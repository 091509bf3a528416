// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
internal import MediaIO
internal import MediaTypes
internal import Synchronization

/// Writes what a stream encodes into a file, on a thread of its own.
///
/// Neither holds up the other: ``add(_:)`` never waits. After the first error of the file, the recording has failed, and
/// the stream goes on; what is whole of the file stays. If the disk is so slow that too much waits for it, the recording
/// fails as well, and the file is completed with what came until then.
final class StreamRecorder: Sendable {
    /// What is passed to the file, in this order.
    enum Step: Sendable {
        case omitVideo
        case track(MediaTrack)
        case prepareForSwitches
        case picture(SampleBuffer)
        case packet(MediaPacket)

        fileprivate var byteCount: Int {
            switch self {
            case .picture(let sample): sample.data.count
            case .packet(let packet): packet.byteCount
            case .omitVideo, .track, .prepareForSwitches: 0
            }
        }
    }

    private struct State {
        var status: RecordingStatus
        var steps: [Step] = []
        /// Whether there is something that a file can have.
        var hasMedia = false
        /// Why nothing more is taken, although the file is not at fault.
        var excess: MediaError?
        var isEnding = false
    }

    /// Opens the file. It is called on the thread of the recorder.
    typealias Opener = @Sendable () throws(MediaError) -> any OutputSink

    private let state: Mutex<State>
    private let open: Opener
    private let mostQueued: Int
    private let wake = DispatchSemaphore(value: 0)
    private let ended = DispatchGroup()

    /// As much as an output of the stream keeps.
    private static let mostQueued = 64 << 20

    /// Makes a recorder that has not begun.
    convenience init(_ recording: Recording) {
        var options = recording.options
        options.isRescuable = true
        self.init(path: recording.path) { [options] () throws(MediaError) in
            try MediaSink(path: recording.path, options: options)
        }
    }

    /// - Parameter mostQueued: The number of coded bytes that wait for the disk at most.
    init(path: String, mostQueued: Int = StreamRecorder.mostQueued, open: @escaping Opener) {
        (self.open, self.mostQueued) = (open, mostQueued)
        state = Mutex(State(status: RecordingStatus(path: path)))
    }

    /// The present status. Safe on any thread.
    var status: RecordingStatus { state.withLock { $0.status } }

    /// Begins to write what is added.
    func start() {
        ended.enter()
        do throws(MediaError) {
            try PlainThread.start(name: "vt-record") { [self] in
                run()
                ended.leave()
            }
        } catch {
            fail(error)
            ended.leave()
        }
    }

    /// Passes something to the file. It never waits.
    func add(_ step: Step) {
        let mostQueued = mostQueued
        state.withLock { state in
            guard state.status.state.error == nil, state.excess == nil, !state.isEnding else { return }
            guard state.status.queuedBytes + step.byteCount <= mostQueued else {
                state.excess = MediaError(
                    .inputOutput,
                    "the disk is too slow for the recording",
                    given: "\(Readable.byteCount(Int64(state.status.queuedBytes))) wait for it",
                    allowed: "up to \(Readable.byteCount(Int64(mostQueued)))"
                )
                return
            }
            state.hasMedia = state.hasMedia || step.byteCount > 0
            state.status.queuedBytes += step.byteCount
            state.steps.append(step)
        }
        wake.signal()
    }

    /// Completes the file with what was added. It does not wait for that.
    func beginFinish() {
        state.withLock { $0.isEnding = true }
        wake.signal()
    }

    /// Completes the file with what was added, and waits for that.
    func finish() {
        beginFinish()
        ended.wait()
    }

    /// Completes the file with what was added, and waits for that, also if the task is cancelled.
    func finish() async {
        beginFinish()
        await withCheckedContinuation { continuation in
            ended.notify(queue: .global()) { continuation.resume() }
        }
    }

    // MARK: - The thread

    private func run() {
        do throws(MediaError) {
            // A stream that ends before its first picture leaves no file.
            guard hasBegun() else { return }
            let sink = try open()
            state.withLock {
                $0.status.state = .recording
                $0.status.temporaryPath = sink.temporaryPath
            }
            do throws(MediaError) {
                while let steps = next() {
                    for step in steps { try write(step, to: sink) }
                }
                let summary = try sink.finish()
                state.withLock { state in
                    state.status.file = summary
                    state.status.temporaryPath = nil
                    state.status.state = state.excess.map { .failed($0) } ?? .finished
                }
            } catch {
                // Discards it if nothing is whole.
                let file = sink.rescue()
                state.withLock { state in
                    state.status.file = file
                    state.status.temporaryPath = sink.keptPath
                }
                throw error.naming(keptPath: sink.keptPath)
            }
        } catch {
            fail(error)
        }
    }

    /// Waits for the first picture or sound.
    private func hasBegun() -> Bool {
        while true {
            let (hasMedia, isEnding) = state.withLock { ($0.hasMedia, $0.isEnding) }
            if hasMedia || isEnding { return hasMedia }
            wake.wait()
        }
    }

    /// Waits for the next steps.
    ///
    /// - Returns: `nil` at the end.
    private func next() -> [Step]? {
        while true {
            let (steps, isOver) = state.withLock { state in
                defer { state.steps = [] }
                return (state.steps, state.isEnding || state.excess != nil)
            }
            if !steps.isEmpty { return steps }
            if isOver { return nil }
            wake.wait()
        }
    }

    private func write(_ step: Step, to sink: any OutputSink) throws(MediaError) {
        var end = MediaTime.zero
        var pictures = 0
        switch step {
        case .omitVideo: try sink.omitVideo()
        case .track(let track):
            guard case .refused(let reason) = try sink.addTrack(track) else { break }
            throw MediaError(.unsupported, reason, given: track.codecName)
        case .prepareForSwitches: sink.prepareForSwitches()
        case .picture(let sample):
            try sink.write(sample)
            end = sample.presentationTime + (sample.duration.isValid ? sample.duration : .zero)
            pictures = sample.isDropped ? 0 : 1
        case .packet(let packet):
            try sink.write(packet)
            end = packet.presentationTime
        }
        state.withLock { state in
            state.status.queuedBytes -= step.byteCount
            state.status.codedBytes += Int64(step.byteCount)
            state.status.pictures += pictures
            state.status.duration = max(state.status.duration, end)
        }
    }

    private func fail(_ error: MediaError) {
        state.withLock { state in
            state.status.state = .failed(error)
            state.status.queuedBytes = 0
            state.steps = []
        }
    }
}
