// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
package import MediaIO
package import MediaTypes
internal import Synchronization

/// Passes coded video and audio to all outputs of a live stream. It never waits for any of them.
///
/// One thread writes; the rest is safe on any thread.
package final class LiveFanOut: OutputSink {
    /// The outputs, and what has passed to them, for other threads.
    package final class Outputs: Sendable {
        fileprivate struct State {
            var audioBytes = AudioRate()
        }

        /// The outputs.
        package let all: [LiveOutput]
        fileprivate let state = Mutex(State())

        /// Makes a list of outputs that have not begun.
        package init(_ all: [LiveOutput]) { self.all = all }

        /// Whether an output cannot show pictures before the next key frame.
        package var needKeyFrame: Bool { all.contains(where: \.needsKeyFrame) }

        /// The rate of the audio, in bit/s.
        package var audioRate: Double { state.withLock { $0.audioBytes.bitsPerSecond } }
    }

    private let outputs: Outputs
    private let frameRate: Rational?
    private let bitRate: Int?
    private var tracks: [MediaTrack] = []
    private var hasVideo = true
    private var hasStarted = false
    private var interleaver = Interleaver(tracks: 1)
    /// Audio that comes before the first picture.
    private var early: [LiveUnit] = []
    private var count = 0
    private var byteCount: Int64 = 0
    private var first: MediaTime?
    private var last = MediaTime.zero

    /// Makes a fan-out to outputs that have not begun.
    ///
    /// - Parameters:
    ///   - frameRate: The frame rate in frames per second, if it is constant.
    ///   - bitRate: The intended bitrate of the video in bit/s.
    package init(_ outputs: Outputs, frameRate: Rational?, bitRate: Int?) {
        (self.outputs, self.frameRate, self.bitRate) = (outputs, frameRate, bitRate)
    }

    package var takesAudio: Bool { true }
    package var temporaryPath: String? { nil }

    package func omitVideo() throws(MediaError) { hasVideo = false }

    package func addTrack(_ track: MediaTrack) throws(MediaError) -> MediaSink.Acceptance {
        guard !hasStarted else {
            throw MediaError(.invalidState, "the stream has already begun; add tracks before the first sample")
        }
        guard track.audio != nil else {
            return .refused(reason: "live streams do not carry \(track.kind.rawValue)")
        }
        tracks.append(track)
        return .accepted
    }

    package func setChapters(_ chapters: [Chapter]) throws(MediaError) -> MediaSink.Acceptance {
        .refused(reason: "live streams have no chapters")
    }

    package func setMetadata(_ metadata: [String: String]) throws(MediaError) -> MediaSink.Acceptance {
        .refused(reason: "live streams have no metadata of their file")
    }

    package func prepareForSwitches() {}

    package func write(_ sample: SampleBuffer) throws(MediaError) {
        guard !sample.isDropped else { return }
        try start(sample.formatDescription)
        count += 1
        pass(.video(sample), track: 0)
        first = min(first ?? sample.presentationTime, sample.presentationTime)
        last = max(last, sample.presentationTime)
    }

    package func write(_ packet: MediaPacket) throws(MediaError) {
        guard let index = tracks.firstIndex(where: { $0 === packet.track }) else {
            throw MediaError(
                .invalidArgument,
                "the packet's track was not added to the output",
                given: "track \(packet.track.index) (\(packet.track.codecName))"
            )
        }
        let sample = try packet.audioSample()
        outputs.state.withLock { $0.audioBytes.add(sample) }
        let unit = LiveUnit.audio(sample, track: index)
        guard hasStarted || !hasVideo else {
            // Without a picture, receivers would get a stream that has none.
            early.append(unit)
            if early.count > Self.mostEarly { early.removeFirst() }
            return
        }
        try start(nil)
        pass(unit, track: index + (hasVideo ? 1 : 0))
    }

    /// Some seconds of audio, which waits for the first picture.
    private static let mostEarly = 512

    private func start(_ video: FormatDescription?) throws(MediaError) {
        guard !hasStarted else { return }
        hasStarted = true
        let audio = tracks.compactMap(\.audio)
        interleaver = Interleaver(tracks: audio.count + (hasVideo ? 1 : 0))
        let description = LiveTracks(video: video, frameRate: frameRate, videoBitRate: bitRate, audio: audio)
        for output in outputs.all { output.start(description) }
        for unit in early { if case .audio(_, let track) = unit { pass(unit, track: track + 1) } }
        early = []
    }

    private func pass(_ unit: LiveUnit, track: Int) {
        byteCount += Int64(unit.byteCount)
        for unit in interleaver.add(unit, track: track, at: LiveOutput.now) { passOn(unit) }
    }

    private func passOn(_ unit: LiveUnit) { for output in outputs.all { output.enqueue(unit) } }

    package func complete() throws(MediaError) {}

    /// Passes what is left, and ends the outputs.
    ///
    /// - Throws: The error of the outputs if none of them has ended as asked.
    package func finish() throws(MediaError) -> MediaSink.Summary {
        for unit in interleaver.finish() { passOn(unit) }
        for output in outputs.all { output.beginFinish() }
        let deadlines = outputs.all.map(\.deadline)
        for (output, deadline) in zip(outputs.all, deadlines) { output.finish(by: deadline) }
        if let error = outputs.failure { throw error }
        return MediaSink.Summary(byteCount: byteCount, sampleCount: count, duration: duration)
    }

    /// From the first picture to the end of the last one, which is shown as long as the others on average.
    private var duration: MediaTime {
        guard let first, count > 1 else { return .zero }
        let shown = last - first
        return shown + .rational(shown.value, numerator: 1, denominator: Int64(shown.timescale) * Int64(count - 1))
    }

    package func abort() { for output in outputs.all { output.abort() } }
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
