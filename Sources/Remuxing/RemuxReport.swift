// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaIO
public import MediaTypes

/// The progress of a ``Remuxer``.
public struct RemuxProgress: Sendable, Hashable {
    /// The number of packets that were written.
    public var packets = 0
    /// The number of bytes of these packets.
    public var bytes = 0
    /// The latest time that was written, on the timeline of the output.
    public var time = MediaTime.zero
    /// The expected duration of the output, if the input states it.
    public var expectedDuration: MediaTime?

    /// Makes the progress of a copy that has not begun.
    public init() {}
}

/// A track that was copied.
public struct RemuxedTrack: Sendable, Hashable {
    /// The index of the track in the input.
    public var index: Int
    /// The content of the track.
    public var kind: MediaTrack.Kind
    /// FFmpeg's name of the codec; the name of an attached file.
    public var codecName: String
    /// The language as stored in the input, if there is one.
    public var language: String?
    /// The title as stored in the input, if there is one.
    public var title: String?
    /// The number of packets that were written.
    public var packetCount = 0
    /// The number of bytes of these packets, in the framing of the input.
    public var byteCount = 0

    init(_ track: MediaTrack) {
        (index, kind, codecName) = (track.index, track.kind, track.fileName ?? track.codecName)
        (language, title) = (track.language, track.title)
    }
}

/// Something in the input that the output lacks.
public struct RemuxLoss: Sendable, Hashable, CustomStringConvertible {
    /// The index of the input's track; `nil` for the whole file.
    public var track: Int?
    /// What is lost, for example `rotation` or `chapters`.
    public var property: String
    /// The value in the input, or why it is lost.
    public var detail: String

    /// A text for users, such as "track 1: language (deu)".
    public var description: String {
        (track.map { "track \($0): " } ?? "") + property + (detail.isEmpty ? "" : " (\(detail))")
    }
}

/// Where a part of an input begins.
public struct RemuxStart: Sendable, Hashable {
    /// The requested time, from the start of the input.
    public var requested: MediaTime
    /// Time zero of the output, from the start of the input: that of the key frame before, unless the output begins exactly.
    public var actual: MediaTime
    /// Whether the output begins exactly at the requested time.
    public var isExact: Bool { requested == actual }
}

/// The results of a ``Remuxer``.
public struct RemuxReport: Sendable {
    /// FFmpeg's name of the input's format.
    public var inputFormat: String
    /// The container of the output.
    public var format: ContainerFormat
    /// Whether the output is written in fragments.
    public var isFragmented: Bool
    /// The tracks of the output, in its order.
    public var tracks: [RemuxedTrack]
    /// What the output lacks. Properties are compared with what the complete output states; for outputs that are no regular
    /// files this is unknown, and only tracks, chapters and metadata are listed.
    public var losses: [RemuxLoss]
    /// Whether the properties of the output were compared.
    public var isCompared: Bool
    /// Where the part of the input begins; `nil` if it was copied from its start.
    public var start: RemuxStart?
    /// The summary of the written output. Its sample count is zero: video is copied as packets.
    public var output: MediaSink.Summary
    /// Problems of the input.
    public var problems: SourceProblems
    /// Whether ``Remuxer/stop()`` ended the copy before the end of the input.
    public var wasStopped: Bool
}
