// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import MediaIO
internal import MediaTypes

/// One rendition of the video on its way to the outputs that take it, with the audio.
struct FanOutLane: Sendable {
    var hasVideo = true
    private(set) var hasStarted = false

    private let outputs: [LiveOutput]
    private let frameRate: Rational?
    private let bitRate: Int?
    private var interleaver = Interleaver(tracks: 1)
    /// Audio that comes before the first picture.
    private var early: [LiveUnit] = []
    private var count = 0
    private var byteCount: Int64 = 0
    private var first: MediaTime?
    private var last = MediaTime.zero

    init(_ outputs: [LiveOutput], frameRate: Rational?, bitRate: Int?) {
        (self.outputs, self.frameRate, self.bitRate) = (outputs, frameRate, bitRate)
    }

    /// Passes a picture on.
    ///
    /// - Parameter audio: The tracks of the audio.
    mutating func add(_ sample: SampleBuffer, _ audio: [AudioStreamDescription]) {
        guard !sample.isDropped else { return }
        start(sample.formatDescription, audio)
        count += 1
        pass(.video(sample), track: 0)
        first = min(first ?? sample.presentationTime, sample.presentationTime)
        last = max(last, sample.presentationTime)
    }

    /// Passes a packet of audio on.
    mutating func add(_ sample: AudioSample, track: Int, _ audio: [AudioStreamDescription]) {
        let unit = LiveUnit.audio(sample, track: track)
        guard hasStarted || !hasVideo else {
            // Without a picture, receivers would get a stream that has none.
            early.append(unit)
            if early.count > Self.mostEarly { early.removeFirst() }
            return
        }
        start(nil, audio)
        pass(unit, track: track + (hasVideo ? 1 : 0))
    }

    /// Some seconds of audio, which waits for the first picture.
    private static let mostEarly = 512

    /// Passes what is left.
    mutating func finish() {
        for unit in interleaver.finish() { passOn(unit) }
    }

    private mutating func start(_ video: FormatDescription?, _ audio: [AudioStreamDescription]) {
        guard !hasStarted else { return }
        hasStarted = true
        interleaver = Interleaver(tracks: audio.count + (hasVideo ? 1 : 0))
        let description = LiveTracks(video: video, frameRate: frameRate, videoBitRate: bitRate, audio: audio)
        for output in outputs { output.start(description) }
        for unit in early { if case .audio(_, let track) = unit { pass(unit, track: track + 1) } }
        early = []
    }

    private mutating func pass(_ unit: LiveUnit, track: Int) {
        byteCount += Int64(unit.byteCount)
        for unit in interleaver.add(unit, track: track, at: LiveOutput.now) { passOn(unit) }
    }

    private func passOn(_ unit: LiveUnit) { for output in outputs { output.enqueue(unit) } }

    /// What has passed.
    var summary: MediaSink.Summary {
        MediaSink.Summary(byteCount: byteCount, sampleCount: count, duration: duration)
    }

    /// From the first picture to the end of the last one, which is shown as long as the others on average.
    private var duration: MediaTime {
        guard let first, count > 1 else { return .zero }
        let shown = last - first
        return shown + .rational(shown.value, numerator: 1, denominator: Int64(shown.timescale) * Int64(count - 1))
    }
}
