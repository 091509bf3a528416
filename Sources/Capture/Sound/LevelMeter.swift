// SPDX-License-Identifier: GPL-2.0-or-later

public import AudioCoding

/// Measures the level of sound between two looks at it, for a display.
public struct LevelMeter: Sendable {
    /// The level of a channel.
    public struct Level: Sendable, Hashable {
        /// The largest sample in dBFS; minus infinity for silence.
        public var peak: Double
        /// The root mean square in dBFS, where a sine at full scale has -3.01; minus infinity for silence.
        public var rootMeanSquare: Double
    }

    private var channels: [(peak: Double, squares: Double)] = []
    private var frameCount = 0

    /// Makes a meter that has measured nothing.
    public init() {}

    /// Measures a buffer. If it has another number of channels than the previous one, the measurement starts again.
    ///
    /// Samples that are not finite numbers count as silence.
    public mutating func append(_ buffer: AudioBuffer) {
        let count = buffer.format.layout.channelCount
        if channels.count != count {
            (channels, frameCount) = (Array(repeating: (0, 0), count: count), 0)
        }
        frameCount += buffer.frameCount
        buffer.withUnsafePlanes { planes in
            for channel in 0..<count {
                var (peak, squares) = (0.0, 0.0)
                buffer.format.forEachSample(of: channel, planes) { sample in
                    peak = max(peak, abs(sample))
                    squares += sample * sample
                }
                channels[channel] = (max(channels[channel].peak, peak), channels[channel].squares + squares)
            }
        }
    }

    /// Returns the levels of the channels since the last call, and starts again; empty if nothing was measured.
    public mutating func take() -> [Level] {
        defer { (channels, frameCount) = ([], 0) }
        guard frameCount > 0 else { return [] }
        return channels.map { channel in
            Level(
                peak: Decibels.level(channel.peak),
                rootMeanSquare: Decibels.level((channel.squares / Double(frameCount)).squareRoot())
            )
        }
    }
}

extension AudioFormat {
    /// Calls `body` with the samples of a channel as numbers between -1 and 1.
    fileprivate func forEachSample(
        of channel: Int,
        _ planes: [UnsafeRawBufferPointer],
        _ body: (Double) -> Void
    ) {
        let plane = planes[isInterleaved ? 0 : channel]
        let first = isInterleaved ? channel * sampleType.byteCount : 0
        for offset in stride(from: first, to: plane.count, by: bytesPerPlaneFrame) {
            switch sampleType {
            case .int16: body(Double(plane.loadUnaligned(fromByteOffset: offset, as: Int16.self)) / 0x8000)
            case .int24:
                let bits =
                    UInt32(plane[offset]) << 8 | UInt32(plane[offset + 1]) << 16 | UInt32(plane[offset + 2]) << 24
                body(Double(Int32(bitPattern: bits)) / 0x8000_0000)
            case .int32: body(Double(plane.loadUnaligned(fromByteOffset: offset, as: Int32.self)) / 0x8000_0000)
            case .float32:
                let value = plane.loadUnaligned(fromByteOffset: offset, as: Float.self)
                body(value.isFinite ? Double(value) : 0)
            }
        }
    }
}
