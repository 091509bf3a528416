// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport

/// `vatoolbox encode`.
struct EncodeCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "encode",
        abstract: "Encode a video; copy or encode its audio, copy its subtitles and chapters.",
        usage: "vatoolbox encode <input> -o <output> [options]",
        discussion: """
            Exit status: 0 success; 1 failure; 2 invalid command line; 3 success, but part of the input could not be decoded, or \
            frames were lost because a GPU failed; 130 interrupted, the output contains what was read until then.
            """
    )

    @Argument(
        help: "A file or URL that FFmpeg can read, or - for standard input.",
        completion: .file()
    )
    var input: String

    @OptionGroup(title: "Output options") var output: OutputArguments
    @OptionGroup(title: "Chunk options") var chunks: ChunkArguments
    @OptionGroup(title: "Ladder options") var ladder: LadderArguments
    @OptionGroup(title: "Streaming options") var segments: SegmentArguments
    @OptionGroup(title: "Input options") var source: InputArguments
    @OptionGroup(title: "Rate control options") var rate: RateControlArguments
    @OptionGroup(title: "Picture options") var picture: PictureArguments
    @OptionGroup(title: "Stream options") var stream: StreamArguments
    @OptionGroup(title: "Audio options") var audio: AudioArguments
    @OptionGroup(title: "Encoder options") var encoder: EncoderArguments
    @OptionGroup(title: "Report options") var report: ReportArguments
}
