// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport
import MediaTypes
import Transcoding

/// Several outputs of one input.
struct LadderArguments: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Several outputs of one input, which is decoded once: heights with optional bitrates, such as "
                + "1080p:5M,720p,480p. The path of a file must contain {height}; a playlist gets a variant per rung. Without a bitrate, --crf or --qp, the bitrate "
                + "of a rung is 5M x (height / 1080)^1.5.",
            valueName: "rungs"
        )
    )
    var ladder: ArgumentText<Ladder>?

    /// Replaces the output of a request by one per rung.
    ///
    /// - Parameters:
    ///   - size: The value of `--size`.
    ///   - rate: The rate control options, which apply to every rung.
    /// - Throws: `invalidArgument` for contradictory options, or a path without a place for the height.
    func apply(
        to request: inout TranscodeRequest,
        size: String?,
        rate: RateControlArguments
    ) throws(MediaError) {
        guard let ladder else { return }
        let rungs = try ladder.value(of: "--ladder").rungs
        if let size { throw contradiction("--ladder", "--size \(size)") }
        if let target = rate.target?.text {
            let allowed = "several -o, each with its --size and --target"
            throw contradiction("--ladder", "--target \(target)", allowed: allowed)
        }
        if let bitrate = rate.bitrate?.text {
            throw contradiction("--ladder", "--bitrate \(bitrate)", allowed: "bitrates in --ladder")
        }
        let isQuality =
            switch request.video.base.rateControl {
            case .constantQuality, .constantQuantizer: true
            case .averageBitRate, .constantBitRate: false
            }
        let other = rate.nameOfOtherMode
        if let other, !isQuality {
            throw contradiction("--ladder", other, allowed: "--crf, --qp, or bitrates in --ladder")
        }
        guard request.output.contains(Ladder.heightMark) else {
            throw MediaError(
                .invalidArgument,
                "--ladder needs a path for each output",
                given: request.output,
                allowed: "a path with \(Ladder.heightMark), such as film-\(Ladder.heightMark)p.mp4"
            )
        }
        var outputs: [OutputRequest] = []
        for rung in rungs {
            var output = request.first
            output.path = output.path.replacing(Ladder.heightMark, with: "\(rung.height)")
            output.video.height = rung.height
            if rung.bitRate != nil, let other { throw contradiction("a bitrate in --ladder", other) }
            if let rate = rung.bitRate ?? (isQuality ? nil : Ladder.defaultBitRate(height: rung.height)) {
                output.video.base.rateControl = .averageBitRate(rate)
            }
            outputs.append(output)
        }
        request.first = outputs[0]
        request.others = Array(outputs.dropFirst())
    }
}
