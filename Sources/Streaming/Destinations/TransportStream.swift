// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaIO
internal import MediaTypes

/// The transport stream of a connection.
final class TransportStream: StreamMuxer {
    private let muxer: TransportStreamMuxer

    init(_ tracks: LiveTracks) throws(MediaError) {
        muxer = try TransportStreamMuxer(video: tracks.video, frameRate: tracks.frameRate, audio: tracks.audio)
    }

    func write(_ unit: LiveUnit) throws(MediaError) -> [UInt8] {
        switch unit {
        case .video(let sample): try muxer.write(sample)
        case .audio(let sample, let track): try muxer.write(sample, track: track)
        }
    }

    func finish() throws(MediaError) -> [UInt8] { try muxer.finish() }
}
