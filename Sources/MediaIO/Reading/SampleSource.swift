// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
package import Logging
package import MediaTypes

/// Reads the coded samples of the main video of an input, in decoding order, for a decoder that is not this module's.
///
/// Parameter sets are taken out of the samples, and stand in their format descriptions. Damage is not an error; what cannot
/// be read as NAL units is left out and counted. It is synchronous: use it from one dedicated thread.
package final class SampleSource {
    /// The format of the first sample.
    package let formatDescription: FormatDescription
    /// FFmpeg's name of the container.
    package var formatName: String { packets.formatName }
    /// The duration of the part that is read, as far as it is known.
    package var expectedDuration: MediaTime? { packets.expectedDuration }
    /// The frame rate that the container states, in frames per second.
    package let frameRate: Rational?
    /// What makes the pictures upright, as far as the container states it.
    package let orientation: Orientation
    /// The problems found so far.
    package var problems: SourceProblems {
        var problems = packets.problems
        problems.add(damage)
        return problems
    }

    private let packets: PacketSource
    private let index: Int
    private var sampler: PacketSampler
    private var damage = SourceProblems()

    /// Opens an input.
    ///
    /// - Throws: The errors of ``PacketSource``; `unsupported` if the main video is neither H.264 nor HEVC;
    ///   `malformedData` if it has no parameter sets.
    package init(
        path: String,
        options: PacketSource.Options = .init(),
        logger: Logger? = nil,
        cancellation: Cancellation = Cancellation()
    ) throws(MediaError) {
        packets = try PacketSource(path: path, options: options, logger: logger, cancellation: cancellation)
        guard let track = packets.mainVideo else {
            throw MediaError(.malformedData, "the input has no video", given: path)
        }
        guard let codec = VideoCodec(rawValue: track.codecName) else {
            throw MediaError(
                .unsupported,
                "the video is of another codec",
                given: track.codecName,
                allowed: VideoCodec.allCases.map(\.rawValue).joined(separator: ", ")
            )
        }
        (index, frameRate, orientation) = (track.index, track.frameRate, track.orientation)
        sampler = try PacketSampler(track, codec)
        formatDescription = sampler.format
    }

    /// Returns the next sample; `nil` at the end.
    ///
    /// - Throws: `cancelled`, `outOfMemory`.
    package func next() throws(MediaError) -> SampleBuffer? {
        while let packet = try packets.next() {
            guard packet.track.index == index else { continue }
            do throws(BitstreamError) {
                if let sample = try sampler.sample(of: packet) { return sample }
            } catch {
                let error = MediaError(.malformedData, "the NAL units of a packet cannot be parsed: \(error)")
                damage.noteLostPacket(error)
            }
        }
        return nil
    }
}

extension PacketSource {
    /// The video that a player shows.
    fileprivate var mainVideo: MediaTrack? {
        guard let guide, guide.isVideo else { return nil }
        return tracks.first { $0.index == guide.index }
    }
}

extension MediaTrack {
    /// The frame rate that the container states, in frames per second.
    fileprivate var frameRate: Rational? {
        guard let rate = details?.averageFrameRate, rate.num > 0, rate.den > 0 else { return nil }
        return Rational(rate.num, rate.den)
    }

    /// What the display matrix of the container states.
    fileprivate var orientation: Orientation {
        guard let matrix = details?.sideData.first(where: { $0.type == AV_PKT_DATA_DISPLAYMATRIX }) else {
            return .upright
        }
        return Orientation(displayMatrix: matrix.bytes)
    }
}
