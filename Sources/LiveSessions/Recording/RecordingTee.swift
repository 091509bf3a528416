// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaIO
internal import MediaTypes

/// Passes what a stream encodes to its receivers, and to a recorder.
///
/// The receivers decide what succeeds. However the stream ends, the recording is completed with what it has by then.
final class RecordingTee: OutputSink {
    private let stream: any OutputSink
    private let recorder: StreamRecorder

    init(_ stream: any OutputSink, _ recorder: StreamRecorder) {
        (self.stream, self.recorder) = (stream, recorder)
        recorder.start()
    }

    var takesAudio: Bool { stream.takesAudio }
    var temporaryPath: String? { nil }

    func omitVideo() throws(MediaError) {
        try stream.omitVideo()
        recorder.add(.omitVideo)
    }

    func addTrack(_ track: MediaTrack) throws(MediaError) -> MediaSink.Acceptance {
        let acceptance = try stream.addTrack(track)
        if acceptance == .accepted { recorder.add(.track(track)) }
        return acceptance
    }

    func setChapters(_ chapters: [Chapter]) throws(MediaError) -> MediaSink.Acceptance {
        try stream.setChapters(chapters)
    }

    func setMetadata(_ metadata: [String: String]) throws(MediaError) -> MediaSink.Acceptance {
        try stream.setMetadata(metadata)
    }

    func prepareForSwitches() {
        stream.prepareForSwitches()
        recorder.add(.prepareForSwitches)
    }

    func write(_ sample: SampleBuffer) throws(MediaError) {
        recorder.add(.picture(sample))
        try stream.write(sample)
    }

    func write(_ packet: MediaPacket) throws(MediaError) {
        recorder.add(.packet(packet))
        try stream.write(packet)
    }

    func complete() throws(MediaError) { try stream.complete() }

    func finish() throws(MediaError) -> MediaSink.Summary {
        recorder.beginFinish()
        defer { recorder.finish() }
        return try stream.finish()
    }

    func abort() {
        stream.abort()
        recorder.beginFinish()
    }
}
