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
    /// The problems found so far.
    package var problems: SourceProblems {
        var problems = packets.problems
        problems.add(damage)
        return problems
    }

    private let packets: PacketSource
    private let index: Int
    private let codec: VideoCodec
    private let framing: NALUnitFraming
    private var sets: ParameterSetList
    private var format: FormatDescription
    private var isFirst = true
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
        (index, self.codec) = (track.index, codec)
        frameRate = track.frameRate
        (framing, sets) = try NALUnitRewriter.configuration(of: track, codec)
        format = try FormatDescription(codec: codec, parameterSets: sets.units)
        formatDescription = format
    }

    /// Returns the next sample; `nil` at the end.
    ///
    /// - Throws: `cancelled`, `outOfMemory`.
    package func next() throws(MediaError) -> SampleBuffer? {
        while let packet = try packets.next() {
            guard packet.track.index == index else { continue }
            do throws(BitstreamError) {
                if let sample = try sample(packet) { return sample }
            } catch {
                let error = MediaError(.malformedData, "the NAL units of a packet cannot be parsed: \(error)")
                damage.noteLostPacket(error)
            }
        }
        return nil
    }

    /// Returns the sample of a packet; `nil` if it has no picture.
    private func sample(_ packet: MediaPacket) throws(BitstreamError) -> SampleBuffer? {
        let bytes = UnsafeRawBufferPointer(start: packet.packet.pointee.data, count: packet.byteCount)
        var (units, haveSets, isKeyFrame, hasPicture): ([Range<Int>], Bool, Bool, Bool) = ([], false, false, false)
        for unit in try framing.nalUnits(in: bytes) {
            let header = try codec.nalUnitHeader(of: bytes[unit])
            if header.isParameterSet {
                sets.add(Array(bytes[unit]))
                haveSets = true
                continue
            }
            units.append(unit)
            if header.isVideoCodingLayer { (hasPicture, isKeyFrame) = (true, isKeyFrame || header.isIDR) }
        }
        if haveSets, sets.units != format.parameterSets { changeFormat() }
        guard hasPicture else { return nil }
        defer { isFirst = false }
        let hasChanged = isFirst || hasFormatChanged
        hasFormatChanged = false
        return SampleBuffer(
            data: data(packet, bytes, units),
            presentationTime: packet.presentationTime,
            decodeTime: packet.decodeTime,
            duration: packet.duration,
            isKeyFrame: isKeyFrame,
            formatDescription: format,
            formatDescriptionChanged: hasChanged
        )
    }

    private var hasFormatChanged = false

    /// Sets that cannot be parsed are left to the decoder.
    private func changeFormat() {
        format =
            (try? FormatDescription(codec: codec, parameterSets: sets.units)) ?? format.with(parameterSets: sets.units)
        hasFormatChanged = true
    }

    /// The units with prefixes of four bytes; a packet that has these is passed on without a copy.
    private func data(_ packet: MediaPacket, _ bytes: UnsafeRawBufferPointer, _ units: [Range<Int>]) -> CodedData {
        let size = units.reduce(0) { $0 + 4 + $1.count }
        if framing == .lengthPrefixed(.four), size == bytes.count, let base = bytes.baseAddress {
            return CodedData(noCopy: UnsafeMutableRawPointer(mutating: base), count: size) { _ in
                withExtendedLifetime(packet) {}
            }
        }
        return CodedData(capacity: size) { memory in
            var position = 0
            for unit in units {
                memory.storeBytes(of: UInt32(clamping: unit.count).bigEndian, toByteOffset: position, as: UInt32.self)
                let target = UnsafeMutableRawBufferPointer(rebasing: memory[(position + 4)...])
                target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[unit]))
                position += 4 + unit.count
            }
            return position
        }
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
}

extension MediaPacket {
    /// The decode time; invalid if the input does not specify it.
    fileprivate var decodeTime: MediaTime {
        let time = packet.pointee.dts
        guard time != ffmpeg_no_pts else { return .invalid }
        return .rational(time, numerator: Int64(track.timeBase.num), denominator: Int64(track.timeBase.den))
    }
}
