// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import Logging
import MediaIO
import MediaTimeline
import MediaTypes

/// The loudness of the audio tracks of an input, in the layouts of the outputs: the first of two passes.
///
/// Each track is read and decoded once, whatever the number of outputs. Outputs of the same layout share a measurement.
struct SoundLevels: Sendable {
    /// A track as an output has it. Mixing changes loudness and peak.
    struct Sound: Sendable, Hashable {
        /// The index of the stream in the input.
        var track: Int
        var layout: ChannelLayout
    }

    private let levels: [Sound: Loudness]

    /// The loudness of a sound; `nil` if it was not measured.
    subscript(sound: Sound) -> Loudness? { levels[sound] }

    /// Returns the sounds of which an output must know the loudness.
    static func sounds(of settings: AudioSettings, _ tracks: [MediaTrack]) -> Set<Sound> {
        guard settings.loudness != nil, case .encode(let encoder) = settings.rule,
            let selected = try? settings.selection(of: tracks)
        else { return [] }
        let sounds = selected.compactMap { track in
            track.audio?.decodedFormat.map { format in
                Sound(track: track.index, layout: encoder.outputLayout(for: format.layout))
            }
        }
        return Set(sounds)
    }

    /// Measures sounds, and blocks meanwhile.
    ///
    /// - Parameters:
    ///   - sounds: What to measure.
    ///   - path: The input, which is opened for this.
    ///   - options: How it is read; of the pictures, only the first one is decoded.
    ///   - end: The time at which the sound is cut.
    ///   - note: Gets the time up to which the input was read.
    /// - Throws: As `MediaSource`; `unsupported` if FFmpeg cannot decode a track.
    init(
        of sounds: Set<Sound>,
        path: String,
        options: MediaSource.Options,
        end: MediaTime?,
        logger: Logger?,
        cancellation: Cancellation,
        note: (MediaTime) -> Void
    ) throws(MediaError) {
        let source = try MediaSource(path: path, options: options, logger: logger, cancellation: cancellation)
        var tracks: [Int: MeasuredTrack] = [:]
        for track in source.tracks {
            let layouts = sounds.filter { $0.track == track.index }.map(\.layout)
            guard !layouts.isEmpty, let description = track.audio else { continue }
            tracks[track.index] = try MeasuredTrack(description, layouts, end: end, logger: logger)
        }
        source.readOnly(tracks: Set(tracks.keys))
        while let event = try source.next() {
            guard case .packet(let packet) = event, let track = tracks[packet.track.index] else { continue }
            try track.add(packet)
            if packet.presentationTime.isValid { note(packet.presentationTime) }
        }
        var levels: [Sound: Loudness] = [:]
        for (index, track) in tracks {
            try track.finish()
            for meter in track.meters { levels[Sound(track: index, layout: meter.layout)] = meter.loudness }
        }
        self.levels = levels
    }
}

/// A track that is decoded and measured, with gaps and overlaps as in the output.
private final class MeasuredTrack {
    private let decoder: AudioDecoder
    private var placement: AudioPlacement
    /// The number of frames that were measured, at the rate of the placement.
    private var position: Int64 = 0
    private(set) var meters: [LoudnessMeter]

    init(
        _ description: AudioStreamDescription,
        _ layouts: [ChannelLayout],
        end: MediaTime?,
        logger: Logger?
    ) throws(MediaError) {
        decoder = try AudioDecoder(description, logger: logger)
        placement = AudioPlacement(sampleRate: description.sampleRate, end: end, policy: .file)
        meters = layouts.map { LoudnessMeter(layout: $0) }
    }

    func add(_ packet: MediaPacket) throws(MediaError) { measure(try decoder.decode(packet.audioSample())) }

    func finish() throws(MediaError) { measure(try decoder.finish()) }

    private func measure(_ buffers: [AudioBuffer]) {
        for buffer in buffers { measure(buffer) }
    }

    private func measure(_ buffer: AudioBuffer) {
        let (own, placed) = (buffer.format.sampleRate, placement.sampleRate)
        var range = 0..<buffer.frameCount
        let steps = placement.place(
            at: buffer.presentationTime,
            count: Self.convert(buffer.frameCount, from: own, to: placed),
            position: position,
            followsLoss: buffer.followsLoss
        )
        for step in steps {
            switch step {
            case .insertSilence(let count):
                position += Int64(count)
                let frames = min(Self.convert(count, from: placed, to: own), Self.longestSilence * own)
                for index in meters.indices { meters[index].appendSilence(frames, format: buffer.format) }
            case .skip(let count):
                let first = min(Self.convert(count, from: placed, to: own), range.upperBound)
                range = first..<range.upperBound
            case .limit(let count):
                range = range.prefix(Self.convert(count, from: placed, to: own))
            case .stretch: break
            }
        }
        for index in meters.indices { meters[index].append(buffer, frames: range) }
        position += Int64(Self.convert(range.count, from: own, to: placed))
    }

    /// Silence is below all gates, so that only its first seconds matter: they end the blocks of what precedes.
    private static let longestSilence = 4

    private static func convert(_ count: Int, from: Int, to: Int) -> Int {
        if from == to { return count }
        let time = MediaTime(value: Int64(count), timescale: Int32(clamping: from))
        return Int(clamping: time.converted(to: Int32(clamping: to)).value)
    }
}

extension TranscodeRequest {
    /// Returns the loudness of the tracks that an output normalizes, after a pass over the input if it is not known yet;
    /// `nil` if there are none.
    ///
    /// - Parameter note: Gets the time up to which the input was read.
    func measuredLevels(
        of contents: MediaReader.Contents,
        _ cancellation: Cancellation,
        note: @escaping @Sendable (MediaTime) -> Void
    ) async throws(MediaError) -> SoundLevels? {
        if let levels { return levels }
        // The variants of a presentation share the audio of the first one.
        let outputs = stream == nil ? outputs : [first]
        let sounds = Set(outputs.flatMap { SoundLevels.sounds(of: $0.audio, contents.tracks) })
        if sounds.isEmpty { return nil }
        return try await PlainThread.result(name: "vt-loudness") { () throws(MediaError) in
            try SoundLevels(
                of: sounds,
                path: input,
                options: demandedSource,
                end: source.duration,
                logger: logger,
                cancellation: cancellation,
                note: note
            )
        }
    }
}
