// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import BitstreamSyntax
import MediaTypes
import Streaming

/// Units without content, for queues and outputs.
enum LiveUnits {
    static let format = FormatDescription(codec: .h264, width: 16, height: 16, parameterSets: [])

    /// A picture with a time in milliseconds.
    static func picture(_ time: Int64, isKeyFrame: Bool = false, isReference: Bool = true, bytes: Int = 100) -> LiveUnit
    {
        .video(
            SampleBuffer(
                data: CodedData([UInt8](repeating: 0, count: bytes)),
                presentationTime: MediaTime(value: time, timescale: 1000),
                decodeTime: MediaTime(value: time, timescale: 1000),
                duration: .invalid,
                isKeyFrame: isKeyFrame,
                isReference: isReference,
                formatDescription: format
            )
        )
    }

    /// A packet of audio with a time in milliseconds.
    static func audio(_ time: Int64, track: Int = 0, bytes: Int = 10) -> LiveUnit {
        .audio(
            AudioSample(
                data: CodedData([UInt8](repeating: 0, count: bytes)),
                presentationTime: MediaTime(value: time, timescale: 1000),
                duration: MediaTime(value: 20, timescale: 1000)
            ),
            track: track
        )
    }
}

extension LiveUnit {
    /// `K` for a key frame, `P` for another picture, `A` for audio, with the time in milliseconds.
    var label: String {
        let time = decodeTime.converted(to: 1000).value
        switch self {
        case .video(let sample): return (sample.isKeyFrame ? "K" : "P") + String(time)
        case .audio: return "A" + String(time)
        }
    }
}
