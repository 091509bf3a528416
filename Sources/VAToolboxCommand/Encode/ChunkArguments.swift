// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport
import MediaTypes
import Transcoding

/// Encoding in chunks that outlive the process.
struct ChunkArguments: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "Encode in chunks and keep the finished ones in this folder until the output is complete, so that the same command "
                + "continues after an interruption. For one output of a file.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var checkpoints: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Duration of a chunk in seconds: 1 to 3600 (default: 30).", valueName: "seconds")
    )
    var chunkDuration: ArgumentText<ClockTime>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Chunks to encode at the same time: 1 to 64 (default: 1).", valueName: "count")
    )
    var parallel: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Finish only every COUNT-th chunk, and write no output: one of several processes that share the work, on machines "
                + "that share the folder. The same command without it then writes the output.",
            valueName: "number/count"
        )
    )
    var onlyChunks: ArgumentText<ChunkPart>?

    /// Returns the chunks; `nil` if the input is to be encoded in one piece.
    ///
    /// - Throws: `invalidArgument` for values out of range, and for options of chunks without a folder.
    func options() throws(MediaError) -> ChunkOptions? {
        guard let checkpoints else {
            let all = [
                ("--chunk-duration", chunkDuration?.text), ("--parallel", parallel?.text),
                ("--only-chunks", onlyChunks?.text),
            ]
            let given = all.first { $0.1 != nil }
            guard let given, let text = given.1 else { return nil }
            throw MediaError(
                .invalidArgument,
                "\(given.0) needs chunks",
                given: "\(given.0) \(text)",
                allowed: "with --checkpoints FOLDER"
            )
        }
        var options = ChunkOptions(folder: checkpoints)
        if let chunkDuration { options.duration = try chunkDuration.value(of: "--chunk-duration").time.seconds }
        if let parallel { options.parallel = try parallel.value(of: "--parallel").value }
        try options.validate()
        return options
    }
}

extension ChunkPart: ArgumentValue {
    package init?(argument text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let numbers = parts.map { WholeNumber(argument: String($0)) }
        guard numbers.count == 2, let number = numbers[0]?.value, let count = numbers[1]?.value else { return nil }
        self.init(number, of: count)
    }

    package static let allowedText =
        "the number of the part and the number of parts, from 1/1 to \(allowedCounts.upperBound)/\(allowedCounts.upperBound)"
}
