// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import BitstreamSyntax
import Foundation
import MediaTypes
import TestSupport
import Testing

@testable import Streaming

/// Streams to servers of other projects, whose recordings decode to what was sent.
@Suite(.blocks) struct RTMPServerProgramTests {
    @Test(arguments: [0, 2])
    func nginxRecordsWhatWasSent(reordering: Int) async throws {
        let clip = try RTMPClip(reordering: reordering)
        let nginx = try NginxServer()
        let units = clip.units
        let address = try RTMPAddress("rtmp://127.0.0.1:\(nginx.port)/live/stream?token=1")
        let attempt = try await RTMPAttempt.run(address, tracks: clip.tracks) { index in
            index < units.count ? units[index] : nil
        }
        #expect(attempt.error == nil)
        let recording = try await nginx.recording(of: "stream")
        try check(recording, clip)
        let information = try RTMPTool.run(
            "ffprobe",
            ["-v", "error", "-show_entries", "stream=width,height,r_frame_rate", "-of", "csv=p=0", recording]
        )
        #expect(String(decoding: information.output, as: UTF8.self).contains("192,112,25/1"))
    }

    /// Parameter sets of another profile, size and colour in the middle of a stream.
    @Test func nginxRecordsAChangeOfTheFormat() async throws {
        let clips = [try RTMPClip(reordering: 0), try RTMPClip(frames: 30, reordering: 2, size: "128x96")]
        let nginx = try NginxServer()
        let later = MediaTime(value: 2, timescale: 1)
        let pictures = clips[0].video.map { LiveUnit.video($0) } + clips[1].video.map { .video($0).delayed(by: later) }
        var tracks = clips[0].tracks
        tracks.audio = []
        let address = try RTMPAddress("rtmp://127.0.0.1:\(nginx.port)/live/stream")
        let attempt = try await RTMPAttempt.run(address, tracks: tracks) { index in
            index < pictures.count ? pictures[index] : nil
        }
        #expect(attempt.error == nil)
        let recording = try await nginx.recording(of: "stream")
        let hashes = try RTMPTool.hashes(
            ["-xerror", "-err_detect", "explode", "-i", recording],
            ["-map", "0:v", "-fps_mode", "passthrough", "-noautoscale"],
            // FFmpeg's parser, which looks ahead before it decodes, does not know the change and complains.
            mayComplain: true
        )
        #expect(try hashes == clips[0].frameHashes() + clips[1].frameHashes())
    }

    @Test func nginxRecordsSoundAlone() async throws {
        let clip = try RTMPClip.shared.get()
        let nginx = try NginxServer()
        let address = try RTMPAddress("rtmp://127.0.0.1:\(nginx.port)/live/stream")
        let tracks = LiveTracks(video: nil, audio: [clip.audioDescription])
        let attempt = try await RTMPAttempt.run(address, tracks: tracks) { index in
            index < clip.audio.count ? .audio(clip.audio[index], track: 0) : nil
        }
        #expect(attempt.error == nil)
        let recording = try await nginx.recording(of: "stream")
        let sound = try RTMPTool.hashes(["-i", recording], ["-map", "0:a", "-c", "copy"])
        #expect(try sound == clip.audioHashes())
    }

    @Test func nginxRefusesASecondPublisher() async throws {
        let clip = try RTMPClip.shared.get()
        let nginx = try NginxServer()
        let address = try RTMPAddress("rtmp://127.0.0.1:\(nginx.port)/live/hidden")
        let (tracks, unit) = (clip.tracks, clip.units[0])
        let error = try await onThread { () throws -> MediaError? in
            let stop = try StopSignal()
            let first = try RTMPAttempt.onceListening { () throws(MediaError) in
                try RTMPConnection(to: address, tracks: tracks, stop: stop)
            }
            try first.send(unit)
            defer { try? first.finish() }
            do {
                _ = try RTMPConnection(to: address, tracks: tracks, stop: try StopSignal())
                return nil
            } catch {
                return error as? MediaError
            }
        }
        #expect(error?.code == .unavailable)
        #expect(error?.message.contains("NetStream.Publish.BadName") == true)
        #expect(error?.isPermanent == false)
        #expect(error?.description.contains("hidden") == false)
    }

    @Test func nginxKnowsNoSuchApplication() async throws {
        let clip = try RTMPClip.shared.get()
        let nginx = try NginxServer()
        let address = try RTMPAddress("rtmp://127.0.0.1:\(nginx.port)/nowhere/hidden")
        let attempt = try await RTMPAttempt.run(address, tracks: clip.tracks) { _ in nil }
        #expect(attempt.error?.code == .inputOutput)
        #expect(attempt.error?.message.contains("closed the connection while connecting to the application") == true)
    }

    /// A live stream that has run for longer than 24 bits of milliseconds, and is recorded by ffmpeg.
    @Test func ffmpegReceivesALateStream() async throws {
        try await throughFFmpeg("ffmpeg", try RTMPClip(), startingAt: 0xFFFFFF - 500)
    }

