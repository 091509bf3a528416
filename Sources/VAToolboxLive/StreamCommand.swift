// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport
import HostSystem
import LiveSessions
import MediaTypes
import Streaming

/// `vatoolbox stream`.
struct StreamCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "stream",
        abstract: "Send devices, files or live URLs by RTMP, SRT, UDP, RTP and HLS.",
        usage:
            "vatoolbox stream [<file> ...] [--video <device>] [--audio <device>] --to <url> [--to <url> ...] [options]",
        discussion: """
            Examples:
              vatoolbox stream film.mp4 --loop --to rtmp://server/live/key
              vatoolbox stream --video x11::0 --audio pulse:monitor --to srt://server:9000?latency=200 --to udp://239.1.1.1:5000
              vatoolbox stream --video x11::0 --to hls:http://0.0.0.0:8080/ --record show.mp4
              vatoolbox stream --video v4l2 --ladder 1080p:5M,480p --to hls:http://0.0.0.0:8080/ --to 480p=srt://server:9000
              VATOOLBOX_STREAM_KEY=secret vatoolbox stream --video v4l2 --to rtmps://server/live

            Files are played one after the other, at their own speed. Every output has its own connection, and connects again
            by itself. The bitrate follows the slowest link. The latency of srt:// is in milliseconds.

            Secrets need not be on the command line: VATOOLBOX_STREAM_KEY is added to the paths of RTMP, VATOOLBOX_PASSPHRASE
            and VATOOLBOX_STREAM_ID are those of SRT, VATOOLBOX_AUTHORIZATION is the header of hls:put:.

            Keys: q ends, 1 to 9 switch to another --video. Ctrl-C and SIGTERM end.

            Exit status: 0 success, also when it was ended by a key or a signal; 1 failure: an input or the recording failed,
            or every output gave up; 2 invalid command line; 130 ended before the first picture.
            """
    )

    @Argument(help: "Files or one live URL to send, instead of devices.", completion: .file())
    var files: [String] = []

    @OptionGroup(title: "Input options") var inputs: LiveInputArguments
    @OptionGroup(title: "Output options") var output: StreamOutputArguments
    @OptionGroup(title: "Encoder options") var encoder: LiveEncoderArguments
    @OptionGroup(title: "Report options") var report: ReportArguments

    @Flag(
        help: ArgumentHelp(
            "Read further arguments from standard input, one a line up to an empty line, then commands: stop, use NUMBER, "
                + "bitrate RATE.",
            discussion: "Other users of the machine do not see these arguments."
        )
    )
    var control = false
}

/// The receivers of a stream.
struct StreamOutputArguments: ParsableArguments, Sendable {
    @Flag(help: "Play the files again and again.")
    var loop = false

    @Option(
        help: ArgumentHelp(
            "A receiver: rtmp://, rtmps://, srt://, udp:// or rtp://; HLS: hls:FOLDER, hls:put:https://HOST/PATH/, "
                + "hls:http://HOST:PORT/ or hls:https://HOST:PORT/?cert=FILE&key=FILE. Repeat it for several receivers. "
                + "With --ladder, 720p=URL gets that rung, HLS all of them, and others the highest one.",
            valueName: "url"
        )
    )
    var to: [String] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Several encodes of the same pictures: heights with optional bitrates, such as 1080p:5M,720p,480p. Without one, the "
                + "bitrate of a rung is 5M x (height / 1080)^1.5.",
            valueName: "rungs"
        )
    )
    var ladder: ArgumentText<Ladder>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("End after this time: seconds or [HH:]MM:SS[.fff].", valueName: "time")
    )
    var duration: ArgumentText<ClockTime>?

    @Option(
        help: ArgumentHelp(
            "Also write what the receivers get into this file: .mp4, .mov, .mkv or .ts. If it fails, the stream goes on.",
            valueName: "path"
        ),
        completion: .file()
    )
    var record: String?

    @Flag(help: "Overwrite an existing file of --record.")
    var overwrite = false

    @Flag(help: "Keep the bitrate; pictures are dropped while a link is too slow.")
    var fixedBitrate = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Give up an output that was lost after so many seconds (default: never).",
            valueName: "seconds"
        )
    )
    var giveUpAfter: ArgumentText<PlainNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Leave a connection that makes no progress for so many seconds: 1 to 300 (default: 10).",
            valueName: "seconds"
        )
    )
    var silence: ArgumentText<PlainNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Drop pictures that have waited so many seconds for a link: 0.1 to 30 (default: 0.9).",
            valueName: "seconds"
        )
    )
    var maxQueue: ArgumentText<PlainNumber>?

    @Option(
        help: ArgumentHelp(
            "rtmps, hls:put:https: trust the authorities of this file in PEM instead of those of the system.",
            valueName: "path"
        ),
        completion: .file()
    )
    var caFile: String?

    @Flag(help: "Use only public addresses, and those of --allow-address: for streams that strangers ask for.")
    var publicAddresses = false

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("With --public-addresses: an address or a range that is allowed, too.", valueName: "address")
    )
    var allowAddress: [String] = []

    /// Which addresses may be used; `nil` for all.
    func addresses() throws(MediaError) -> AddressPolicy? {
        var ranges: [AddressRange] = []
        for text in allowAddress {
            guard let range = AddressRange(text) else {
                throw MediaError(
                    .invalidArgument,
                    "--allow-address is not an address",
                    given: text,
                    allowed: "addresses and ranges, such as 10.1.0.0/16"
                )
            }
            ranges.append(range)
        }
        guard publicAddresses else {
            guard ranges.isEmpty else { throw contradiction("--allow-address", "addresses that are all allowed") }
            return nil
        }
        return AddressPolicy(exceptions: ranges)
    }

    /// The options of the session.
    ///
    /// - Parameter files: The files that are sent, none of which can be recorded into.
    func options(files: [String]) throws(MediaError) -> StreamingSession.Options {
        var options = StreamingSession.Options()
        if fixedBitrate { options.strategy = FixedBitRate() }
        options.patience = try giveUpAfter?.value(of: "--give-up-after").value
        if let silence = try silence?.value(of: "--silence").value { options.silence = silence }
        if let age = try maxQueue?.value(of: "--max-queue").value { options.largestAge = age }
        if overwrite, record == nil {
            throw MediaError(.invalidArgument, "only a recording is overwritten", given: "--overwrite without --record")
        }
        options.recording = try record.map { (path) throws(MediaError) in
            try Recording(path: path, overwrite: overwrite, inputPaths: files)
        }
        options.addresses = try addresses()
        return options
    }
}
