// SPDX-License-Identifier: GPL-2.0-or-later

import AssetWriting
import MediaIO
import MediaTimeline
import MediaTypes
import Transcoding

/// What the article about files and streams shows of segments.
func recordSegments(
    _ configuration: EncoderConfiguration,
    _ record: (AssetWriter, VideoInput) async throws -> Void
) async throws -> StreamReport {
    let segments = SegmentSink.Options(duration: MediaTime(value: 2, timescale: 1))
    let folder = try StreamFolder(StreamOptions(path: CommandLine.arguments[1]))
    let writer = try await AssetWriter(segments: segments) { segment throws(MediaError) in
        try folder.store(segment)
    }
    let video = try await writer.addVideo(configuration)
    try await writer.startSession(.at(.zero))
    try await record(writer, video)
    _ = try await writer.finish()
    let report = try folder.publish(frameRate: 25)
    return report
}

/// What the clock of a device is documented with: the times of buffers, given the frames in each and when it arrived.
func placeBuffers(_ buffers: [(frames: Int, now: MediaTime)]) -> [MediaTime] {
    var times: [MediaTime] = []
    var framesBefore: Int64 = 0
    var clock = DeviceClock(ticksPerSecond: 48000)
    for (frames, now) in buffers {
        let time = clock.place(position: framesBefore, count: frames, arrival: now)
        times.append(time)
        framesBefore += Int64(frames)
    }
    return times
}
