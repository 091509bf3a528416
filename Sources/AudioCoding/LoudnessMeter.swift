// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Measures loudness and true peak: ITU-R BS.1770-4, EBU R128, EBU Tech 3341 and 3342.
///
/// A value without any effect outside. Buffers of any format follow each other; their times are not considered. If the
/// format changes, the filters start again.
public struct LoudnessMeter: Sendable {
    /// The layout in which the sound is measured. Buffers of other layouts are mixed to it by ``ChannelMix``.
    public let layout: ChannelLayout

    private var gates = LoudnessGates()
    private var peak = 0.0
    private var filters: Filters?

    /// Makes a meter.
    ///
    /// - Parameter layout: The layout in which the sound is heard; mixing changes both loudness and peak.
    public init(layout: ChannelLayout) { self.layout = layout }

    /// Measures a part of a buffer.
    ///
    /// - Parameters:
    ///   - buffer: The buffer. Samples that are not finite numbers count as silence.
    ///   - range: The frames that are measured; frames that the buffer does not have are ignored. `nil` means all.
    public mutating func append(_ buffer: AudioBuffer, frames range: Range<Int>? = nil) {
        adapt(to: buffer.format)
        let range = (range ?? 0..<buffer.frameCount).clamped(to: 0..<buffer.frameCount)
        buffer.withUnsafePlanes { planes in
            filters?.add(range.count, to: &gates) { channel, offset, target in
                buffer.format.read(planes, channel, from: range.lowerBound + offset, into: target)
            }
        }
    }

    /// Measures silence.
    ///
    /// - Parameters:
    ///   - count: The number of frames.
    ///   - format: The format of the buffers around it.
    public mutating func appendSilence(_ count: Int, format: AudioFormat) {
        adapt(to: format)
        filters?.add(max(count, 0), to: &gates) { _, _, target in target.update(repeating: 0) }
    }

    /// The measurement of everything so far.
    public var loudness: Loudness {
        let highest = max(peak, filters?.truePeak ?? 0)
        var loudness = Loudness(
            integrated: gates.integrated,
            range: gates.range,
            truePeak: highest > 0 ? Decibels.level(highest) : nil
        )
        (loudness.momentaryMaximum, loudness.shortTermMaximum) = (gates.momentaryMaximum, gates.shortTermMaximum)
        return loudness
    }

    private mutating func adapt(to format: AudioFormat) {
        if let filters, filters.sampleRate == format.sampleRate, filters.mix.input == format.layout { return }
        peak = max(peak, filters?.truePeak ?? 0)
        filters = Filters(format.sampleRate, ChannelMix(from: format.layout, to: layout))
    }
}

/// The filters of all channels, at one sample rate.
private struct Filters: Sendable {
    let sampleRate: Int
    let mix: ChannelMix
    private var weightings: [KWeighting]
    private var peaks: [TruePeak]
    /// The weights of the channels in the sum.
    private let weights: [Double]
    /// The number of frames in 100 ms, and of those that are missing.
    private let step: Int
    private var missing: Int
    /// The sum of the squares of the present step.
    private var sum = 0.0
    /// The samples of the channels of the input, and those of one channel of the output.
    private var inputs: [[Double]]
    private var mixed: [Double]

    init(_ sampleRate: Int, _ mix: ChannelMix) {
        self.sampleRate = sampleRate
        self.mix = mix
        let count = mix.output.channelCount
        weightings = Array(repeating: KWeighting(sampleRate: Double(sampleRate)), count: count)
        peaks = Array(repeating: TruePeak(sampleRate: sampleRate), count: count)
        weights = mix.output.positions.map { mix.output.loudnessWeight(of: $0) }
        step = max((sampleRate + 5) / 10, 1)
        missing = step
        inputs = Array(repeating: Array(repeating: 0, count: step), count: mix.input.channelCount)
        mixed = Array(repeating: 0, count: step)
    }

