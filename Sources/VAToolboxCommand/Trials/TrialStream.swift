// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaIO
import MediaTypes

/// The samples of a trial, and whether they are what was asked for.
struct TrialStream {
    /// In decoding order.
    private(set) var samples: [SampleBuffer] = []
    private let trial: Trial
    /// Whether the encoder does what was asked for.
    private let isAsAsked: Bool

    init(_ trial: Trial, isAsAsked: Bool) {
        self.trial = trial
        self.isAsAsked = isAsAsked
    }

    /// Adds a frame as it came out of the encoder.
    mutating func add(_ frame: CodedFrame, _ format: FormatDescription) {
        let time = MediaTime(value: frame.number, timescale: 30)
        samples.append(
            SampleBuffer(
                data: frame.data,
                presentationTime: time,
                decodeTime: time,
                duration: .invalid,
                isKeyFrame: frame.isKeyFrame,
                isReference: frame.isReference,
                isDropped: frame.isDropped,
                formatDescription: format,
                formatDescriptionChanged: samples.last.map { $0.formatDescription != format } ?? true
            )
        )
    }

    /// The first stage that the samples do not pass; `nil` if they pass all.
    func failure() -> (stage: TrialStage, reason: String)? {
        if let reason = emptiness { return (.bytes, reason) }
        do throws(MediaError) { try parse() } catch { return (.parses, Readable.oneLine(error.readable)) }
        do throws(MediaError) { try decode() } catch { return (.decodes, Readable.oneLine(error.readable)) }
        return nil
    }

    // MARK: - Bytes

    private var emptiness: String? {
        let empty = samples.count { $0.isDropped || $0.data.count == 0 }
        if empty > 0 { return "\(Readable.count(empty, "picture")) of \(samples.count) came out empty" }
        let missing = Trial.frameCount - samples.count
        return missing > 0 ? "\(Readable.count(missing, "picture")) did not come out" : nil
    }

    // MARK: - Syntax

    private func parse() throws(MediaError) {
        var hasB = false
        for (index, sample) in samples.enumerated() {
            let kinds: [H264SliceHeaderStart.Kind]
            do {
                kinds = try Self.slices(sample)
            } catch let error as MediaError {
                throw error
            } catch {
                throw MediaError(.malformedData, "sample \(index): \(error)")
            }
            guard kinds.count == trial.slices || !isAsAsked else {
                throw MediaError(
                    .malformedData,
                    "sample \(index) has another number of slices",
                    given: "\(kinds.count)",
                    allowed: "\(trial.slices)"
                )
            }
            hasB = hasB || kinds.contains(.b)
        }
        guard samples.first?.isKeyFrame == true else {
            throw MediaError(.malformedData, "the stream does not begin with a key frame")
        }
        guard hasB == (trial.bFrames > 0) || !isAsAsked else {
            throw MediaError(.malformedData, hasB ? "there are B-frames" : "there are no B-frames")
        }
    }

    /// The kinds of a sample's slices, whose headers can be read in full.
    private static func slices(_ sample: SampleBuffer) throws -> [H264SliceHeaderStart.Kind] {
        var sps: H264SequenceParameterSet?
        var pps: H264PictureParameterSet?
        for set in sample.formatDescription.parameterSets {
            switch try H264NALUnitHeader(nalUnit: set).nalUnitType {
            case .sequenceParameterSet: sps = try H264SequenceParameterSet(nalUnit: set)
            case .pictureParameterSet: pps = try H264PictureParameterSet(nalUnit: set)
            default: break
            }
        }
        guard let sps, let pps else { throw MediaError(.malformedData, "there are no parameter sets") }
        let units = try sample.accessUnitLayout().units
        return try sample.data.withUnsafeBytes { bytes in
            try units.compactMap { unit in
                let type = try H264NALUnitHeader(nalUnit: bytes[unit]).nalUnitType
                guard type == .slice || type == .idrSlice else { return nil }
                return try H264SliceHeader(nalUnit: bytes[unit], sps: sps, pps: pps).start.kind
            }
        }
    }

    // MARK: - Pictures

    private func decode() throws(MediaError) {
        let pictures = try SampleDecoder(.h264).decode(samples)
        guard pictures.count == samples.count else {
            throw MediaError(
                .malformedData,
                "another number of pictures was decoded",
                given: "\(pictures.count)",
                allowed: "\(samples.count)"
            )
        }
        if let odd = pictures.first(where: { ($0.width, $0.height) != (trial.width, trial.height) }) {
            throw MediaError(
                .malformedData,
                "the pictures have another size",
                given: "\(odd.width)x\(odd.height)",
                allowed: "\(trial.width)x\(trial.height)"
            )
        }
        guard pictures.map(\.presentationTime.value) == Array(0..<Int64(samples.count)) else {
            throw MediaError(.malformedData, "the pictures are shown in another order than they were given in")
        }
    }
}
