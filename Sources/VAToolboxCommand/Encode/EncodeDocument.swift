// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import BitstreamSyntax
import CommandLineSupport
import MediaIO
import MediaTypes
import Transcoding
import VAToolbox

/// The output of `encode --json`; docs/command.md describes every key.
extension EncodeOutcome {
    var document: JSON {
        .object([
            "status": .string(status.name),
            "exitStatus": .integer(Int(status.rawValue)),
            "input": inputDocument,
            "output": output,
            "decoder": report.decoding.document,
            "encoder": encoder,
            "bitRate": bitRate,
            "target": report.quality?.document ?? .null,
            "audio": .array(report.audio.map(\.document)),
            "frames": frames,
            "verification": verification,
            "chunks": report.chunks?.document ?? .null,
            "duration": JSON(report.output.duration.seconds),
            "wallTime": .number(elapsed),
            "speed": JSON(speed),
            "stopped": .bool(report.wasStopped),
            "switches": .array(report.switches.map(\.document)),
            "adjustments": .array(report.adjustments.map(\.document)),
            "omissions": JSON(report.omissions),
            "problems": problems,
        ])
    }

    private var inputDocument: JSON {
        let video = report.video
        return .object([
            "path": .string(input),
            "codec": .string(video.codecName),
            "width": .integer(video.width),
            "height": .integer(video.height),
            "pixelFormat": .string(video.pixelFormatName),
            "bitDepth": .integer(video.bitDepth),
            "frameRate": JSON(video.nominalFrameRate?.description),
            "variableFrameRate": .bool(video.isVariableFrameRate),
            "interlaced": .bool(video.isInterlaced),
            "orientation": .string(video.orientation.rawValue),
            "duration": JSON(video.duration?.seconds),
        ])
    }

    private var output: JSON {
        let description = report.encoder.properties.formatDescription
        return .object([
            "path": .string(request.path),
            "format": .string(report.stream == nil ? request.sink.format?.rawValue ?? "" : "hls"),
            "bytes": JSON(report.output.byteCount),
            "width": .integer(description.width),
            "height": .integer(description.height),
            "chroma": .string(report.configuration.chromaFormat.name),
            "bitDepth": .integer(report.configuration.bitDepth),
            "frameRate": .string(report.configuration.frameRate.description),
            "variableFrameRate": .bool(report.configuration.isFrameRateVariable),
        ])
    }

    private var encoder: JSON {
        let encoder = report.encoder
        return .object([
            "name": .string(encoder.properties.name),
            "codec": .string(encoder.identity.codec.rawValue),
            "profile": .string(encoder.properties.profile),
            "level": .string(encoder.properties.level),
            "device": JSON(encoder.identity.device),
            "isolation": .string((encoder.isInHelper ? EncoderIsolation.process : .inProcess).rawValue),
            "reason": .string(encoder.reason),
            "proof": JSON(encoder.proof.name),
            "rejected": encoder.rejected.document,
        ])
    }

    private var bitRate: JSON {
        let configuration = report.configuration
        let (control, quality): (String, JSON) =
            switch configuration.rateControl {
            case .averageBitRate: ("average", .null)
            case .constantBitRate: ("constant", .null)
            case .constantQuality(let quality, _): ("quality", .number(quality))
            case .constantQuantizer(let quantizer): ("quantizer", .integer(quantizer))
            }
        return .object([
            "control": .string(control),
            "asked": JSON(configuration.rateControl.bitsPerSecond),
            "quality": quality,
            "peak": JSON(peakBitRate),
            "delivered": JSON(report.deliveredBitRate),
        ])
    }

    private var frames: JSON {
        .object([
            "in": .integer(report.statistics.acceptedFrames + report.statistics.droppedFrames),
            "out": .integer(report.output.sampleCount),
            "dropped": .integer(report.statistics.droppedFrames),
            "lost": .integer(report.statistics.lostFrames),
            "repeated": .integer(report.statistics.repeatedFrames),
            "copied": .integer(report.statistics.copiedPictures),
            "convertedByEncoder": .integer(report.statistics.convertedByEncoder),
        ])
    }

    private var verification: JSON {
        guard let verification = report.verification else { return .null }
        return .object([
            "frames": .integer(verification.pictureCount),
            "comparedFrames": .integer(verification.comparedPictureCount),
            "audioTracks": .integer(verification.audioTrackCount),
            "psnr": psnr(verification.psnr),
        ])
    }

    private func psnr(_ psnr: OutputVerification.PSNR?) -> JSON {
        guard let psnr else { return .null }
        return .object([
            "lowest": .number(psnr.lowest), "mean": .number(psnr.mean), "frames": .integer(psnr.pictureCount),
        ])
    }

    private var problems: JSON {
        var members: JSON.KeyValuePairs = [
            "decodeErrors": .integer(report.problems.decodeErrors),
            "damagedFrames": .integer(report.problems.damagedFrames),
        ]
        members.append(report.problems.members)
        return .object(members)
    }
}

extension ChunkSummary {
    var document: JSON {
        .object(["count": .integer(count), "reused": .integer(reused), "repeated": .integer(repeated)])
    }
}

extension JSON {
    /// Returns the document for several outputs: that of each, in their order.
    ///
    /// - Parameter stream: The presentation of which they are variants.
    static func outputs(_ documents: [JSON], _ status: ExitStatus, stream: StreamReport?) -> JSON {
        var members: KeyValuePairs = [
            "status": .string(status.name),
            "exitStatus": .integer(Int(status.rawValue)),
            "outputs": .array(documents),
        ]
        if let stream { members.append("stream", stream.document) }
        return .object(members)
    }
}

extension DecodingReport {
    fileprivate var document: JSON {
        .object([
            "name": .string(description?.identity.name ?? "libavcodec"),
            "version": .string(name),
            "device": JSON(device),
            "reason": .string(reason),
            "repeatedSamples": .integer(statistics?.repeatedSamples ?? 0),
            "lostPictures": .integer(statistics?.lostFrames ?? 0),
            "copiedPictures": .integer(copiedPictures),
            "failures": .array(failures.map { .string("\($0.decoder): \($0.error.readable)") }),
        ])
    }
}

extension AudioOutcome {
    fileprivate var document: JSON {
        .object([
            "stream": .integer(index),
            "inputCodec": .string(inputCodec),
            "codec": .string(output.codecName),
            "copied": .bool(!isEncoded),
            "bitRate": output.bitRate > 0 ? .integer(output.bitRate) : .null,
            "sampleRate": .integer(output.sampleRate),
            "channels": .integer(output.channelCount),
            "layout": JSON(output.layout?.description),
            "gain": .number(gain),
            "loudness": loudness?.document ?? .null,
        ])
    }
}

extension LoudnessOutcome {
    fileprivate var document: JSON {
        .object([
            "target": .number(target.integrated),
            "truePeakLimit": .number(target.truePeak),
            "measured": JSON(measured.integrated),
            "range": .number(measured.range),
            "truePeak": JSON(measured.truePeak),
            "limited": .bool(isLimited),
        ])
    }
}