    @Test func ffmpegReceivesH264() async throws { try await throughFFmpeg("ffmpeg", try RTMPClip()) }

    /// Enhanced RTMP, which FFmpeg can read since 6.1.
    @Test(arguments: [0, 2])
    func ffmpegReceivesHEVC(reordering: Int) async throws {
        try await throughFFmpeg(try NewerFFmpeg.path.get(), try RTMPClip(.hevc, reordering: reordering))
    }

    private func throughFFmpeg(_ program: String, _ clip: RTMPClip, startingAt milliseconds: Int64 = 0) async throws {
        let folder = try RTMPFolder()
        let port = try LoopbackListener.freePort()
        let start = MediaTime(value: milliseconds, timescale: 1000)
        let recording = folder.path("recording.mkv")
        let input = ["-listen", "1", "-i", "rtmp://127.0.0.1:\(port)/app/key"]
        let ffmpeg = try RTMPTool.start(
            program,
            ["-v", "error", "-nostdin"] + input + ["-map", "0", "-c", "copy", "-copyts", recording],
            in: folder
        )
        defer { RTMPTool.kill(ffmpeg) }
        let units = clip.units.map { $0.delayed(by: start) }
        let address = try RTMPAddress("rtmp://127.0.0.1:\(port)/app/key")
        let attempt = try await RTMPAttempt.run(address, tracks: clip.tracks) { index in
            index < units.count ? units[index] : nil
        }
        #expect(attempt.error == nil)
        let hasEnded = await Patience.wait { !ffmpeg.isRunning }
        let errors = try String(contentsOfFile: folder.path("errors"), encoding: .utf8)
        try #require(hasEnded && ffmpeg.terminationStatus == 0, "\(errors)")
        try check(recording, clip, startingAt: milliseconds)
    }

    /// Compares a recording with what was sent: pictures, packets of audio, and times.
    private func check(_ recording: String, _ clip: RTMPClip, startingAt start: Int64 = 0) throws {
        #expect(try RTMPTool.frameHashes(of: recording) == clip.frameHashes())
        let sound = try RTMPTool.hashes(["-i", recording], ["-map", "0:a", "-c", "copy"])
        #expect(try sound == clip.audioHashes())
        let expected = clip.video.map { start + Int64(($0.presentationTime.seconds * 1000).rounded()) }
        #expect(try times(of: recording, "v") == expected.sorted())
        let sounds = clip.audio.map { start + Int64(($0.presentationTime.seconds * 1000).rounded()) }
        #expect(try times(of: recording, "a") == sounds)
    }

    /// The presentation times of the packets in milliseconds, ascending.
    private func times(of recording: String, _ stream: String) throws -> [Int64] {
        let result = try RTMPTool.run(
            "ffprobe",
            ["-v", "error", "-select_streams", stream, "-show_entries", "packet=pts_time", "-of", "csv=p=0", recording]
        )
        return String(decoding: result.output, as: UTF8.self).split(separator: "\n")
            .compactMap { Double($0.prefix { $0 != "," }) }.map { Int64(($0 * 1000).rounded()) }.sorted()
    }
}

extension LiveUnit {
    fileprivate func delayed(by delay: MediaTime) -> LiveUnit {
        switch self {
        case .video(var sample):
            sample.presentationTime = sample.presentationTime + delay
            sample.decodeTime = sample.decodeTime + delay
            return .video(sample)
        case .audio(var sample, let track):
            sample.presentationTime = sample.presentationTime + delay
            return .audio(sample, track: track)
        }
    }
}

/// nginx with its module for RTMP, which records streams; it ends with the object. It may not listen yet.
private final class NginxServer: Sendable {
    let port: UInt16
    private let folder: RTMPFolder
    private let process: Process

    init() throws {
        (folder, port) = (try RTMPFolder(), try LoopbackListener.freePort())
        try folder.write(
            """
            load_module /usr/lib/nginx/modules/ngx_rtmp_module.so;
            daemon off;
            master_process off;
            pid \(folder.path)/pid;
            error_log \(folder.path)/log info;
            events {}
            rtmp {
                server {
                    listen 127.0.0.1:\(port);
                    application live {
                        live on;
                        record all;
                        record_path \(folder.path);
                    }
                }
            }
            """,
            to: "configuration"
        )
        process = try RTMPTool.start("nginx", ["-p", folder.path, "-c", folder.path("configuration")], in: folder)
    }

    deinit { RTMPTool.kill(process) }

    /// Waits for the end of a stream, and returns the path of its recording.
    func recording(of key: String) async throws -> String {
        let log = folder.path("log")
        let hasEnded = await Patience.wait {
            ((try? String(contentsOfFile: log, encoding: .utf8)) ?? "").contains("disconnect")
        }
        try #require(hasEnded, "\((try? String(contentsOfFile: log, encoding: .utf8)) ?? "")")
        return folder.path("\(key).flv")
    }
}
