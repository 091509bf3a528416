// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

/// Where an output has the parameter sets of its video, and what becomes of sets that differ from the first ones, as they
/// do when another encoder takes over. This is the only place that decides it.
///
/// | Output | Header allows sets in samples | Key frames carry sets | When they change |
/// |---|---|---|---|
/// | H.264 and HEVC byte streams, transport streams | no header | always | |
/// | Segments of `ts` | no header | always | a segment begins |
/// | MP4, QuickTime | no (`avc1`, `hvc1`) | on request, and from a change on | the sample entry becomes `avc3`, `hev1` |
/// | MP4, QuickTime in fragments or streamed | yes (`avc3`, `hev1`) | always | |
/// | Matroska | no | on request, and from a change on | |
/// | Matroska, streamed | yes | always | |
/// | Segments of `fmp4` | no (`avc1`, `hvc1`) | on request, and from a change on | a segment begins, with its own initialization section |
struct ParameterSetCarriage: Equatable {
    /// What else a change requires.
    enum Change: Equatable {
        /// Nothing.
        case none
        /// The type of the sample entry is changed when the file is complete.
        case sampleEntry
        /// A segment begins, in `fmp4` with its own initialization section.
        case segment
    }

    /// Whether the header says that samples may contain parameter sets.
    let isInBand: Bool
    /// Whether every key frame carries them.
    let isRepeated: Bool
    /// What else a change requires.
    let change: Change

    /// Decides for a file or a pipe.
    ///
    /// - Parameter isStreamed: Whether it is written in fragments or is not seekable, so that receivers may join it later.
    init(_ format: ContainerFormat, isStreamed: Bool) {
        let isByteStream = format.framing == .annexB
        isInBand = isStreamed
        isRepeated = isByteStream || isStreamed
        change = format.canBeFragmented && !isStreamed ? .sampleEntry : .none
    }

    /// Decides for segments.
    init(_ format: SegmentFormat) {
        isInBand = false
        isRepeated = format == .ts
        change = .segment
    }

    /// Returns whether a sample carries its parameter sets, because a receiver that joins at it, or seeks to it, needs them
    /// there.
    ///
    /// - Parameters:
    ///   - isRequested: Whether they are wanted in front of every key frame.
    ///   - haveChanged: Whether these, or earlier ones, differ from the first ones.
    func isCarried(by sample: SampleBuffer, isRequested: Bool, haveChanged: Bool) -> Bool {
        // Whether the sample is a recovery point takes long to find out.
        isCarried(byKeyFrame: true, isRequested: isRequested, haveChanged: haveChanged)
            && (sample.isKeyFrame || sample.isRecoveryPoint)
    }

    /// Returns whether a copied packet carries the parameter sets; see ``isCarried(by:isRequested:haveChanged:)``.
    ///
    /// - Parameter isKeyFrame: Whether decoding can begin at it.
    func isCarried(byKeyFrame isKeyFrame: Bool, isRequested: Bool = false, haveChanged: Bool) -> Bool {
        isKeyFrame && (isRepeated || isRequested || haveChanged)
    }
}
