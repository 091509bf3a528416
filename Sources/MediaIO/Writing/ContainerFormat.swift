// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
public import MediaTypes

/// A kind of output file, with its capabilities and the way in which it is written.
///
/// The raw value is the name that users specify, for example `mp4`.
public enum ContainerFormat: String, Sendable, Hashable, CaseIterable {
    /// A raw H.264 byte stream (H.264 Annex B), without times and other tracks.
    case h264
    /// A raw HEVC byte stream (HEVC Annex B), without times and other tracks.
    case hevc
    /// MP4 (ISO/IEC 14496-14).
    case mp4
    /// QuickTime.
    case mov
    /// Matroska. Presentation times are rounded to milliseconds; decode times are not stored.
    case mkv
    /// MPEG-2 transport stream. Times are rounded to 1/90000 s.
    case ts
    /// No output: samples are checked and counted.
    case null

    /// Makes the container that a user requests.
    ///
    /// An explicit name takes precedence. Otherwise the extension of the path decides, in upper or lower case; the path
    /// `null` means ``null``. The path `-`, standard output, requires a name.
    ///
    /// - Parameters:
    ///   - name: The container's name, its raw value, or one of its extensions; `nil` if the user specified none.
    ///   - path: The path of the output.
    /// - Throws: `invalidArgument` with the given value and all allowed values.
    public init(name: String?, path: String) throws(MediaError) {
        if let name {
            let wanted = name.lowercased()
            guard let format = Self(rawValue: wanted) ?? Self.byExtension[wanted] else {
                throw MediaError(.invalidArgument, "unknown output format", given: name, allowed: Self.allowedNames)
            }
            self = format
            return
        }
        if path == Self.null.rawValue {
            self = .null
            return
        }
        guard path != Self.standardOutput else {
            throw MediaError(
                .invalidArgument,
                "standard output needs an explicit format",
                given: path,
                allowed: Self.allowedNames
            )
        }
        guard let format = Self.pathExtension(path).flatMap({ Self.byExtension[$0] }) else {
            throw MediaError(
                .invalidArgument,
                "the output format cannot be derived from the file extension",
                given: path,
                allowed: Self.allowedExtensions
            )
        }
        self = format
    }

    /// The path that means standard output.
    public static let standardOutput = "-"

    /// The extensions of this container, in lower case and without dot; the usual one first.
    public var fileExtensions: [String] {
        switch self {
        case .h264: ["h264", "264", "avc"]
        case .hevc: ["h265", "265", "hevc"]
        case .mp4: ["mp4", "m4v"]
        case .mov: ["mov"]
        case .mkv: ["mkv"]
        case .ts: ["ts"]
        case .null: []
        }
    }

    /// The only codec that the container supports; `nil` if it supports both.
    public var requiredCodec: VideoCodec? {
        switch self {
        case .h264: .h264
        case .hevc: .hevc
        case .mp4, .mov, .mkv, .ts, .null: nil
        }
    }

    /// The framing of NAL units: start codes or length prefixes.
    public var framing: NALUnitFraming {
        switch self {
        case .h264, .hevc, .ts: .annexB
        case .mp4, .mov, .mkv, .null: .lengthPrefixed(.four)
        }
    }

    /// Whether audio tracks can be copied into it. ``MediaSink/addTrack(_:)`` checks the codec.
    public var takesAudio: Bool { takesOtherTracks }

    /// Whether subtitle tracks can be copied into it. ``MediaSink/addTrack(_:)`` checks the codec.
    public var takesSubtitles: Bool { takesOtherTracks }

    /// Whether it can store chapters.
    public var takesChapters: Bool {
        switch self {
        case .mp4, .mov, .mkv, .null: true
        case .h264, .hevc, .ts: false
        }
    }

    /// Whether it can store a title and other metadata of the whole file.
    public var takesMetadata: Bool { takesOtherTracks }

    /// Whether it can be written in fragments, each with its own index.
    public var canBeFragmented: Bool { self == .mp4 || self == .mov }

    /// Whether it requires a seekable output unless it is fragmented.
    public var needsSeekableOutput: Bool { canBeFragmented }

    /// Checks whether the container supports a codec.
    ///
    /// - Throws: `invalidArgument` with the given codec and the allowed codec.
    public func validate(_ codec: VideoCodec) throws(MediaError) {
        guard let requiredCodec, requiredCodec != codec else { return }
        throw MediaError(
            .invalidArgument,
            "the output format \(rawValue) does not support this codec",
            given: codec.rawValue,
            allowed: requiredCodec.rawValue
        )
    }

    /// Returns the data of a sample as the container stores it.
    func framed(_ sample: SampleBuffer, withParameterSets: Bool) throws(MediaError) -> CodedData {
        switch framing {
        case .annexB: try sample.annexB(withParameterSets: withParameterSets, withDelimiter: true)
        case .lengthPrefixed: withParameterSets ? try sample.lengthPrefixedWithParameterSets() : sample.data
        }
    }

    /// Checks whether the container supports files without video.
    ///
    /// - Throws: `invalidArgument`.
    func validateWithoutVideo() throws(MediaError) {
        guard requiredCodec != nil else { return }
        throw MediaError(
            .invalidArgument,
            "the output format needs a video track",
            given: rawValue,
            allowed: Self.allCases.filter { $0.requiredCodec == nil }.map(\.rawValue).joined(separator: ", ")
        )
    }

    /// The name of libavformat's muxer; `nil` if libavformat is not used.
    var muxerName: String? {
        switch self {
        case .mp4: "mp4"
        case .mov: "mov"
        case .mkv: "matroska"
        case .ts: "mpegts"
        case .h264, .hevc, .null: nil
        }
    }

    /// Whether decode times are stored, so that they must differ from each other in the container's time unit.
    var storesDecodeTimes: Bool { self != .mkv }

    private var takesOtherTracks: Bool {
        switch self {
        case .mp4, .mov, .mkv, .ts, .null: true
        case .h264, .hevc: false
        }
    }

    private static let byExtension = Dictionary(
        allCases.flatMap { format in format.fileExtensions.map { ($0, format) } },
        uniquingKeysWith: { first, _ in first }
    )
    private static let allowedNames = allCases.map(\.rawValue).joined(separator: ", ")
    private static let allowedExtensions =
        allCases.flatMap(\.fileExtensions).map { ".\($0)" }.joined(separator: ", ")
        + ", null, or an explicit format (\(allowedNames))"

    /// Returns the text after the last dot of the last path component, in lower case.
    private static func pathExtension(_ path: String) -> String? {
        guard let name = path.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false).last,
            let dot = name.lastIndex(of: "."), dot > name.startIndex
        else { return nil }
        return String(name[name.index(after: dot)...]).lowercased()
    }
}
