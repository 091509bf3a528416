// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
package import MediaTypes
package import VAToolbox

/// What one process does: encodes a clip, in one stream or in several at the same time, and measures.
package struct StreamRequest: Codable, Sendable, Hashable {
    /// What is encoded.
    package var clip: PreparedClip
    /// By what.
    package var encoder: BenchmarkEncoder
    /// At which point.
    package var point: BenchmarkPoint
    /// How pictures are handed over.
    package var mode: BenchmarkMode
    /// Frames of each stream.
    package var frames: Int
    /// How many streams.
    package var streams = 1
    /// The file for the coded samples of the first stream; `nil` if nobody wants them.
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

    /// What each session is asked for.
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

    /// How each session behaves: as any program's does, except that no other encoder may take over, that nothing is tried
    /// beforehand, since every stream is decoded afterwards, and that failures of other runs count for nothing.
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
    /// What a session is told.
    var rateControl: RateControl {
        switch self {
        case .bitRate(let rate): .averageBitRate(rate)
        case .quality(let quality): .constantQuality(quality)
        case .quantizer(let quantizer): .constantQuantizer(quantizer)
        }
    }
}
