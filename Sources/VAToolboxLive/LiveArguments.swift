// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import AudioCoding
import Capture
import CommandLineSupport
import LiveSessions
import MediaTypes
import VAToolbox

/// How pictures and sound are encoded while they are captured.
struct LiveEncoderArguments: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Video codec: auto, h264 or hevc (default: auto).", valueName: "name")
    )
    var codec: ArgumentText<CodecSelection>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Video bitrate in bits per second, such as 800k or 2.5M (default: 0.1 bits per pixel).",
            valueName: "rate"
        )
    )
    var bitrate: ArgumentText<BitRate>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Size of the encoded pictures, such as 1280x720 (default: the input's).", valueName: "size")
    )
    var size: ArgumentText<CommandLineSupport.PictureSize>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Frame rate that the encoder plans for, such as 30; pictures keep their times (default: the input's).",
            valueName: "rate"
        )
    )
    var fps: ArgumentText<Rational>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seconds between key frames: 0.5 to 20 (default: 2).", valueName: "seconds")
    )
    var keyInterval: ArgumentText<PlainNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "B-frames: off, auto, or a maximum; they delay the stream (default: off).",
            valueName: "number"
        )
    )
    var bFrames: ArgumentText<BFrames>?

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Encoder: auto, software, or a render node such as /dev/dri/renderD128; may be repeated (default: auto).",
            valueName: "device"
        )
    )
    var device: [ArgumentText<DeviceChoice>] = []

    @Flag(help: "Fail if no GPU can encode.")
    var requireHardware = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Speed of x264 and x265, such as veryfast (default: veryfast).", valueName: "name")
    )
    var preset: ArgumentText<SoftwareEncoderOptions.Preset>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Bitrate of the AAC audio, such as 128k (default: 128k).", valueName: "rate")
    )
    var audioBitrate: ArgumentText<BitRate>?

    /// An option that several renditions cannot share; `nil` if none was given.
    var optionOfOneRendition: String? {
        size.map { "--size \($0.text)" } ?? bitrate.map { "--bitrate \($0.text)" }
    }

    /// Returns the settings of the encoders.
    ///
    /// - Parameter codec: The codec that the output has; `nil` if it has any.
    /// - Throws: `invalidArgument` for values out of range.
    func settings() throws(MediaError) -> LiveSettings {
        var settings = LiveSettings()
        settings.video.codec = try codec?.value(of: "--codec") ?? .automatic
        if let size = try size?.value(of: "--size") {
            settings.size = LiveSessions.PictureSize(width: size.width, height: size.height)
        }
        settings.frameRate = try fps?.value(of: "--fps")
        settings.bitRate = try bitrate?.value(of: "--bitrate").bitsPerSecond
        settings.video.bFrames = try bFrames?.value(of: "--b-frames") ?? .off
        settings.video.isLowLatency = settings.video.bFrames == .off
        let interval = try keyInterval?.value(of: "--key-interval").value ?? 2
        guard (0.5...20).contains(interval) else {
            throw MediaError(
                .invalidArgument,
                "--key-interval is out of range",
                given: "\(interval)",
                allowed: "0.5 to 20 seconds"
            )
        }
        settings.video.keyFrameInterval = KeyFrameInterval(
            duration: MediaTime(seconds: interval, preferredTimescale: 1000)
        )
        settings.video.software.preset = try preset?.value(of: "--preset") ?? .veryfast
        settings.session.policy = try device.policy(requiringHardware: requireHardware ? "--require-hardware" : nil)
        settings.audio.bitRate = try audioBitrate?.value(of: "--audio-bitrate").bitsPerSecond ?? 128_000
        return settings
    }
}

extension LiveEncoderArguments {
    /// Refuses the options of the encoder for pictures that a camera has coded.
    ///
    /// - Throws: `invalidArgument`.
    func refuseEncoding(of inputs: [LiveInput]) throws(MediaError) {
        guard let coded = inputs.first(where: \.isCoded) else { return }
        let options = [
            ("--bitrate", bitrate != nil), ("--size", size != nil), ("--fps", fps != nil),
            ("--key-interval", keyInterval != nil), ("--b-frames", bFrames != nil), ("--device", !device.isEmpty),
            ("--require-hardware", requireHardware), ("--preset", preset != nil),
        ]
        let given = options.filter(\.1).map(\.0)
        guard given.isEmpty else {
            throw MediaError(
                .invalidArgument,
                "format=h264 keeps the pictures that the camera has coded: there is no encoder to set",
                given: "\(given.joined(separator: ", ")) with \(coded.name)",
                allowed: "another format, such as format=mjpeg, or no such option"
            )
        }
    }
}

/// Where pictures and sound come from.
struct LiveInputArguments: ParsableArguments, Sendable {
    @Option(
        name: .customLong("video"),
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Pictures: KIND[:NAME][,OPTION=VALUE]..., such as x11::0, v4l2:/dev/video0,size=1280x720, or test. Repeat it for "
                + "inputs among which the keys 1 to 9 switch. See vatoolbox devices.",
            valueName: "device"
        )
    )
    var video: [String] = []

    @Option(
        name: .customLong("audio"),
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Sound: KIND[:NAME][,OPTION=VALUE]..., such as pulse:default, pulse:monitor, alsa:hw:0, or test. Repeat it to "
                + "mix devices.",
            valueName: "device"
        )
    )
    var audio: [String] = []

    @Flag(help: "Show what comes in, in a window of X11.")
    var preview = false

    /// What shows the pictures; `nil` without `--preview`.
    ///
    /// - Parameter input: Whether there are pictures.
    func previewer(of input: [LiveInput], console: Console) throws(MediaError) -> (@Sendable (PixelBuffer) -> Void)? {
        guard preview else { return nil }
        guard !input.isEmpty else {
            throw MediaError(.invalidArgument, "--preview shows pictures, and there are none", allowed: "with --video")
        }
        let window = try PreviewWindow(title: input[0].name + " - vatoolbox") { error in
            console.warning("there is no preview any more: \(error.readable)")
        }
        return { window.show($0) }
    }

    /// The inputs of pictures.
    func pictures() throws(MediaError) -> [LiveInput] {
        let addresses = try video.map { (text) throws(MediaError) in try DeviceAddress(text) }
        return try LiveInput.pictures(addresses, names: video)
    }

    /// The input of sound, which may be a mix.
    func sound() throws(MediaError) -> LiveInput? {
        guard !audio.isEmpty else { return nil }
        let addresses = try audio.map { (text) throws(MediaError) in try DeviceAddress(text) }
        return try .sound(addresses, names: audio)
    }
}
