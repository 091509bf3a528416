// SPDX-License-Identifier: GPL-2.0-or-later

public import AudioCoding
internal import MediaIO
internal import MediaTypes

/// What a transcode does with the audio tracks of the input.
public struct AudioSettings: Sendable, Hashable {
    /// The treatment of the tracks.
    public enum Rule: Sendable, Hashable {
        /// A track is copied if the container supports its codec; otherwise it is encoded as AAC.
        case automatic
        /// Tracks are copied; those that the container does not support are omitted.
        case copy
        /// Tracks are decoded and encoded again.
        case encode(AudioEncoderSettings)
        /// The output has no audio.
        case omit
    }

    /// The treatment of the tracks.
    public var rule = Rule.automatic
    /// The tracks of the output by their number among the audio tracks of the input, from 1, in order; `nil` means all.
    public var tracks: [Int]?
    /// The loudness to which each track is brought by one constant gain, in two passes: the first one measures the track
    /// as it is heard in the output. Only with ``Rule/encode(_:)`` without a gain of its own, and an input that is a
    /// regular file. `nil` leaves the loudness as it is.
    public var loudness: LoudnessTarget?

    /// Makes the default settings: all tracks, copied where possible.
    public init(rule: Rule = .automatic, tracks: [Int]? = nil) {
        self.rule = rule
        self.tracks = tracks
    }

    /// Checks what can be checked without the input.
    ///
    /// - Throws: `invalidArgument` if a loudness is out of range, or does not go together with the rule or the input.
    func validate(input: String, isFile: Bool) throws(MediaError) {
        guard let loudness else { return }
        try loudness.validate()
        guard case .encode(let encoder) = rule, encoder.gain == 0 else {
            throw MediaError(
                .invalidArgument,
                "loudness can only be normalized when audio is encoded, and without another gain",
                allowed: "an audio codec, and no gain"
            )
        }
        guard isFile else {
            throw MediaError(
                .invalidArgument,
                "loudness is measured in a first pass, and this input can be read only once",
                given: input,
                allowed: "a regular file",
                remedies: [
                    "save the input to a file first, and pass the file by name",
                    "set a constant gain instead: --audio-gain",
                ]
            )
        }
    }

    /// Returns the tracks of the output: the selected audio tracks in their order, and all other tracks.
    ///
    /// - Throws: `invalidArgument` if a selected track does not exist or is selected twice.
    func selection(of all: [MediaTrack]) throws(MediaError) -> [MediaTrack] {
        let audio = all.filter { $0.kind == .audio }
        let others = all.filter { $0.kind != .audio }
        if rule == .omit { return others }
        guard let tracks else { return all }
        for (position, number) in tracks.enumerated()
        where !(1...max(audio.count, 1)).contains(number) || audio.isEmpty || tracks[..<position].contains(number) {
            throw MediaError(
                .invalidArgument,
                "the selection of audio tracks is not possible",
                given: tracks.map { "\($0)" }.joined(separator: ","),
                allowed: audio.isEmpty ? "none, the input has no audio" : "1 to \(audio.count), each once"
            )
        }
        return tracks.map { audio[$0 - 1] } + others
    }
}

/// An audio track of an output.
public struct AudioOutcome: Sendable, Hashable {
    /// The index of the stream in the input.
    public var index: Int
    /// The codec in the input, by FFmpeg's name.
    public var inputCodec: String
    /// The stream in the output.
    public var output: AudioStreamDescription
    /// Whether the track was encoded again rather than copied.
    public var isEncoded: Bool
    /// The gain in dB; 0 if the level was not changed.
    public var gain = 0.0
    /// How the loudness was normalized, if that was requested.
    public var loudness: LoudnessOutcome?
}

/// How the loudness of a track was normalized.
public struct LoudnessOutcome: Sendable, Hashable {
    /// What was requested.
    public var target: LoudnessTarget
    /// The loudness before, in the layout of the output.
    public var measured: Loudness
    /// The gain in dB; `nil` if the track is silent and was not changed.
    public var gain: Double?
    /// Whether the limit of the true peak has reduced the gain.
    public var isLimited: Bool

    init(_ target: LoudnessTarget, _ measured: Loudness) {
        self.target = target
        self.measured = measured
        let result = target.gain(for: measured)
        gain = result?.decibels
        isLimited = result?.isLimited ?? false
    }

    /// How the result differs from the request.
    ///
    /// - Parameter track: The index of the stream in the input.
    func adjustments(track: Int) -> [Adjustment] {
        let property = "loudness of audio track \(track)"
        let requested = "\(Readable.number(target.integrated, places: 1)) LUFS"
        guard let gain, let loudness = measured.integrated else {
            return [
                Adjustment(property: property, requested: requested, used: "unchanged", reason: "the track is silent")
            ]
        }
        guard isLimited else { return [] }
        return [
            Adjustment(
                property: property,
                requested: requested,
                used: "\(Readable.number(loudness + gain, places: 1)) LUFS",
                reason: "its true peak would exceed \(Readable.number(target.truePeak, places: 1)) dBTP"
            )
        ]
    }
}
