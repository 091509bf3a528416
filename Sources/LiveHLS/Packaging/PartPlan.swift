// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import MediaTypes
internal import Streaming

/// The durations of parts: rfc8216bis 4.4.4.9.
///
/// A part of the leading track has as many samples as come nearest to the wanted duration. Parts of audio end with the
/// first packet at or after the end of one of the leading track, so they can be longer by less than a packet. The
/// announced target is the longest of all.
struct PartPlan: Hashable {
    /// The longest part of the leading track; `nil` without parts.
    let limit: MediaTime?
    /// The part target that playlists state; `nil` without parts.
    let announced: MediaTime?
    /// The usual duration of a sample of the leading track.
    let step: MediaTime

    /// - Parameters:
    ///   - part: The wanted duration; `nil` for no parts.
    ///   - step: The usual duration of a sample of the leading track.
    ///   - packets: The durations of the packets of the other tracks.
    init(part: MediaTime?, step: MediaTime, packets: [MediaTime]) {
        self.step = step
        guard let part else {
            (limit, announced) = (nil, nil)
            return
        }
        let count = max((part.seconds / max(step.seconds, 1e-6)).rounded(), 1)
        let whole = step * Int64(count)
        // Times are rounded, and those of a device jitter.
        let quarter = MediaTime(value: Int64(step.seconds * 250_000), timescale: 1_000_000)
        let fiftieth = MediaTime(value: Int64(whole.seconds * 20_000), timescale: 1_000_000)
        let limit = whole + min(quarter, fiftieth)
        self.limit = limit
        announced = packets.reduce(limit) { longest, packet in
            let needed = packet * Int64((limit.seconds / max(packet.seconds, 1e-6)).rounded(.up))
            return max(longest, needed.isValid ? needed : longest)
        }
    }

    /// Plans for the tracks of a stream.
    init(_ options: HLSOptions, _ tracks: LiveTracks) {
        var packets = tracks.audio.map(\.packetDuration)
        let step: MediaTime
        if tracks.video != nil {
            let rate = tracks.frameRate.flatMap { $0.isPositive ? $0 : nil }
            step = rate.map { MediaTime(value: Int64($0.denominator), timescale: $0.numerator) } ?? Self.usualStep
        } else {
            step = packets.isEmpty ? Self.usualStep : packets.removeFirst()
        }
        self.init(part: options.part, step: step, packets: packets)
    }

    /// Of pictures whose rate is not known.
    static let usualStep = MediaTime(value: 1, timescale: 30)
}

extension AudioStreamDescription {
    /// The usual duration of a packet.
    var packetDuration: MediaTime {
        let frames = framesPerPacket > 0 ? framesPerPacket : (codecName == "ac3" || codecName == "eac3" ? 1536 : 1024)
        return MediaTime(value: Int64(frames), timescale: Int32(clamping: max(sampleRate, 1)))
    }
}
