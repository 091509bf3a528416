// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
package import MediaTypes
package import VAToolbox

/// A request to one process: encode a clip in one or several simultaneous streams, and measure.
package struct StreamRequest: Codable, Sendable, Hashable {
    /// The clip.
    package var clip: PreparedClip
    /// The encoder.
    package var encoder: BenchmarkEncoder
    /// The point.
    package var point: BenchmarkPoint
    /// The mode of submitting pictures.
    package var mode: BenchmarkMode
    /// The number of frames per stream.
    package var frames: Int
    /// The number of streams.
    package var streams = 1
    /// The file for the coded samples of the first stream; `nil` if they are not kept.
    package var output: String?

    package init(
        clip: PreparedClip,
        encoder: BenchmarkEncoder,
        point: BenchmarkPoint,
        mode: BenchmarkMode,
        frames: Int,
        streams: Int = 1,
        output: String? = nil
    ) {
        self.clip = clip
        self.encoder = encoder
        self.point = point
        self.mode = mode
        self.frames = frames
        self.streams = streams
        self.output = output
    }

    /// The configuration of each session.
    package var configuration: EncoderConfiguration {
        var configuration = EncoderConfiguration(width: clip.size.width, height: clip.size.height)
        configuration.codec = encoder.codec == .h264 ? .h264 : .hevc
        configuration.bitDepth = clip.bitDepth
        configuration.frameRate = clip.frameRate.value
        configuration.color = clip.color.description
        configuration.isLowLatency = mode == .lowLatency
        configuration.rateControl = point.rateControl
        switch encoder {
        case .software(_, let preset): configuration.software.preset = preset
        case .hardware(let choice):
            configuration.hardware.lowPower = choice.isLowPower ? .required : .avoided
            configuration.hardware.qualityLevel = choice.qualityLevel
        }
        return configuration
    }

    /// The options of each session. They are the defaults, except that no other encoder may take over, that no test
    /// encode is made, because every stream is decoded afterwards, and that failures of other runs do not count.
    package var options: SessionOptions {
        var options = SessionOptions()
        options.policy = encoder.node.map { .devices([$0], software: false) } ?? .requireSoftware
        options.devices.proof = .skipped
        options.devices.breaker = nil
        if mode != .throughput { options.realTime = RealTimeMode() }
        return options
    }
}

extension BenchmarkPoint {
    /// The rate control of a session.
    var rateControl: RateControl {
        switch self {
        case .bitRate(let rate): .averageBitRate(rate)
        case .quality(let quality): .constantQuality(quality)
        case .quantizer(let quantizer): .constantQuantizer(quantizer)
        }
    }
}
