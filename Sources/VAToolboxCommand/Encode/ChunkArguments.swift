// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport
import MediaTypes
import Transcoding

/// Encoding in chunks that outlive the process.
struct ChunkArguments: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "Encode in chunks and keep finished chunks in this folder until the output is complete; the same command then "
                + "continues after an interruption. The input must be a regular file; one output only.",
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
            "Encode only every COUNT-th chunk, beginning with chunk NUMBER, and write no output: for processes that share "
                + "the folder. When all parts are done, the same command without this option writes the output.",
            valueName: "number/count"
        )
    )
    var onlyChunks: ArgumentText<ChunkPart>?

    @Flag(help: "Keep the chunks when the output is complete.")
    var keepChunks = false

    /// Returns the chunks; `nil` if the input is to be encoded in one piece.
    ///
    /// - Throws: `invalidArgument` for values out of range, and for options of chunks without a folder.
    func options() throws(MediaError) -> ChunkOptions? {
        guard let checkpoints else {
            let all = [
                ("--chunk-duration", chunkDuration?.text), ("--parallel", parallel?.text),
                ("--only-chunks", onlyChunks?.text), ("--keep-chunks", keepChunks ? "" : nil),
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
        options.keepsChunks = keepChunks
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
        "NUMBER/COUNT with a COUNT of 1 to \(allowedCounts.upperBound) and a NUMBER of 1 to COUNT, such as 2/8"
}
