// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import BitstreamSyntax
import CommandLineSupport
import MediaIO
import MediaTypes
import StreamingPlaylists
import Transcoding

/// Segments for HTTP Live Streaming.
struct SegmentArguments: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Nominal duration of a segment in seconds: 0.5 to 60 (default: 6).",
            valueName: "seconds"
        )
    )
    var segmentDuration: ArgumentText<ClockTime>?

    @Option(
        parsing: .unconditional,
        help: "Container of the segments: fmp4, or ts for H.264 only (default: fmp4)."
    )
    var segmentFormat: ArgumentText<SegmentFormat>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Date and time of the first picture, such as 2026-01-31T12:00:00Z (default: none).",
            valueName: "time"
        )
    )
    var startDate: ArgumentText<WallClockTime>?

    @Flag(help: "Also write NAME.mpd for MPEG-DASH, with the same segments; needs fmp4.")
    var dash = false

    /// Makes the output of a request a presentation, if its path is that of a playlist.
    ///
    /// - Parameters:
    ///   - command: The whole command line.
    ///   - hasLadder: Whether a ladder replaces the output.
    /// - Throws: `invalidArgument` for contradictory options.
    func apply(to request: inout TranscodeRequest, _ command: EncodeCommand) throws(MediaError) {
        let path = command.output.output
        guard command.output.isPlaylist else {
            let given = [
                ("--variant", command.output.variant), ("--dash", dash ? "" : nil),
                ("--segment-duration", segmentDuration?.text), ("--segment-format", segmentFormat?.text),
                ("--start-date", startDate?.text),
            ].first { $0.1 != nil }
            guard let given, let text = given.1 else { return }
            throw MediaError(
                .invalidArgument,
                "\(given.0) needs a playlist as output",
                given: "\(given.0) \(text)",
                allowed: "with -o NAME.m3u8"
            )
        }
        if command.output.fragmented { throw contradiction("-o \(path)", "--fragmented") }
        if command.output.fragmentedUntilEnd { throw contradiction("-o \(path)", "--fragmented-until-end") }
        var stream = StreamOptions(path: path)
        stream.overwrite = command.output.overwrite
        if let duration = try segmentDuration?.value(of: "--segment-duration") {
            stream.segmentDuration = duration.time
        }
        if let format = try segmentFormat?.value(of: "--segment-format") { stream.format = format }
        stream.includesDASH = dash
        stream.date = try startDate?.value(of: "--start-date")
        if stream.format == .ts, request.video.base.codec == .automatic { request.video.base.codec = .h264 }
        if command.stream.keyFrameInterval != nil { stream.keyFrameDuration = nil }
        request.stream = stream
        if command.ladder.ladder == nil {
            request.output = command.output.variant ?? "video"
        } else if let variant = command.output.variant {
            throw contradiction("--ladder", "--variant \(variant)")
        } else {
            request.output = "\(Ladder.heightMark)p"
        }
    }
}

extension SegmentFormat: ArgumentValue {}

extension WallClockTime: ArgumentValue {
    init?(argument text: String) { self.init(text) }

    static let allowedText = "a date and time of RFC 3339, such as 2026-01-31T12:00:00Z"
}
