// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import BitstreamSyntax
public import Logging
public import MediaIO
public import MediaTypes

/// What an output must contain, collected while it is written.
public struct OutputExpectation: Sendable {
    /// What is expected of an audio track.
    struct Audio: Sendable {
        var codecName: String
        /// The duration; `nil` if it is not known.
        var duration: MediaTime?
        /// Whether there is any sound; `nil` if it is not known, because the track was copied.
        var isAudible: Bool?
    }

    /// The codec of the video, by FFmpeg's name.
    var codecName: String
    var width: Int
    var height: Int
    /// The presentation times of the pictures, in any order.
    var times: [MediaTime] = []
    /// Small versions of the pictures that were encoded, by presentation time.
    var signatures: [MediaTime: PictureSignature] = [:]
    /// Whether the pictures were encoded in their own size, so that their lines can be compared.
    var keepsLines = true
    /// Pictures of the input from ``VerificationPictures``, by presentation time, with which the output is measured.
    var references: [MediaTime: PixelBuffer] = [:]
    /// The PSNR in dB that they must reach; `nil` for any.
    var leastPSNR: Double?
    /// What else is measured with them.
    var metric: QualityMetric?
    /// The audio tracks in the order of the output.
    var audio: [Audio] = []
    /// Whether the container stores times.
    var hasTimes: Bool
}

/// The result of verifying an output.
public struct OutputVerification: Sendable, Hashable {
    /// The number of pictures that were decoded.
    public var pictureCount = 0
    /// The number of pictures that were compared with the encoded ones.
    public var comparedPictureCount = 0
    /// The number of audio tracks that were decoded.
    public var audioTrackCount = 0
    /// How near the pictures are to the input, if ``OutputRequest/leastPSNR`` was set.
    public var psnr: PSNR?
    /// The score of the same pictures, if ``OutputRequest/target`` was set and the metric is one of this package.
    public var score: Score?
    /// What is wrong, described for users; empty if nothing is.
    public var findings: [String] = []

    /// Peak signal-to-noise ratios of luma in dB, of the pictures of an output against those of the input in the size of
    /// the output. Equal pictures have ``highest``.
    public struct PSNR: Sendable, Hashable {
        /// The lowest ratio of a picture.
        public var lowest: Double
        /// The mean of the ratios of the pictures.
        public var mean: Double
        /// The number of pictures that were measured: all of them if there are few, otherwise some, evenly spread.
        public var pictureCount: Int

        /// The ratio of equal pictures.
        public static let highest = 100.0
        /// The possible values of ``OutputRequest/leastPSNR``.
        public static let allowed = 1.0...highest

        /// Makes the result of ratios; `nil` if there are none.
        init?(_ ratios: [Double]) {
            guard let lowest = ratios.min() else { return nil }
            self.lowest = lowest
            mean = ratios.reduce(0, +) / Double(ratios.count)
            pictureCount = ratios.count
        }
    }

    /// The score of some pictures of an output.
    public struct Score: Sendable, Hashable {
        /// What was measured.
        public var metric: QualityMetric
        /// The score of all pictures together.
        public var value: Double
        /// The number of pictures that were measured.
        public var pictureCount: Int
    }

    /// The peak above which an input is expected to be heard: -60 dB.
    static let audible = 0.001
    /// The maximum number of findings of a kind.
    private static let mostFindings = 3

    /// Verifies a file on a thread that it may block.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - name: The path of the output, as requested.
    /// - Throws: `verificationFailed` if there are findings; as
    ///   ``init(path:expectation:logger:cancellation:progress:)``.
    static func passed(
        _ path: String,
        as name: String,
        _ expectation: OutputExpectation,
        logger: Logger?,
        cancellation: Cancellation,
        progress: @escaping @Sendable (MediaTime) -> Void
    ) async throws(MediaError) -> OutputVerification {
        let result = try await PlainThread.result(name: "vt-verify") { () throws(MediaError) in
            try OutputVerification(
                path: path,
                expectation: expectation,
                logger: logger,
                cancellation: cancellation,
                progress: progress
            )
        }
        guard let first = result.findings.first else { return result }
        let more = result.findings.count > 1 ? ", and \(result.findings.count - 1) more" : ""
        throw MediaError(.verificationFailed, "the output is not what was encoded: \(first)\(more)", given: name)
    }

