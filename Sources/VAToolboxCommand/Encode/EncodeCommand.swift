// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser

/// `vatoolbox encode`.
struct EncodeCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "encode",
        abstract: "Encode a video; audio, subtitles and chapters are copied.",
        usage: "vatoolbox encode <input> -o <output> [options]",
        discussion: """
            Exit status: 0 done; 1 failed; 2 the command line is wrong; 3 done, but part of the input could not be \
            decoded; 130 interrupted, and the output, if anything was read, holds that.
            """
    )

    @Argument(
        help: "What to read: a file that FFmpeg knows, a URL, or - for standard input.",
        completion: .file()
    )
    var input: String

    @OptionGroup(title: "Output options") var output: OutputArguments
    @OptionGroup(title: "Input options") var source: InputArguments
    @OptionGroup(title: "Rate control options") var rate: RateControlArguments
    @OptionGroup(title: "Picture options") var picture: PictureArguments
    @OptionGroup(title: "Stream options") var stream: StreamArguments
    @OptionGroup(title: "Encoder options") var encoder: EncoderArguments
    @OptionGroup(title: "Report options") var report: ReportArguments
}
