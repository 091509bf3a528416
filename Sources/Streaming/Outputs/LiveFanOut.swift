// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
package import MediaIO
package import MediaTypes
internal import Synchronization

/// Passes coded video and audio to all outputs of a live stream. It never waits for any of them.
///
/// The video may have several renditions, each of which one thread writes: the first one to the fan-out itself, which also
/// gets the audio, and the others to ``branch(_:)``. Each output takes one rendition. All renditions share the audio.
package final class LiveFanOut: OutputSink, Sendable {
    /// The outputs, and what has passed to them, for other threads.
    package final class Outputs: Sendable {
        fileprivate struct State {
            var audioBytes = AudioRate()
        }

        /// The outputs.
        package let all: [LiveOutput]
        /// The number of the rendition that each of them takes.
        package let renditions: [Int]
        fileprivate let state = Mutex(State())

        /// Makes a list of outputs that have not begun.
        ///
        /// - Parameter renditions: The number of the rendition that each of them takes; `nil` if there is one.
        package init(_ all: [LiveOutput], renditions: [Int]? = nil) {
            (self.all, self.renditions) = (all, renditions ?? all.map { _ in 0 })
        }

        /// Whether an output cannot show pictures before the next key frame.
        package var needKeyFrame: Bool { all.contains(where: \.needsKeyFrame) }

        /// The rate of the audio, in bit/s.
        package var audioRate: Double { state.withLock { $0.audioBytes.bitsPerSecond } }

        /// The outputs that take a rendition.
        package func taking(_ rendition: Int) -> [LiveOutput] {
            zip(all, renditions).filter { $0.1 == rendition }.map(\.0)
        }
    }

    private struct State {
        var tracks: [MediaTrack] = []
        var lanes: [FanOutLane]
    }

    private let outputs: Outputs
    private let state: Mutex<State>

    /// Makes a fan-out to outputs that have not begun.
    ///
    /// - Parameters:
    ///   - frameRate: The frame rate in frames per second, if it is constant.
    ///   - bitRates: The intended bitrate of the video of each rendition in bit/s.
    package init(_ outputs: Outputs, frameRate: Rational?, bitRates: [Int?]) {
        self.outputs = outputs
        let lanes = bitRates.enumerated().map { number, bitRate in
            FanOutLane(outputs.taking(number), frameRate: frameRate, bitRate: bitRate)
        }
        state = Mutex(State(lanes: lanes))
    }

    package var takesAudio: Bool { true }
    package var temporaryPath: String? { nil }

    /// The sink of another rendition than the first one. Its end is that of the fan-out.
    package func branch(_ rendition: Int) -> any OutputSink { Branch(self, rendition) }

    package func omitVideo() throws(MediaError) {
        state.withLock { state in for index in state.lanes.indices { state.lanes[index].hasVideo = false } }
    }

    package func addTrack(_ track: MediaTrack) throws(MediaError) -> MediaSink.Acceptance {
        guard track.audio != nil else {
            return .refused(reason: "live streams do not carry \(track.kind.rawValue)")
        }
        let hasStarted = state.withLock { state in
            let hasStarted = state.lanes.contains(where: \.hasStarted)
            if !hasStarted { state.tracks.append(track) }
            return hasStarted
        }
        guard !hasStarted else {
            throw MediaError(.invalidState, "the stream has already begun; add tracks before the first sample")
        }
        return .accepted
    }

    package func setChapters(_ chapters: [Chapter]) throws(MediaError) -> MediaSink.Acceptance {
        .refused(reason: "live streams have no chapters")
    }

    package func setMetadata(_ metadata: [String: String]) throws(MediaError) -> MediaSink.Acceptance {
        .refused(reason: "live streams have no metadata of their file")
    }

    package func prepareForSwitches() {}

    package func write(_ sample: SampleBuffer) throws(MediaError) { write(sample, of: 0) }

    fileprivate func write(_ sample: SampleBuffer, of rendition: Int) {
        state.withLock { $0.lanes[rendition].add(sample, $0.tracks.compactMap(\.audio)) }
    }

    package func write(_ packet: MediaPacket) throws(MediaError) {
        guard let index = state.withLock({ $0.tracks.firstIndex { $0 === packet.track } }) else {
            throw MediaError(
                .invalidArgument,
                "the packet's track was not added to the output",
                given: "track \(packet.track.index) (\(packet.track.codecName))"
            )
        }
        let sample = try packet.audioSample()
        outputs.state.withLock { $0.audioBytes.add(sample) }
        state.withLock { state in
            let audio = state.tracks.compactMap(\.audio)
            for lane in state.lanes.indices { state.lanes[lane].add(sample, track: index, audio) }
        }
    }

    package func complete() throws(MediaError) {}

    /// Passes what is left, and ends the outputs.
    ///
    /// - Throws: The error of the outputs if none of them has ended as asked.
    package func finish() throws(MediaError) -> MediaSink.Summary {
        state.withLock { state in for index in state.lanes.indices { state.lanes[index].finish() } }
        for output in outputs.all { output.beginFinish() }
        let deadlines = outputs.all.map(\.deadline)
        for (output, deadline) in zip(outputs.all, deadlines) { output.finish(by: deadline) }
        if let error = outputs.failure { throw error }
        return summary(of: 0)
    }

    fileprivate func summary(of rendition: Int) -> MediaSink.Summary {
        state.withLock { $0.lanes[rendition].summary }
    }

    package func abort() { for output in outputs.all { output.abort() } }

    /// The sink of a rendition without audio.
    private final class Branch: OutputSink {
        private let fanOut: LiveFanOut
        private let rendition: Int

        init(_ fanOut: LiveFanOut, _ rendition: Int) { (self.fanOut, self.rendition) = (fanOut, rendition) }

        var takesAudio: Bool { false }
        var temporaryPath: String? { nil }

        func omitVideo() throws(MediaError) {
            throw MediaError(.unsupported, "a rendition of the video needs video")
        }

        func addTrack(_ track: MediaTrack) throws(MediaError) -> MediaSink.Acceptance {
            .refused(reason: "the audio belongs to the first rendition")
        }

        func setChapters(_ chapters: [Chapter]) throws(MediaError) -> MediaSink.Acceptance {
            try fanOut.setChapters(chapters)
        }

        func setMetadata(_ metadata: [String: String]) throws(MediaError) -> MediaSink.Acceptance {
            try fanOut.setMetadata(metadata)
        }

        func prepareForSwitches() {}

        func write(_ sample: SampleBuffer) throws(MediaError) { fanOut.write(sample, of: rendition) }

        func write(_ packet: MediaPacket) throws(MediaError) {
            throw MediaError(.invalidArgument, "the audio belongs to the first rendition")
        }

        func complete() throws(MediaError) {}

        func finish() throws(MediaError) -> MediaSink.Summary { fanOut.summary(of: rendition) }

        /// Without one of its renditions, the stream cannot go on.
        func abort() { fanOut.abort() }
    }
}

extension LiveFanOut.Outputs {
    /// The error of the first output, if every output has given up.
    package var failure: MediaError? {
        let errors = all.map { output -> MediaError? in
            if case .failed(let error) = output.status.state { error } else { nil }
        }
        return errors.contains { $0 == nil } ? nil : errors.first ?? nil
    }
}

/// The rate of the audio, of the packets of the last seconds.
private struct AudioRate {
    private var bytes = 0
    private var seconds = 0.0
    private var latest = 0.0

    mutating func add(_ sample: AudioSample) {
        guard sample.duration.isValid else { return }
        // Older packets count less and less.
        bytes = bytes * 99 / 100 + sample.data.count
        seconds = seconds * 0.99 + sample.duration.seconds
        latest = seconds > 0 ? Double(bytes) * 8 / seconds : 0
    }

    var bitsPerSecond: Double { latest }
}
