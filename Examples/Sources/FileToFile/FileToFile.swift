// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import MediaTypes
import Transcoding
import VAToolbox

/// Encodes the video of a file again and copies its other tracks: `FileToFile INPUT OUTPUT`.
@main struct FileToFile {
    static func main() async throws {
        guard CommandLine.arguments.count == 3 else {
            print("usage: FileToFile INPUT OUTPUT")
            return
        }
        var request = TranscodeRequest(input: CommandLine.arguments[1], output: CommandLine.arguments[2])
        request.sink.overwrite = true
        request.video.base.rateControl = .constantQuality(23)
        request.video.size = (640, 360)

        let transcoder = Transcoder(request) { notice in
            switch notice {
            case .started(let track, let encoder):
                print("\(track.codecName) \(track.width)x\(track.height) goes to \(encoder.identity)")
            case .session(.encoderSwitched(let change)):
                print("\(change.to) takes over from \(change.from) at \(change.presentationTime.seconds) s")
            case .session, .decoding, .tried:
                break
            case .omission(let what):
                print("omitted: \(what)")
            }
        }
        let watching = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: .seconds(1))
                print("\(transcoder.progress.framesOut) frames")
            }
        }
        defer { watching.cancel() }

        let report = try await transcoder.run()
        print("\(report.statistics.codedFrames) frames, \(report.output.byteCount) bytes to \(request.output)")
        for adjustment in report.adjustments {
            print("not as asked: \(adjustment)")
        }
        if report.problems.isLossy {
            print("the input is damaged: \(report.problems.descriptions.joined(separator: "; "))")
        }
    }
}