    var truePeak: Double { peaks.map(\.final).max() ?? 0 }

    /// Adds frames.
    ///
    /// - Parameter read: Gets a channel, the first frame, and memory for its samples.
    mutating func add(
        _ count: Int,
        to gates: inout LoudnessGates,
        _ read: (Int, Int, UnsafeMutableBufferPointer<Double>) -> Void
    ) {
        var position = 0
        while position < count {
            let length = min(missing, count - position)
            for channel in inputs.indices {
                inputs[channel].withUnsafeMutableBufferPointer { memory in
                    read(channel, position, UnsafeMutableBufferPointer(rebasing: memory[..<length]))
                }
            }
            for channel in weights.indices { measure(channel, length) }
            position += length
            missing -= length
            if missing == 0 {
                gates.add(sum / Double(step))
                (sum, missing) = (0, step)
            }
        }
    }

    /// Measures a channel of the output.
    private mutating func measure(_ channel: Int, _ count: Int) {
        if mix.isIdentity {
            inputs[channel].withUnsafeBufferPointer { measure(UnsafeBufferPointer(rebasing: $0[..<count]), channel) }
            return
        }
        for index in 0..<count { mixed[index] = 0 }
        for (input, factor) in mix.coefficients[channel].enumerated() where factor != 0 {
            inputs[input].withUnsafeBufferPointer { source in
                mixed.withUnsafeMutableBufferPointer { target in
                    for index in 0..<count { target[index] += source[index] * factor }
                }
            }
        }
        mixed.withUnsafeBufferPointer { measure(UnsafeBufferPointer(rebasing: $0[..<count]), channel) }
    }

    private mutating func measure(_ samples: UnsafeBufferPointer<Double>, _ channel: Int) {
        peaks[channel].add(samples)
        if weights[channel] > 0 { sum += weights[channel] * weightings[channel].sumOfSquares(samples) }
    }
}

extension ChannelLayout {
    /// Returns the weight of a channel: ITU-R BS.1770-4, tables 3 and 4. Loudspeakers between 60 and 120 degrees count by
    /// 1.5 dB more. Back channels are there if there are no side channels.
    fileprivate func loudnessWeight(of speaker: Speakers) -> Double {
        switch speaker {
        case .lowFrequency: 0
        case .sideLeft, .sideRight: 1.41
        case .backLeft, .backRight: speakers.isDisjoint(with: [.sideLeft, .sideRight]) ? 1.41 : 1
        default: 1
        }
    }
}

extension AudioFormat {
    /// Reads samples of a channel as numbers between -1 and 1.
    ///
    /// - Parameters:
    ///   - first: The first frame.
    ///   - target: Gets as many samples as it has room for; the planes must have them.
    fileprivate func read(
        _ planes: [UnsafeRawBufferPointer],
        _ channel: Int,
        from first: Int,
        into target: UnsafeMutableBufferPointer<Double>
    ) {
        guard !target.isEmpty else { return }
        let plane = planes[isInterleaved ? 0 : channel]
        let stride = bytesPerPlaneFrame
        var offset = first * stride + (isInterleaved ? channel * sampleType.byteCount : 0)
        for index in target.indices {
            switch sampleType {
            case .int16: target[index] = Double(plane.loadUnaligned(fromByteOffset: offset, as: Int16.self)) / 32768
            case .int24:
                let high = UInt32(plane[offset + 2]) << 24 | UInt32(plane[offset + 1]) << 16
                let bits = Int32(bitPattern: high | UInt32(plane[offset]) << 8)
                target[index] = Double(bits) / 2_147_483_648
            case .int32:
                target[index] = Double(plane.loadUnaligned(fromByteOffset: offset, as: Int32.self)) / 2_147_483_648
            case .float32:
                let value = plane.loadUnaligned(fromByteOffset: offset, as: Float.self)
                target[index] = value.isFinite ? Double(value) : 0
            }
            offset += stride
        }
    }
}
