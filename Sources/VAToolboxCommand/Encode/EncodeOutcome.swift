// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import BitstreamSyntax
import CommandLineSupport
import MediaIO
import MediaTypes
import Transcoding
import VAToolbox

/// The result of an encode, for people and for programs.
struct EncodeOutcome {
    /// The input of the command.
    let input: String
    let request: OutputRequest
    let report: TranscodeReport
    /// The seconds from the start of the command to the end of the output.
    let elapsed: Double
    let wasInterrupted: Bool

    /// The exit status of the command.
    var status: ExitStatus {
        if wasInterrupted { return .interrupted }
        return report.problems.isLossy || report.lostFrames > 0 ? .damagedInput : .done
    }

    /// The encoding speed as a multiple of real time.
    var speed: Double? { elapsed > 0 ? report.output.duration.seconds / elapsed : nil }

    /// The effective peak limit in bits per second.
    var peakBitRate: Int? {
        report.configuration.rateLimit(codec: report.encoder.identity.codec)?.bitsPerSecond
    }
}

// MARK: - For people

extension EncodeOutcome {
    /// Returns the closing lines, wrapped to at most `width` columns where possible.
    func summary(width: Int) -> String {
        let output = report.output
        let size = report.encoder.properties.formatDescription
        var page = TextPage(width: width)
        page.entry("output", "\(request.path), " + outputText(output, "\(size.width)x\(size.height)"))
        page.entry("decoder", "\(report.decoding.place): \(report.decoding.reason)")
        if let failures = report.decoding.failureText { page.entry("failed", failures) }
        page.entry("encoder", encoder)
        for reason in reasons { page.entry("why", reason) }
        for remedy in remedies { page.entry("try", remedy) }
        if let switches { page.entry("switches", switches) }
        if let chunks = report.chunks { page.entry("chunks", chunks.summary) }
        page.entry("bitrate", bitRates)
        report.quality?.add(to: &page)
        for audio in report.audio { page.entry("audio", audio.summary) }
        let rate = elapsed > 0 ? Double(output.sampleCount) / elapsed : 0
        let factor = Readable.number(speed ?? 0, places: 2)
        page.entry(
            "speed",
            "\(factor)x, \(Readable.number(rate, places: 1)) fps, \(Readable.number(elapsed, places: 2)) s"
        )
        if let verification = report.verification {
            let sounds = verification.audioTrackCount
            let audio = sounds > 0 ? ", \(Readable.count(sounds, "audio track"))" : ""
            let compared = Readable.count(verification.comparedPictureCount, "frame")
            page.entry(
                "verified",
                "\(Readable.count(verification.pictureCount, "frame")) decoded, \(compared) compared\(audio)"
            )
            if let psnr = verification.psnr {
                let (lowest, mean) = (Readable.number(psnr.lowest, places: 2), Readable.number(psnr.mean, places: 2))
                let frames = Readable.count(psnr.pictureCount, "frame")
                page.entry("PSNR", "lowest \(lowest) dB, mean \(mean) dB, of \(frames)")
            }
        }
        if wasInterrupted {
            page.entry("stopped", "by a signal; the output contains everything that was read until then")
        }
        return page.text
    }

    private func outputText(_ output: MediaSink.Summary, _ size: String) -> String {
        let seconds = Readable.number(output.duration.seconds, places: 2)
        let frames = Readable.count(output.sampleCount, "frame")
        return "\(Readable.byteCount(output.byteCount)), \(seconds) s, \(frames), \(size)"
    }

    /// What of the input is missing in the output.
    var losses: [String] {
        let frames = Readable.count(report.lostFrames, "frame")
        let lost = report.lostFrames > 0 ? "\(frames) lost because a GPU failed" : nil
        return [report.problems.loss("decoded"), lost].compactMap(\.self)
    }

    private var encoder: String {
        let encoder = report.encoder
        let codec = encoder.identity.codec == .h264 ? "H.264" : "HEVC"
        let device = encoder.identity.device.map { " on \($0)" } ?? ""
        let place = encoder.isInHelper ? ", in a helper process" : ""
        let kind = "\(codec) \(encoder.properties.profile) \(encoder.properties.level)"
        return "\(encoder.properties.name)\(device), \(kind)\(place)"
    }

