// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import MediaTypes

/// Sound as numbers between -1 and 1, one array per channel.
struct Signal {
    var channels: [[Double]]

    /// Silence with clicks at some frames of the first channel.
    static func clicks(_ frames: [Int], count: Int, channelCount: Int = 1) -> Signal {
        var signal = Signal(channels: Array(repeating: Array(repeating: 0, count: count), count: channelCount))
        for frame in frames { signal.channels[0][frame] = 0.9 }
        return signal
    }

    var frameCount: Int { channels[0].count }

    /// The buffers of this sound, in a format of as many channels.
    ///
    /// - Parameter time: The time of a buffer by its first frame.
    func buffers(
        _ format: AudioFormat,
        size: Int = 1000,
        time: (Int) -> MediaTime
    ) throws -> [AudioBuffer] {
        try stride(from: 0, to: frameCount, by: size).map { start in
            let end = min(start + size, frameCount)
            var planes = Array(repeating: [UInt8](), count: format.planeCount)
            for frame in start..<end {
                for (channel, samples) in channels.enumerated() {
                    planes[format.isInterleaved ? 0 : channel] += format.sampleType.bytes(samples[frame])
                }
            }
            return try AudioBuffer(planes: planes, format: format, presentationTime: time(start))
        }
    }

    /// Joins decoded buffers.
    init(_ buffers: [AudioBuffer]) {
        channels = Array(repeating: [], count: buffers.first?.format.layout.channelCount ?? 1)
        for buffer in buffers {
            let format = buffer.format
            buffer.withUnsafePlanes { planes in
                for frame in 0..<buffer.frameCount {
                    for channel in channels.indices {
                        let plane = planes[format.isInterleaved ? 0 : channel]
                        let index = format.isInterleaved ? frame * channels.count + channel : frame
                        channels[channel].append(format.sampleType.value(plane, index))
                    }
                }
            }
        }
    }

    init(channels: [[Double]]) { self.channels = channels }

    /// The frames of a channel that are louder than a limit.
    func loud(above limit: Double = 0.4, channel: Int = 0) -> [Int] {
        channels[channel].indices.filter { abs(channels[channel][$0]) > limit }
    }
}

extension AudioFormat.SampleType {
    func bytes(_ value: Double) -> [UInt8] {
        switch self {
        case .int16: withUnsafeBytes(of: Int16(value * 32767).littleEndian, Array.init)
        case .int24: Array(withUnsafeBytes(of: Int32(value * 8_388_607).littleEndian, Array.init).prefix(3))
        case .int32: withUnsafeBytes(of: Int32(value * 2_147_483_647).littleEndian, Array.init)
        case .float32: withUnsafeBytes(of: Float(value), Array.init)
        }
    }

    func value(_ plane: UnsafeRawBufferPointer, _ index: Int) -> Double {
        switch self {
        case .int16: Double(plane.loadUnaligned(fromByteOffset: index * 2, as: Int16.self)) / 32767
        case .int24:
            Double(
                Int32(plane[index * 3]) << 8 | Int32(plane[index * 3 + 1]) << 16
                    | Int32(bitPattern: UInt32(plane[index * 3 + 2]) << 24)
            ) / 2_147_483_647
        case .int32: Double(plane.loadUnaligned(fromByteOffset: index * 4, as: Int32.self)) / 2_147_483_647
        case .float32: Double(plane.loadUnaligned(fromByteOffset: index * 4, as: Float.self))
        }
    }
}

/// Encodes buffers and decodes the result.
func roundTrip(
    _ buffers: [AudioBuffer],
    _ settings: AudioEncoderSettings,
    end: MediaTime? = nil
) throws -> (samples: [AudioSample], decoded: [AudioBuffer], encoder: AudioEncoder) {
    let encoder = try AudioEncoder(settings, input: buffers[0].format, end: end)
    var samples: [AudioSample] = []
    for buffer in buffers { samples += try encoder.encode(buffer) }
    samples += try encoder.finish()
    return (samples, try decode(samples, encoder.description), encoder)
}

/// Decodes samples.
func decode(_ samples: [AudioSample], _ description: AudioStreamDescription) throws -> [AudioBuffer] {
    let decoder = try AudioDecoder(description)
    var decoded: [AudioBuffer] = []
    for sample in samples { decoded += try decoder.decode(sample) }
    decoded += try decoder.finish()
    return decoded
}
