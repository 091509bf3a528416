// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import BitstreamSyntax
import MediaIO
import MediaTypes
import Transcoding
import VAToolbox

/// Encodes a file into a ladder for HTTP Live Streaming: `LadderToHLS INPUT PLAYLIST.m3u8`.
@main struct LadderToHLS {
    static func main() async throws {
        guard CommandLine.arguments.count == 3 else {
            print("usage: LadderToHLS INPUT PLAYLIST.m3u8")
            return
        }
        let rungs = [(height: 360, bitRate: 800_000), (height: 180, bitRate: 250_000)]
        let outputs = rungs.map { rung in
            var output = OutputRequest(path: "\(rung.height)p")
            output.video.height = rung.height
            output.video.base.codec = .h264
            output.video.base.rateControl = .averageBitRate(rung.bitRate)
            output.audio.rule = .encode(AudioEncoderSettings(.aac))
            return output
        }
        var request = TranscodeRequest(input: CommandLine.arguments[1], output: "")
        (request.first, request.others) = (outputs[0], Array(outputs.dropFirst()))

        var stream = StreamOptions(path: CommandLine.arguments[2])
        stream.segmentDuration = MediaTime(value: 2, timescale: 1)
        stream.overwrite = true
        request.stream = stream

        let report = try await Transcoder(request).run()
        for variant in report.stream?.variants ?? [] {
            let bitRate = variant.bitRates.average
            print("\(variant.path): \(variant.segmentCount) segments, \(bitRate) bit/s, \(variant.codec)")
        }
    }
}
