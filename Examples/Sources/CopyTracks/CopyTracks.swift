// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import MediaTypes
import Remuxing

/// Copies the tracks of a file into another container: `CopyTracks INPUT OUTPUT [SECONDS]`, from that time on.
@main struct CopyTracks {
    static func main() async throws {
        guard (3...4).contains(CommandLine.arguments.count) else {
            print("usage: CopyTracks INPUT OUTPUT [SECONDS]")
            return
        }
        var request = RemuxRequest(input: CommandLine.arguments[1], output: CommandLine.arguments[2])
        request.sink.overwrite = true
        if CommandLine.arguments.count == 4, let seconds = Int64(CommandLine.arguments[3]) {
            request.start = MediaTime(value: seconds, timescale: 1)
        }

        let remuxer = Remuxer(request)
        let report = try await remuxer.run()
        for track in report.tracks {
            print("\(track.kind.rawValue) \(track.codecName): \(track.packetCount) packets")
        }
        for loss in report.losses {
            print("lost: \(loss)")
        }
        if let start = report.start, !start.isExact {
            print("begins with the key frame at \(start.actual.seconds) s")
        }
    }
}