    /// Decodes a file completely and compares it with what was written into it.
    ///
    /// Compares codec and size; the number, order and times of the pictures; each picture, roughly, with the one that was
    /// encoded, and the order of its lines, unless the input is red, green and blue or the pictures have bars; on request the
    /// PSNR of some pictures; the codec and the duration of the audio
    /// tracks, and whether they are silent although their input was not. Any error of a decoder is a finding.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - expectation: What it must contain.
    ///   - logger: Receives FFmpeg's messages; `nil` leaves them to `MediaLog.logger`.
    ///   - cancellation: Ends reading, from another thread.
    ///   - progress: Called with the time of each picture that was decoded.
    /// - Throws: `inputOutput`, `outOfMemory`, `cancelled`. A file that cannot be decoded is a finding.
    public init(
        path: String,
        expectation: OutputExpectation,
        logger: Logger? = nil,
        cancellation: Cancellation = Cancellation(),
        progress: (MediaTime) -> Void = { _ in }
    ) throws(MediaError) {
        var options = MediaSource.Options(deinterlacing: .off)
        options.chromaFormat = nil
        options.maximumBitDepth = 12
        let source: MediaSource
        do throws(MediaError) {
            source = try MediaSource(path: path, options: options, logger: logger, cancellation: cancellation)
        } catch {
            if [.cancelled, .outOfMemory, .inputOutput].contains(error.code) { throw error }
            findings.append("the output cannot be decoded: \(error.message)")
            return
        }
        compareVideo(source.video, expectation)
        let sounds = try decodeAll(source, expectation, logger, progress)
        compareAudio(source, sounds, expectation)
        if source.problems.isLossy {
            let first = source.problems.descriptions.first.map { ": \($0)" } ?? ""
            findings.append("the output is damaged\(first)")
        }
    }

    private mutating func compareVideo(_ video: VideoTrack, _ expected: OutputExpectation) {
        if video.codecName != expected.codecName {
            findings.append("the codec is \(video.codecName) instead of \(expected.codecName)")
        }
        if (video.width, video.height) != (expected.width, expected.height) {
            findings.append(
                "the pictures are \(video.width)x\(video.height) instead of \(expected.width)x\(expected.height)"
            )
        }
    }

    /// Decodes everything.
    ///
    /// - Returns: The decoded audio tracks, by the index of their streams.
    private mutating func decodeAll(
        _ source: MediaSource,
        _ expected: OutputExpectation,
        _ logger: Logger?,
        _ progress: (MediaTime) -> Void
    ) throws(MediaError) -> [Int: DecodedSound] {
        var sounds: [Int: DecodedSound] = [:]
        for track in source.tracks where track.kind == .audio {
            do {
                sounds[track.index] = try DecodedSound(track, logger)
            } catch {
                findings.append("audio track \(track.index) cannot be decoded: \(error.message)")
            }
        }
        let times = expected.times.sorted()
        var shift: MediaTime?
        var (wrongTimes, wrongPictures, poorPictures) = (0, 0, 0)
        let meter = LumaMeter(expected.references)
        var lines = (agreement: 0, size: 0)
        while let event = try source.next() {
            switch event {
            case .packet(let packet): try sounds[packet.track.index]?.decode(packet)
            case .frame(let frame):
                defer { pictureCount += 1 }
                progress(frame.presentationTime)
                guard times.indices.contains(pictureCount) else { continue }
                let time = times[pictureCount]
                // Containers may shift all times, because some cannot store negative ones.
                let offset = shift ?? (frame.presentationTime - time)
                shift = offset
                let difference = abs((frame.presentationTime - time - offset).seconds)
                if expected.hasTimes, difference > Self.timeTolerance {
                    wrongTimes += 1
                    if wrongTimes <= Self.mostFindings {
                        findings.append("picture \(pictureCount) is \(difference) s from its time")
                    }
                }
                if let ratio = try meter.measure(frame.buffer, at: time), let least = expected.leastPSNR, ratio < least
                {
                    poorPictures += 1
                    if poorPictures <= Self.mostFindings {
                        let text = "\(Readable.number(ratio, places: 2)) dB instead of \(least) dB or more"
                        findings.append("picture \(pictureCount) at \(time.seconds) s has a PSNR of \(text)")
                    }
                }
                guard let encoded = expected.signatures[time], let decoded = try PictureSignature(frame.buffer) else {
                    continue
                }
                comparedPictureCount += 1
                let compared = decoded.compareLines(with: encoded)
                lines = (lines.agreement + compared.agreement, lines.size + compared.size)
                guard !decoded.resembles(encoded) else { continue }
                wrongPictures += 1
                if wrongPictures <= Self.mostFindings {
                    findings.append("picture \(pictureCount) at \(time.seconds) s is not the one that was encoded")
                }
            }
        }
        for (kind, count) in [
            ("are not at their times", wrongTimes), ("are not those that were encoded", wrongPictures),
            ("have too low a PSNR", poorPictures),
        ]
        where count > Self.mostFindings {
            findings.append("\(count) pictures \(kind)")
        }
        if expected.leastPSNR != nil { psnr = PSNR(meter.ratios) }
        score = expected.metric.flatMap { meter.score($0) }
        if expected.leastPSNR != nil, psnr == nil { findings.append("no picture could be measured against the input") }
        // Strong compression loses the steps, which then agree with nothing.
        if expected.keepsLines, lines.agreement < -lines.size / 2, lines.size > pictureCount * Self.leastLineSteps {
            findings.append("the fields of the pictures are swapped")
        }
        if pictureCount != times.count {
            findings.append("\(pictureCount) pictures were decoded instead of \(times.count)")
        }
        return sounds
    }