    /// The reasons for this encoder and against all earlier candidates.
    private var reasons: [String] {
        let rejected = report.encoder.rejected.map(\.description).map(Readable.oneLine)
        return rejected.isEmpty ? [report.encoder.reason] : rejected
    }

    /// The most likely remedies for the encoders before this one, without duplicates; `--json` contains all remedies.
    private var remedies: [String] {
        var known: Set<String> = []
        // A GPU without HEVC needs no remedy once an encoder works.
        let lacks: [MediaError.Cause] = [.gpuWithoutEncoder, .driverWithoutCodec]
        let isOnGPU = report.encoder.identity.isHardware
        let mendable = report.encoder.rejected.filter { !isOnGPU || !($0.cause.map(lacks.contains) ?? false) }
        return mendable.flatMap { $0.remedies.prefix(2) }.map(Readable.oneLine)
            .filter { known.insert($0).inserted }
    }

    /// The number of encoder switches as text; `nil` if there were none.
    private var switches: String? {
        let count = report.switches.count
        let repeated = Readable.count(report.statistics.repeatedFrames, "frame")
        return count > 0 ? "\(count), \(repeated) encoded again" : nil
    }

    private var bitRates: String {
        let asked =
            switch report.configuration.rateControl {
            case .averageBitRate(let rate, _): "\(Readable.bitRate(Double(rate))) requested"
            case .constantBitRate(let rate, _): "\(Readable.bitRate(Double(rate))) constant requested"
            case .constantQuality(let quality, _): "quality \(Readable.number(quality, places: 1)) requested"
            case .constantQuantizer(let quantizer): "quantizer \(quantizer) requested"
            }
        let isConstant = if case .constantBitRate = report.configuration.rateControl { true } else { false }
        let peak = isConstant ? nil : peakBitRate.map { "peak \(Readable.bitRate(Double($0)))" }
        let delivered = report.deliveredBitRate.map { "\(Readable.bitRate($0)) delivered" }
        return [asked, peak, delivered].compactMap(\.self).joined(separator: ", ")
    }
}

extension ChunkSummary {
    /// One line for people.
    fileprivate var summary: String {
        let earlier = reused > 0 ? ", \(reused) of an earlier run" : ""
        return "\(count)\(earlier)" + (repeated > 0 ? ", \(repeated) encoded again" : "")
    }
}

extension DecodingReport {
    /// The decoder and where it runs.
    fileprivate var place: String { device.map { "\(name) on \($0)" } ?? name }

    /// The failures of decoders as text; `nil` if there were none.
    fileprivate var failureText: String? {
        guard let last = failures.last else { return nil }
        let repeated = Readable.count(statistics?.repeatedSamples ?? 0, "sample")
        let count = Readable.count(failures.count, "time")
        return Readable.oneLine("decoding \(count), \(repeated) decoded again; last: \(last.error.readable)")
    }
}

extension AudioOutcome {
    /// One line for people.
    fileprivate var summary: String {
        guard isEncoded else { return "\(inputCodec), copied" }
        let rate = output.bitRate > 0 ? " \(Readable.bitRate(Double(output.bitRate)))" : ""
        let layout = output.layout.map { ", \($0)" } ?? ""
        return "\(output.codecName)\(rate), \(output.sampleRate) Hz\(layout), encoded from \(inputCodec)\(level)"
    }

    /// The change of the level.
    private var level: String {
        guard let loudness else { return gain == 0 ? "" : ", gain \(Readable.number(gain, places: 1)) dB" }
        guard let gain = loudness.gain, let before = loudness.measured.integrated else { return ", silent" }
        let levels = [before, before + gain].map { Readable.number($0, places: 1) }.joined(separator: " to ")
        return ", \(levels) LUFS (\(Readable.number(gain, places: 1)) dB)"
    }
}
