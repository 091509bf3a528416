// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import MediaTypes
import TestSupport
import Transcoding
import VAToolbox

/// One transcode of the trial.
struct Job: Sendable {
    /// How it has to end.
    enum Ending: Sendable, Equatable {
        /// With an output; the same each time unless the input is damaged.
        case complete(isRepeatable: Bool)
        case cancelled
        case failed(MediaError.Code)
    }

    /// Where its input comes from.
    enum Input: Sendable {
        /// A file.
        case file(String)
        /// A pipe with a file in it, whose end does not come before all jobs have begun.
        case held(Clip)
        /// A pipe whose pictures never end.
        case endless
        /// A pipe into which nothing is written.
        case silent
    }

    enum Encoder: Sendable { case x264, x265, x264InHelper, gpu }

    let number: Int
    let kind: String
    var input: Input
    /// The extension of the output's name; `nil` for a pipe whose reader takes nothing.
    var output: String?
    var encoder: Encoder
    var ending: Ending
    /// A part of what has to stand in its log.
    var expectedLog: String?

    var name: String { number < 10 ? "0\(number)-\(kind)" : "\(number)-\(kind)" }

    /// Every second job is cancelled. Of the others two fail, and the rest completes.
    static func plan(_ options: Options) -> [Job] {
        let kept = kept(options), cancelled = cancelled(options)
        return (0..<options.jobs).map { number in
            let (index, isCancelled) = (number / 2, number % 2 == 1)
            let kinds = isCancelled ? cancelled : kept
            return kinds[index % kinds.count](number)
        }
    }

    private typealias Maker = (Int) -> Job

    private static func kept(_ options: Options) -> [Maker] {
        func whole(
            _ kind: String,
            _ input: Input,
            _ output: String,
            _ encoder: Encoder = .x264,
            log: String? = "profile"
        ) -> Maker {
            {
                Job(
                    number: $0,
                    kind: kind,
                    input: input,
                    output: output,
                    encoder: encoder,
                    ending: .complete(isRepeatable: true),
                    expectedLog: log
                )
            }
        }
        let failing: [Maker] = [
            {
                Job(
                    number: $0,
                    kind: "missing",
                    input: .file("nowhere.mp4"),
                    output: "mp4",
                    encoder: .x264,
                    ending: .failed(.unavailable)
                )
            },
            {
                Job(
                    number: $0,
                    kind: "cut",
                    input: .file("cut.mp4"),
                    output: "mp4",
                    encoder: .x264,
                    ending: .failed(.malformedData),
                    expectedLog: "moov atom not found"
                )
            },
        ]
        let damaged: Maker = {
            Job(
                number: $0,
                kind: "damaged",
                input: .file("noisy.h264"),
                output: "mkv",
                encoder: .x264,
                ending: .complete(isRepeatable: false),
                expectedLog: "error while decoding MB"
            )
        }
        let gpu = options.usesGPU ? [whole("gpu", .held(.ts), "mp4", .gpu, log: nil)] : []
        let others =
            [damaged, whole("helper", .held(.matroska), "mp4", .x264InHelper)] + gpu + [
                whole("x265", .held(.matroska), "mkv", .x265, log: nil),
                whole("mp4", .file("sound.mp4"), "mp4"),
                whole("ts", .held(.ts), "ts"),
                whole("filter", .held(.rgb), "h264"),
                whole("interlaced", .file("interlaced.mkv"), "mov"),
                whole("pictures", .held(.pictures), "mkv"),
            ]
        // Two fail, however many there are.
        return failing + (0..<options.jobs / 2).map { others[$0 % others.count] }
    }

    private static func cancelled(_ options: Options) -> [Maker] {
        func endless(_ kind: String, _ encoder: Encoder, _ output: String?, _ input: Input = .endless) -> Maker {
            { Job(number: $0, kind: kind, input: input, output: output, encoder: encoder, ending: .cancelled) }
        }
        return (options.usesGPU ? [endless("endless-gpu", .gpu, "mp4")] : []) + [
            endless("endless-helper", .x264InHelper, "ts"), endless("stalled-output", .x264, nil),
            endless("silent-input", .x264, "mp4", .silent), endless("endless-x265", .x265, "mkv"),
            endless("endless-x264", .x264, "mov"),
        ]
    }

    /// What a transcoder is asked for. Encoders have one thread and a quantizer, so that they do the same each time; each job
    /// has a size and a quantizer of its own, so that they do not do the same as others.
    func request(_ folder: String, _ output: String, _ log: LogRecorder) -> TranscodeRequest {
        var request = TranscodeRequest(input: inputPath(folder), output: output)
        request.logger = log.logger(name)
        request.source.threads = 2
        if self.output == nil { request.sink.format = .ts }
        request.video.base.codec = encoder == .x265 ? .hevc : .h264
        request.video.base.rateControl = .constantQuantizer(20 + number % 12)
        request.video.base.software.preset = encoder == .x265 ? .ultrafast : .veryfast
        request.video.base.software.threads = 1
        request.video.size = (160 + 16 * (number % 7), 96 + 16 * (number % 5))
        request.session.policy = encoder == .gpu ? .requireHardware : .requireSoftware
        request.session.isolation = encoder == .x264InHelper ? .process : .automatic
        return request
    }

    private func inputPath(_ folder: String) -> String {
        switch input {
        case .file(let file): "\(folder)/\(file)"
        case .held, .endless, .silent: pipePath(folder)
        }
    }

    /// The pipe of an input that is one.
    func pipePath(_ folder: String) -> String { "\(folder)/input-\(name)" }
}
