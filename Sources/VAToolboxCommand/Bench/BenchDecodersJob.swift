// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import EncodingBenchmark
import Glibc
import MediaTypes

/// One run of `vatoolbox bench decoders`, from the command line to the exit status.
final class BenchDecodersJob: Sendable {
    private let command: BenchDecodersCommand
    /// The console, the document and the signals.
    let base: FileJob

    init(_ command: BenchDecodersCommand) {
        self.command = command
        base = FileJob([command.report], usesStandardOutput: false, ending: "ending the session")
    }

    /// Measures and reports the result.
    func run() async -> ExitStatus {
        do throws(MediaError) {
            let benchmark = DecodersBenchmark(try command.options())
            base.begin { benchmark.stop() }
            let report = try await base.watching {
                benchmark.progress
            } during: { () async throws(MediaError) in
                try await benchmark.run()
            }
            return deliver(report)
        } catch {
            return base.fail(error)
        }
    }

    private func deliver(_ report: DecodersReport) -> ExitStatus {
        let status: ExitStatus = report.hasWrongDecoders ? .failed : .done
        if !base.isDocument, !command.report.quiet {
            let text = report.text(width: min(Terminal.outputWidth, 80))
            guard Terminal.write(text, to: STDOUT_FILENO) else {
                base.console.error("the report cannot be written to standard output")
                return .failed
            }
        }
        for decoder in report.decoders where decoder.isWrong {
            if let agreement = decoder.agreement { base.console.error(agreement) }
        }
        return base.deliver(report.document(status), status)
    }
}

extension BenchmarkProgress: RunProgress {
    func line(elapsed: Double, width: Int) -> String { line(told: 0, elapsed: elapsed, width: width) }

    var hasBegun: Bool { done > 0 }

    var members: JSON.KeyValuePairs {
        ["phase": .string(activity), "done": .integer(done), "total": .integer(total)]
    }
}
