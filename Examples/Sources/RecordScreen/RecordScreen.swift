// SPDX-License-Identifier: GPL-2.0-or-later

import AssetWriting
import Capture
import LiveSessions
import MediaTypes
import Streaming

/// Records a screen and sound into a file, or streams them: `RecordScreen OUTPUT [SECONDS [PICTURES [SOUND]]]`.
///
/// OUTPUT is a file, or the address of a receiver, such as `srt://server:9000`. PICTURES and SOUND are addresses of
/// devices, such as `x11` and `pulse:monitor`; by default they are `test`: the test chart and the test tone.
@main struct RecordScreen {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard let output = arguments.first else {
            print("usage: RecordScreen OUTPUT [SECONDS [PICTURES [SOUND]]]")
            return
        }
        let seconds = arguments.count > 1 ? Int64(arguments[1]) ?? 5 : 5
        let pictures = arguments.count > 2 ? arguments[2] : "test"
        let sound = arguments.count > 3 ? arguments[3] : "test"

        let screen = try LiveInput.pictures(DeviceAddress(pictures), name: pictures)
        let microphone = try LiveInput.sound([DeviceAddress(sound)], names: [sound])

        var settings = LiveSettings()
        settings.video.codec = .h264
        settings.video.bFrames = .off
        settings.video.isLowLatency = true
        settings.video.software.preset = .veryfast
        settings.video.keyFrameInterval = KeyFrameInterval(duration: MediaTime(value: 2, timescale: 1))
        settings.bitRate = 4_000_000
        settings.duration = MediaTime(value: seconds, timescale: 1)  // without it: until `stop()`

        if output.contains("://") {
            try await stream(screen, microphone, settings, to: [output])
        } else {
            try await record(screen, microphone, settings, to: output)
        }
    }

    /// Records into a file, of which a crash loses at most a second.
    private static func record(
        _ screen: LiveInput,
        _ microphone: LiveInput,
        _ settings: LiveSettings,
        to path: String
    ) async throws {
        var options = AssetWriter.Options()
        options.sink.overwrite = true
        options.sink.isFragmented = true
        options.sink.fragmentInterval = MediaTime(value: 1, timescale: 1)
        options.sink.isDefragmented = true  // at the end, the file becomes one that every player can seek in
        let session = try LiveSession(
            pictures: [screen],
            sound: microphone,
            settings: settings,
            path: path,
            options: options
        )
        let summary = try await session.run()
        let lost = session.status.inputs.map { $0.lostByDevice + $0.lostByReader }.reduce(0, +)
        print("\(summary.file.sampleCount) pictures to \(path), \(lost + session.status.lostByEncoder) lost")
    }

    /// Sends one encode to several receivers.
    private static func stream(
        _ screen: LiveInput,
        _ microphone: LiveInput,
        _ settings: LiveSettings,
        to addresses: [String]
    ) async throws {
        var settings = settings
        settings.absence = .slate(nil)  // receivers get pictures also while the screen delivers none
        let receivers = try addresses.map { address in try LiveDestination(address) }
        let session = try StreamingSession(
            pictures: [screen],
            sound: microphone,
            to: receivers,
            settings: settings
        )
        let reporting = Task {
            while !Task.isCancelled {
                for output in session.status.outputs {
                    print("\(output.address): \(output.state.name), \(output.sentPictures) pictures")
                }
                try await Task.sleep(for: .seconds(1))
            }
        }
        defer { reporting.cancel() }
        _ = try await session.run()
    }
}
