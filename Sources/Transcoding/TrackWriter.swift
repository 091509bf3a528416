// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import MediaIO
import MediaTypes

/// Writes the tracks of an output beside its video: copies their packets, or encodes their sound.
actor TrackWriter {
    /// The tracks that the output has.
    nonisolated let tracks: MediaWriter.Tracks
    private let writer: MediaWriter
    /// The packets that the output refused as damaged.
    private var losses = SourceProblems()
    /// The duration of the packets of each copied track in seconds.
    private var copiedDurations: [Int: Double] = [:]

    init(_ tracks: MediaWriter.Tracks, _ writer: MediaWriter) {
        self.tracks = tracks
        self.writer = writer
    }

    /// The indices of the tracks of the input that are written.
    nonisolated var indices: Set<Int> { tracks.copied.union(tracks.converted.keys) }

    /// Writes a packet, or what its track encodes.
    func take(_ packet: MediaPacket) async throws(MediaError) {
        if tracks.copied.contains(packet.track.index) {
            try await write(packet)
            copiedDurations[packet.track.index, default: 0] += packet.duration.seconds
        } else if let converter = tracks.converted[packet.track.index] {
            try await converter.send(packet)
            try await writeAll(of: converter)
        }
    }

    /// Ends the sound that is encoded.
    ///
    /// - Parameter end: The time until which silence follows; `nil` for none.
    func finish(silentUntil end: MediaTime?) async throws(MediaError) {
        for converter in tracks.converters {
            try await converter.sendEnd(silentUntil: end)
            try await writeAll(of: converter)
        }
    }

    /// Writes what a converter produces until it needs input.
    private func writeAll(of converter: AudioConverter) async throws(MediaError) {
        var packets = try await converter.next()
        while !packets.isEmpty {
            for packet in packets { try await write(packet) }
            if Task.isCancelled { throw MediaError(.cancelled, "the call was cancelled") }
            packets = try await converter.next()
        }
    }

    /// If a packet is too damaged for the container, only this packet is lost.
    private func write(_ packet: MediaPacket) async throws(MediaError) {
        do {
            try await writer.write(packet)
        } catch  where error.code == .malformedData {
            losses.noteLostPacket(error)
        }
    }

    /// What is wrong with the tracks, and how encoded ones differ from the request beside what ``tracks`` states; complete
    /// after ``finish(silentUntil:)``.
    var outcome: (problems: SourceProblems, adjustments: [Adjustment]) {
        get async {
            var (problems, adjustments): (SourceProblems, [Adjustment]) = (losses, [])
            for converter in tracks.converters {
                adjustments += await converter.timeAdjustments + converter.levelAdjustments
                let failures = await converter.failures
                if let first = failures.first { problems.noteUndecodableAudio(failures.count, first) }
            }
            return (problems, adjustments)
        }
    }

    /// What the audio tracks of the output must contain.
    var expectations: [OutputExpectation.Audio] {
        get async {
            var expectations: [OutputExpectation.Audio] = []
            for audio in tracks.audio {
                var expected = OutputExpectation.Audio(codecName: audio.output.codecName)
                if let converter = tracks.converted[audio.index] {
                    expected.duration = await converter.duration
                    expected.isAudible = await converter.peak > OutputVerification.audible
                } else if let seconds = copiedDurations[audio.index], seconds.isFinite {
                    expected.duration = MediaTime(seconds: seconds, preferredTimescale: 1_000_000)
                }
                expectations.append(expected)
            }
            return expectations
        }
    }
}
