// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import AssetWriting
import CommandLineSupport
import LiveSessions
import MediaIO
import MediaTypes

/// `vatoolbox record`.
struct RecordCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Record cameras, screens and sound into a file.",
        usage: "vatoolbox record --video <device> [--audio <device>] -o <output> [options]",
        discussion: """
            Examples:
              vatoolbox record --video x11::0 --audio pulse:default -o screen.mp4
              vatoolbox record --video v4l2:/dev/video0,size=1280x720 --audio alsa:hw:1 -o camera.mkv
              vatoolbox record --video x11::0 --replay 60 -o replay-{number}.mp4

            Keys: q ends, p pauses and continues, s saves the replay, 1 to 9 switch to another --video. Ctrl-C and SIGTERM
            end, SIGUSR1 saves the replay, SIGUSR2 pauses and continues.

            Exit status: 0 success, also when it was ended by a key or a signal; 1 failure; 2 invalid command line; 130 ended
            before the first picture.
            """
    )

    @OptionGroup(title: "Input options") var inputs: LiveInputArguments
    @OptionGroup(title: "Output options") var output: RecordOutputArguments
    @OptionGroup(title: "Encoder options") var encoder: LiveEncoderArguments
    @OptionGroup(title: "Report options") var report: ReportArguments
}

/// The files of a recording.
struct RecordOutputArguments: ParsableArguments, Sendable {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The file to write: .mp4, .mov, .mkv or .ts. With --split-time, --split-size or --replay, {number} in its name "
                + "is replaced with 001, 002, and so on.",
            valueName: "path"
        ),
        completion: .file()
    )
    var output: String

    @Flag(help: "Overwrite existing files.")
    var overwrite = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("End after this time: seconds or [HH:]MM:SS[.fff].", valueName: "time")
    )
    var duration: ArgumentText<ClockTime>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Continue in another file after this time.", valueName: "time")
    )
    var splitTime: ArgumentText<ClockTime>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Continue in another file after this size, such as 500M.", valueName: "size")
    )
    var splitSize: ArgumentText<ByteCount>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Keep only the last seconds in memory, 1 to 3600, and save them with the key s or SIGUSR1.",
            valueName: "seconds"
        )
    )
    var replay: ArgumentText<PlainNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "MP4 and MOV: what a crash or a power failure loses at most, 0.1 to 600 seconds (default: 1).",
            valueName: "seconds"
        )
    )
    var fragment: ArgumentText<PlainNumber>?
}

extension RecordOutputArguments {
    /// Where a recording goes.
    enum Destination {
        case file(AssetWriter.Options)
        case replay(ReplayBuffer, MediaSink.Options)
    }

    /// - Throws: `invalidArgument` for invalid values and contradictory options.
    func destination() throws(MediaError) -> Destination {
        var sink = MediaSink.Options()
        sink.overwrite = overwrite
        if let replay {
            let others = [
                ("--split-time", splitTime != nil), ("--split-size", splitSize != nil), ("--fragment", fragment != nil),
            ]
            if let other = others.first(where: \.1) { throw contradiction("--replay", other.0) }
            let seconds = try replay.value(of: "--replay").value
            let length = MediaTime(seconds: seconds, preferredTimescale: 1000)
            try MediaSink.validate(path: path(1), options: sink)
            return .replay(try ReplayBuffer(length: length), sink)
        }
        var options = AssetWriter.Options()
        options.keepsFilesAfterFailure = true
        let interval = try fragment.map { (text) throws(MediaError) in
            MediaTime(seconds: try text.value(of: "--fragment").value, preferredTimescale: 1000)
        }
        sink = try .recording(
            path: output,
            overwrite: overwrite,
            fragmentInterval: interval ?? MediaSink.Options.usualFragmentInterval
        )
        if let fragment, !sink.isFragmented {
            throw MediaError(
                .invalidArgument,
                "only MP4 and MOV have fragments",
                given: "--fragment \(fragment.text) with \(output)",
                allowed: "a file that ends in .mp4 or .mov"
            )
        }
        options.sink = sink
        if splitTime != nil || splitSize != nil {
            options.splitting = AssetWriter.Splitting(
                interval: try splitTime?.value(of: "--split-time").time,
                byteCount: try (splitSize?.value(of: "--split-size").bytes).map(Int64.init)
            )
        }
        return .file(options)
    }

    /// The path of a file with a number.
    func path(_ number: Int) -> String {
        let digits = String(number)
        let padded = String(repeating: "0", count: max(3 - digits.count, 0)) + digits
        return output.replacing(AssetWriter.Splitting.numberPlaceholder, with: padded)
    }
}
