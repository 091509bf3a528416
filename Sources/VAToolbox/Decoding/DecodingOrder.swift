// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes

/// Checks that a stream is presented in the order in which it is decoded, and tells decoders so: a pure value.
///
/// libavcodec returns pictures in presentation order only. Without the delay of reordering, it drops those of H.264 that
/// come too late (`h264_select_output_picture`), and it has no such mode for HEVC.
struct DecodingOrder {
    /// A format, and the same one with what decoders are told.
    private var known: (given: FormatDescription, told: FormatDescription)?
    /// The presentation time of the latest sample since the last IDR picture.
    private var latest = MediaTime.invalid

    /// Returns a format that states that nothing is reordered. Without such a statement, a decoder of H.264 holds back as
    /// many pictures as the level allows, or as it expects from gaps in the order.
    ///
    /// - Throws: `unsupported` if the format states that pictures are reordered.
    mutating func format(for format: FormatDescription) throws(MediaError) -> FormatDescription {
        if let known, known.given === format { return known.told }
        if let depth = format.statedReorderDepth, depth > 0 {
            throw Self.error("the stream states that it reorders pictures", given: "by up to \(depth)")
        }
        let told = format.statingNoReordering
        known = (format, told)
        return told
    }

    /// Returns the next sample in decoding order, for a decoder.
    ///
    /// - Throws: `unsupported` if it is presented before its predecessor.
    mutating func sample(for sample: SampleBuffer) throws(MediaError) -> SampleBuffer {
        var result = sample
        result.formatDescription = try format(for: sample.formatDescription)
        // All pictures before an IDR picture precede it.
        if sample.randomAccess == .closed { latest = .invalid }
        let time = sample.presentationTime
        guard time.isValid else { return result }
        if latest.isValid, time < latest {
            throw Self.error(
                "a sample is presented before its predecessor",
                given: "\(time.seconds) s after \(latest.seconds) s"
            )
        }
        latest = time
        return result
    }

    private static func error(_ message: String, given: String) -> MediaError {
        MediaError(
            .unsupported,
            "frames cannot be returned in decoding order: \(message)",
            given: given,
            allowed: "a stream without reordering, or the order .presentation"
        )
    }
}

extension FormatDescription {
    /// The number of frames that may precede a frame in decoding order and follow it in presentation order, as far as
    /// sequence parameter sets state or imply it; `nil` if none does. HEVC always states it.
    fileprivate var statedReorderDepth: Int? {
        parameterSets.compactMap { unit in
            switch codec {
            case .h264: (try? H264SequenceParameterSet(nalUnit: unit))?.statedReorderFrames
            case .hevc: (try? HEVCSequenceParameterSet(nalUnit: unit))?.maxNumReorderPics
            }
        }.max()
    }

    /// The format with H.264 sequence parameter sets that all state that nothing is reordered.
    fileprivate var statingNoReordering: FormatDescription {
        guard codec == .h264 else { return self }
        let sets = parameterSets.map { unit in
            guard var set = try? H264SequenceParameterSet(nalUnit: unit), set.vui?.bitstreamRestriction == nil else {
                return unit
            }
            set.stateNoReordering()
            return (try? set.nalUnit()) ?? unit
        }
        return FormatDescription(
            codec: codec,
            width: width,
            height: height,
            parameterSets: sets,
            color: color,
            pixelAspectRatio: pixelAspectRatio,
            attachments: attachments
        )
    }
}