    /// The size of the steps between lines of a picture above which they say something: 4 steps of 1 in 255.
    private static let leastLineSteps = 4

    /// A tick of Matroska, and the rounding of both times.
    private static let timeTolerance = 0.0021

    private mutating func compareAudio(
        _ source: MediaSource,
        _ sounds: [Int: DecodedSound],
        _ expected: OutputExpectation
    ) {
        let tracks = source.tracks.filter { $0.kind == .audio }
        if tracks.count != expected.audio.count {
            findings.append("there are \(tracks.count) audio tracks instead of \(expected.audio.count)")
        }
        for (number, (track, wanted)) in zip(tracks, expected.audio).enumerated() {
            let name = "audio track \(number + 1)"
            if track.codecName != wanted.codecName {
                findings.append("\(name) is \(track.codecName) instead of \(wanted.codecName)")
            }
            guard let sound = sounds[track.index] else { continue }
            audioTrackCount += 1
            sound.finish()
            if let failure = sound.failure { findings.append("\(name) is damaged: \(failure.message)") }
            if let duration = wanted.duration, abs(sound.seconds - duration.seconds) > Self.durationTolerance {
                findings.append("\(name) lasts \(sound.seconds) s instead of \(duration.seconds) s")
            }
            if wanted.isAudible == true, sound.peak < DecodedSound.silence { findings.append("\(name) is silent") }
        }
    }

    /// The priming and the padding of two packets of AAC at low rates.
    private static let durationTolerance = 0.3
}

/// Decodes an audio track of an output, and measures it.
private final class DecodedSound {
    /// The peak below which a track is silent: -80 dB.
    static let silence = 0.0001

    private let decoder: AudioDecoder
    private(set) var seconds = 0.0
    private(set) var peak = 0.0

    init(_ track: MediaTrack, _ logger: Logger?) throws(MediaError) {
        guard let description = track.audio else {
            throw MediaError(.unsupported, "the track is not audio", given: "track \(track.index)")
        }
        decoder = try AudioDecoder(description, logger: logger)
    }

    var failure: MediaError? { decoder.firstFailure }

    func decode(_ packet: MediaPacket) throws(MediaError) { measure(try decoder.decode(packet.audioSample())) }

    func finish() { measure((try? decoder.finish()) ?? []) }

    private func measure(_ buffers: [AudioBuffer]) {
        for buffer in buffers {
            seconds += buffer.duration.seconds
            peak = max(peak, buffer.peak)
        }
    }
}

extension AudioBuffer {
    /// The largest magnitude of the samples, 1 for full scale.
    var peak: Double {
        withUnsafePlanes { planes in
            planes.reduce(0) { peak, plane in
                switch format.sampleType {
                case .int16:
                    plane.withMemoryRebound(to: Int16.self) {
                        max(peak, Double($0.map(\.magnitude).max() ?? 0) / 32768)
                    }
                case .int32:
                    plane.withMemoryRebound(to: Int32.self) {
                        max(peak, Double($0.map(\.magnitude).max() ?? 0) / 2_147_483_648)
                    }
                case .float32:
                    plane.withMemoryRebound(to: Float.self) { max(peak, Double($0.map(\.magnitude).max() ?? 0)) }
                // Decoders return 24 bits as 32.
                case .int24: peak
                }
            }
        }
    }
}
