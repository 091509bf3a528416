// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import CommandLineSupport
import EncodingBenchmark
import MediaTypes

extension DecodersReport {
    /// Returns the output of `bench decoders --json`; docs/command.md describes every key.
    func document(_ status: ExitStatus) -> JSON {
        .object([
            "status": .string(status.name),
            "exitStatus": .integer(Int(status.rawValue)),
            "program": .string(program),
            "input": .object([
                "path": .string(input.path),
                "format": .string(input.container),
                "codec": .string(input.codec.rawValue),
                "width": .integer(input.width),
                "height": .integer(input.height),
                "samples": .integer(input.samples),
                "bytes": .integer(input.bytes),
                "limit": JSON(input.limit?.rawValue),
                "losses": .integer(input.losses),
            ]),
            "machine": .object([
                "processor": .string(environment.processor.model),
                "usableProcessors": .number(environment.processor.usableProcessors),
                "governor": JSON(environment.processor.governor),
                "loadAverage": JSON(environment.loadAverage),
            ]),
            "repeats": .integer(repeats),
            "threads": .integer(threadCount),
            "decoders": .array(decoders.map(document(of:))),
            "comparisons": .array(comparisons.map(\.document)),
            "rejected": rejections.document,
            "warnings": .array(
                warnings.map { warning in
                    .object([
                        "weight": .string(warning.weight.rawValue),
                        "message": .string(warning.message),
                        "subject": JSON(warning.subject),
                    ])
                }
            ),
        ])
    }

    private func document(of decoder: Decoder) -> JSON {
        var figures: JSON.KeyValuePairs = [:]
        for (figure, interval) in self.figures(of: decoder) { figures.append(figure.rawValue, interval.document) }
        return .object([
            "id": .string(decoder.id),
            "device": JSON(decoder.device),
            "transfer": JSON(decoder.transfer?.rawValue),
            "version": .string(decoder.name),
            "frames": .integer(decoder.frames),
            "damagedFrames": .integer(decoder.damagedFrames),
            "equality": decoder.comparison.map(\.document) ?? .null,
            "figures": .object(figures),
            "runs": .array(runs.filter { $0.decoder == decoder.id }.map(\.document)),
        ])
    }
}

extension Measured<FrameComparison> {
    fileprivate var document: JSON {
        let (first, isKnown) = (value?.first, value.map { $0.compared > 0 || $0.differing > 0 } ?? false)
        return .object([
            "equal": isKnown ? .bool(first == nil) : .null,
            "comparedFrames": JSON(value?.compared),
            "damagedFrames": JSON(value?.damaged),
            "differingFrames": JSON(value?.differing),
            "first": first.map { first in
                .object([
                    "frame": .integer(first.index),
                    "time": JSON(first.presentationTime.isValid ? first.presentationTime.seconds : nil),
                    "difference": .string(first.kind.rawValue),
                ])
            } ?? .null,
            "reason": JSON(absence),
        ])
    }
}

extension DecodersReport.Run {
    fileprivate var document: JSON {
        let run = result.value
        return .object([
            "round": .integer(round),
            "frames": JSON(run?.frames),
            "wallTime": JSON(run?.wallTime),
            "timeToFirstFrame": JSON(run?.timeToFirstFrame),
            "processorTime": JSON(run?.processorTime),
            "copiedFrames": JSON(run?.copiedFrames),
            "failures": JSON(run?.failures),
            "reason": JSON(result.absence),
        ])
    }
}

extension DecoderComparison {
    fileprivate var document: JSON {
        .object([
            "decoder": .string(decoder),
            "reference": .string(DecodersReport.Decoder.softwareID),
            "speed": speed.document(larger: "faster", smaller: "slower"),
            "processorTime": processorTime.document(larger: "more", smaller: "less"),
        ])
    }
}

extension Measured<PairedRatio> {
    /// - Parameters:
    ///   - larger: The verdict on a ratio above 1.
    ///   - smaller: The verdict on a ratio below 1.
    fileprivate func document(larger: String, smaller: String) -> JSON {
        guard let value else { return .null }
        let verdict: JSON =
            switch value.confidentVerdict {
            case .firstIsLarger: .string(larger)
            case .secondIsLarger: .string(smaller)
            case .equalWithinNoise: .string("unclear")
            case nil: .null
            }
        var members = value.interval.members
        members.append("verdict", verdict)
        return .object(members)
    }
}

extension MedianInterval {
    fileprivate var document: JSON { .object(members) }

    fileprivate var members: JSON.KeyValuePairs {
        [
            "median": .number(median),
            "low": .number(low),
            "high": .number(high),
            "confidence": .number(confidence),
            "count": .integer(count),
        ]
    }
}
