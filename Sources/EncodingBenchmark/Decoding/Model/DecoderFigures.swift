// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// A figure of a run of a decoder.
package enum DecoderFigure: String, Sendable, CaseIterable {
    /// Frames per second from the first submitted sample to the last frame.
    case framesPerSecond
    /// Seconds from the start of the session, before its decoder is created, to the first frame.
    case timeToFirstFrame
    /// Seconds of processor time of this process and its helper per frame.
    case processorPerFrame
    /// Copies of pictures from the device to memory per frame.
    case copiesPerFrame

    /// Returns the value of a run; `nil` if it has none.
    func value(_ run: DecodersReport.Measurement) -> Double? {
        let frames = Double(run.frames)
        switch self {
        case .framesPerSecond: return run.wallTime > 0 ? frames / run.wallTime : nil
        case .timeToFirstFrame: return run.frames > 0 ? run.timeToFirstFrame : nil
        case .processorPerFrame: return run.frames > 0 ? run.processorTime / frames : nil
        case .copiesPerFrame: return run.frames > 0 ? Double(run.copiedFrames) / frames : nil
        }
    }
}

/// A decoder on a GPU compared with the software decoder, by pairs of runs of the same round.
package struct DecoderComparison: Sendable, Hashable {
    /// ``DecodersReport/Decoder/id`` of the decoder on the GPU.
    package var decoder: String
    /// Its frames per second divided by those of the software decoder.
    package var speed: Measured<PairedRatio>
    /// Its processor time per frame divided by that of the software decoder.
    package var processorTime: Measured<PairedRatio>
}

extension PairedRatio {
    /// The verdict at 95 % confidence; `nil` if there are too few pairs for one.
    package var confidentVerdict: Verdict? { interval.confidence >= 0.95 ? verdict : nil }
}

extension DecodersReport {
    /// Returns the median of each figure of a decoder over the measured rounds; a figure without values is left out.
    package func figures(of decoder: Decoder) -> [(figure: DecoderFigure, interval: MedianInterval)] {
        DecoderFigure.allCases.compactMap { figure in
            let values = values(of: figure, decoder.id).map(\.value)
            return (try? Distribution(values)).map { (figure, $0.medianInterval()) }
        }
    }

    /// The decoders that were measured: all but those that have not decoded the whole input.
    var measuredDecoders: [Decoder] {
        decoders.filter { decoder in runs.contains { $0.decoder == decoder.id } }
    }

    /// The comparison of each measured decoder on a GPU with the software decoder.
    package var comparisons: [DecoderComparison] {
        measuredDecoders.filter { $0.device != nil }.map { decoder in
            DecoderComparison(
                decoder: decoder.id,
                speed: ratio(of: .framesPerSecond, decoder.id),
                processorTime: ratio(of: .processorPerFrame, decoder.id)
            )
        }
    }

    /// Whether the frames of a decoder are not those of the software decoder, or not known to be.
    package var hasWrongDecoders: Bool { decoders.contains(where: \.isWrong) }

    private func values(of figure: DecoderFigure, _ decoder: String) -> [(round: Int, value: Double)] {
        runs.compactMap { run in
            guard run.decoder == decoder, run.round > 0 else { return nil }
            return run.result.value.flatMap(figure.value).map { (run.round, $0) }
        }
    }

    private func ratio(of figure: DecoderFigure, _ decoder: String) -> Measured<PairedRatio> {
        let references = values(of: figure, Decoder.softwareID)
        let pairs = values(of: figure, decoder).compactMap { own in
            references.first { $0.round == own.round }.map { (first: own.value, second: $0.value) }
        }
        do throws(MediaError) { return .value(try PairedRatio(pairs)) } catch { return .absent(error.message) }
    }
}
