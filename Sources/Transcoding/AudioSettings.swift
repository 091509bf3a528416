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

    /// Makes the default settings: all tracks, copied where possible.
    public init(rule: Rule = .automatic, tracks: [Int]? = nil) {
        self.rule = rule
        self.tracks = tracks
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
}
