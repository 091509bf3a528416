// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import AudioCoding
import CommandLineSupport
import MediaTypes
import Transcoding

/// What happens to audio.
struct AudioArguments: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "auto: copy, or encode as AAC if the container does not support the codec; copy: copy only; none: no audio; "
                + "aac, opus, flac, pcm: encode all tracks (default: auto).",
            valueName: "codec"
        )
    )
    var audio: ArgumentText<AudioChoice>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Bitrate of AAC or Opus for all channels, such as 128k (default: 64k per channel).",
            valueName: "rate"
        )
    )
    var audioBitrate: ArgumentText<BitRate>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Sample rate in Hz, rounded to the nearest rate of the codec (default: the input's).",
            valueName: "rate"
        )
    )
    var audioRate: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Channels: \(ChannelLayout.completions.joined(separator: ", ")) (default: the input's).",
            valueName: "layout"
        )
    )
    var audioChannels: ArgumentText<ChannelLayout>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Constant gain in dB: -100 to 100, such as -3 or 6; not with --audio-loudness (default: none).",
            valueName: "dB"
        )
    )
    var audioGain: ArgumentText<SignedNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Integrated loudness of each track in LUFS: -70 to 0, such as -23 (EBU R128). It is measured first, so the "
                + "input must be a file; then one constant gain is applied (default: unchanged).",
            valueName: "LUFS"
        )
    )
    var audioLoudness: ArgumentText<SignedNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The highest true peak in dBTP, which limits the gain of --audio-loudness (default: -1).",
            valueName: "dBTP"
        )
    )
    var audioTruePeak: ArgumentText<SignedNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Audio tracks to keep, in output order: 1 is the input's first audio track, such as 2,1 (default: all).",
            valueName: "numbers"
        )
    )
    var audioTracks: ArgumentText<TrackNumbers>?

    /// Returns the settings.
    ///
    /// - Throws: `invalidArgument` for invalid values and contradictory options.
    func settings() throws(MediaError) -> AudioSettings {
        let choice = try audio?.value(of: "--audio") ?? .automatic
        var settings = AudioSettings(rule: choice.rule)
        settings.tracks = try audioTracks?.value(of: "--audio-tracks").numbers
        if choice == .none, audioTracks != nil { throw contradiction("--audio none", "--audio-tracks") }
        guard case .encode(var encoder) = settings.rule else {
            let needy = [
                ("--audio-bitrate", audioBitrate?.text), ("--audio-rate", audioRate?.text),
                ("--audio-channels", audioChannels?.text), ("--audio-gain", audioGain?.text),
                ("--audio-loudness", audioLoudness?.text), ("--audio-true-peak", audioTruePeak?.text),
            ].first { $0.1 != nil }
            guard let needy, let text = needy.1 else { return settings }
            throw MediaError(
                .invalidArgument,
                "\(needy.0) needs a codec to encode with",
                given: "\(needy.0) \(text)",
                allowed: "with --audio \(AudioCodec.allCases.map(\.rawValue).joined(separator: ", "))"
            )
        }
        encoder.bitRate = try audioBitrate?.value(of: "--audio-bitrate").bitsPerSecond
        encoder.sampleRate = try audioRate?.value(of: "--audio-rate").value
        encoder.layout = try audioChannels?.value(of: "--audio-channels")
        if let gain = try audioGain?.value(of: "--audio-gain").value { encoder.gain = gain }
        settings.loudness = try loudness()
        settings.rule = .encode(encoder)
        return settings
    }

    private func loudness() throws(MediaError) -> LoudnessTarget? {
        guard let audioLoudness else {
            guard let audioTruePeak else { return nil }
            throw MediaError(
                .invalidArgument,
                "--audio-true-peak needs --audio-loudness",
                given: "--audio-true-peak \(audioTruePeak.text)",
                allowed: "with --audio-loudness"
            )
        }
        if audioGain != nil { throw contradiction("--audio-loudness", "--audio-gain") }
        var target = LoudnessTarget(integrated: try audioLoudness.value(of: "--audio-loudness").value)
        if let peak = try audioTruePeak?.value(of: "--audio-true-peak").value { target.truePeak = peak }
        return target
    }
}

/// The values of `--audio`.
enum AudioChoice: ArgumentValue, Hashable {
    case automatic, copy, none
    case codec(AudioCodec)

    init?(argument text: String) {
        switch text {
        case "auto": self = .automatic
        case "copy": self = .copy
        case "none": self = .none
        default:
            guard let codec = AudioCodec(rawValue: text) else { return nil }
            self = .codec(codec)
        }
    }

    static let completions = ["auto", "copy", "none"] + AudioCodec.allCases.map(\.rawValue)
    static var allowedText: String { completions.joined(separator: ", ") }

    fileprivate var rule: AudioSettings.Rule {
        switch self {
        case .automatic: .automatic
        case .copy: .copy
        case .none: .omit
        case .codec(let codec): .encode(AudioEncoderSettings(codec))
        }
    }
}

extension ChannelLayout: ArgumentValue {
    init?(argument text: String) { self.init(name: text) }

    static var completions: [String] { named.map(\.name) }
    static var allowedText: String { completions.joined(separator: ", ") }
}

/// Numbers of tracks.
struct TrackNumbers: ArgumentValue {
    let numbers: [Int]

    init?(argument text: String) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { DecimalNumber($0)?.wholeValue }
        guard numbers.count == parts.count else { return nil }
        self.numbers = numbers
    }

    static let allowedText = "numbers separated by commas, such as 1 or 2,1"
}
