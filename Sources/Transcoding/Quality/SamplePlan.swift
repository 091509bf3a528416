// SPDX-License-Identifier: GPL-2.0-or-later

/// A part of the input that is encoded to find a quality, in seconds of the part that is encoded in the end.
struct InputSample: Sendable, Hashable {
    var start: Double
    var duration: Double
}

/// Which parts of an input stand for the whole: an input of up to 8 s is one sample; otherwise there are 3 to 12
/// samples of 2 s, about one in 5 s, each in the middle of one of as many equal parts.
enum SamplePlan {
    /// The longest input that is one sample, in seconds.
    static let longestWhole = 8.0
    /// The duration of the others, in seconds.
    static let sampleDuration = 2.0
    private static let distance = 5.0
    private static let counts = 3...12

    /// Returns the samples of an input.
    ///
    /// - Parameter duration: Its duration in seconds, above 0.
    static func samples(of duration: Double) -> [InputSample] {
        guard duration > longestWhole else { return [InputSample(start: 0, duration: duration)] }
        let wanted = (duration / distance).rounded(.up)
        let count = Int(min(max(wanted, Double(counts.lowerBound)), Double(counts.upperBound)))
        let part = duration / Double(count)
        return (0..<count).map { number in
            InputSample(start: (Double(number) + 0.5) * part - sampleDuration / 2, duration: sampleDuration)
        }
    }
}

/// What a sample became.
struct CodedSample: Sendable, Hashable {
    /// Seconds of the sample, above 0.
    var duration: Double
    /// Bytes of coded video.
    var byteCount: Int
    /// Those of its first picture, which is a key frame in any case.
    var keyFrameByteCount: Int
    /// Seconds that decoding and encoding took.
    var time: Double
}

/// What coded samples tell about the whole.
struct SizePrediction: Sendable, Hashable {
    /// Bytes of coded video.
    let byteCount: Int
    /// Seconds that decoding and encoding take.
    let time: Double

    /// Predicts an encode.
    ///
    /// Each sample begins with a key frame; the whole has one per interval and not one every few seconds. So key frames
    /// and all other pictures are counted separately.
    ///
    /// - Parameters:
    ///   - samples: The samples.
    ///   - duration: Seconds of the whole.
    ///   - keyFrameInterval: Seconds between key frames; `nil` for a single one.
    init(_ samples: [CodedSample], duration: Double, keyFrameInterval: Double?) {
        let seconds = samples.reduce(0) { $0 + $1.duration }
        guard seconds > 0, duration > 0 else {
            (byteCount, time) = (0, 0)
            return
        }
        let keyFrames = samples.reduce(0) { $0 + Double($1.keyFrameByteCount) }
        let others = samples.reduce(0) { $0 + Double($1.byteCount) } - keyFrames
        let mean = seconds / Double(samples.count)
        let isWhole = samples.count == 1 && seconds >= duration * 0.99
        // Within a sample, key frames at shorter intervals are among its other pictures.
        let interval = keyFrameInterval.map { max($0, mean) } ?? duration
        let count = isWhole ? 1 : max(duration / interval, 1)
        let bytes = others * duration / seconds + keyFrames / Double(samples.count) * count
        byteCount = Int(exactly: bytes.rounded()) ?? .max
        time = samples.reduce(0) { $0 + $1.time } * duration / seconds
    }
}
