// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaIO
import MediaTypes
import Transcoding
import VAToolbox

/// What `encode --json` prints; docs/command.md describes every key.
extension EncodeOutcome {
    var document: JSON {
        .object([
            "status": .string(status.name),
            "exitStatus": .integer(Int(status.rawValue)),
            "input": input,
            "output": output,
            "encoder": encoder,
            "bitRate": bitRate,
            "frames": frames,
            "duration": JSON(report.output.duration.seconds),
            "wallTime": .number(elapsed),
            "speed": JSON(speed),
            "stopped": .bool(report.wasStopped),
            "adjustments": .array(report.adjustments.map(\.document)),
            "omissions": JSON(report.omissions),
            "problems": problems,
        ])
    }

    private var input: JSON {
        let video = report.video
        return .object([
            "path": .string(request.input),
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
            "path": .string(request.output),
            "format": JSON(request.sink.format?.rawValue),
            "bytes": JSON(report.output.byteCount),
            "width": .integer(description.width),
            "height": .integer(description.height),
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
            "rejected": .array(
                encoder.rejected.map { rejection in
                    .object([
                        "name": .string(rejection.name),
                        "reason": .string(rejection.reason),
                        "cause": JSON(rejection.cause?.rawValue),
                        "remedies": JSON(rejection.remedies),
                    ])
                }
            ),
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
            "repeated": .integer(report.statistics.repeatedFrames),
            "copied": .integer(report.statistics.copiedPictures),
        ])
    }

    private var problems: JSON {
        let problems = report.problems
        return .object([
            "decodeErrors": .integer(problems.decodeErrors),
            "damagedFrames": .integer(problems.damagedFrames),
            "readErrors": .integer(problems.readErrors),
            "lostPackets": .integer(problems.lostPackets),
            "repairedTimes": .integer(problems.repairedTimes),
            "discontinuities": .integer(problems.discontinuities),
            "descriptions": JSON(problems.descriptions),
        ])
    }
}

extension Adjustment {
    var document: JSON {
        .object([
            "property": .string(property),
            "requested": .string(requested),
            "used": .string(used),
            "reason": .string(reason),
        ])
    }
}

extension JSON {
    /// What is printed instead when an error ended the work.
    static func failure(_ error: MediaError, _ status: ExitStatus) -> JSON {
        failure(
            status,
            [
                "code": .string(error.code.rawValue),
                "message": .string(error.message),
                "given": JSON(error.given),
                "allowed": JSON(error.allowed),
                "call": JSON(error.call),
                "callStatus": JSON(error.status),
                "cause": JSON(error.cause?.rawValue),
                "remedies": JSON(error.remedies),
            ]
        )
    }

    /// What is printed instead when the command line is no command.
    static func usageFailure(_ message: String) -> JSON {
        failure(
            .usage,
            [
                "code": .string("usage"), "message": .string(message), "given": .null, "allowed": .null,
                "call": .null, "callStatus": .null, "cause": .null, "remedies": .array([]),
            ]
        )
    }

    private static func failure(_ status: ExitStatus, _ error: KeyValuePairs) -> JSON {
        .object([
            "status": .string(status.name),
            "exitStatus": .integer(Int(status.rawValue)),
            "error": .object(error),
        ])
    }
}
