// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// The buffer of a decoder that a stream with a peak bitrate must not empty: the coded picture buffer of H.264 (annex C.1.2)
/// and HEVC (C.2), filled at the peak rate up to its size.
struct BufferModel: Sendable {
    /// The filling before the first picture, as a share of the size: what x264 and x265 assume (`vbv-init`).
    static let initialFilling = 0.9

    /// A picture in decoding order.
    struct Picture: Sendable, Hashable {
        var decodeTime: MediaTime
        var byteCount: Int
    }

    private let limit: RateLimit
    /// The filling in bits.
    private var filling: Double
    private var last: Double?

    init(_ limit: RateLimit) {
        self.limit = limit
        filling = Double(limit.bufferSize) * Self.initialFilling
    }

    /// Takes a picture out of the buffer.
    ///
    /// - Returns: Whether all of it had arrived. If not, the decoder waits for it.
    mutating func remove(_ picture: Picture) -> Bool {
        let time = picture.decodeTime.seconds
        if let last {
            let arrived = max(time - last, 0) * Double(limit.bitsPerSecond)
            filling = min(filling + arrived, Double(limit.bufferSize))
        }
        last = time
        filling -= Double(picture.byteCount) * 8
        // Decode times are rounded to ticks.
        guard filling < -Double(limit.bitsPerSecond) / 1000 else { return true }
        filling = 0
        return false
    }

    /// Returns the chunks at which the buffer runs empty although it does not when they are decoded alone: each was encoded
    /// for a buffer that is as full as ``initialFilling``.
    ///
    /// - Parameters:
    ///   - chunks: The pictures of each chunk.
    ///   - limit: The peak bitrate.
    static func chunksOverLimit(_ chunks: [[Picture]], _ limit: RateLimit) -> [Int] {
        var joined = BufferModel(limit)
        return chunks.indices.filter { number in
            var alone = BufferModel(limit)
            var (isOver, isOverAlone) = (false, false)
            for picture in chunks[number] {
                if !joined.remove(picture) { isOver = true }
                if !alone.remove(picture) { isOverAlone = true }
            }
            return isOver && !isOverAlone
        }
    }
}

extension EncoderConfiguration {
    /// Returns the configuration with a lower peak in a stream of the same level.
    ///
    /// - Parameters:
    ///   - share: The share of the peak bitrate and of the buffer.
    ///   - limit: The effective peak.
    ///   - level: The name of the level.
    func limited(to share: Double, of limit: RateLimit, level: String) -> EncoderConfiguration {
        var result = self
        let rate = Int(Double(limit.bitsPerSecond) * share)
        let peak = PeakBitRate.limit(rate, window: Double(limit.bufferSize) / Double(limit.bitsPerSecond))
        switch rateControl {
        case .averageBitRate(let average, _): result.rateControl = .averageBitRate(min(average, rate), peak: peak)
        case .constantBitRate(let average, let window):
            result.rateControl = .constantBitRate(Int(Double(average) * share), window: window)
        case .constantQuality(let quality, _): result.rateControl = .constantQuality(quality, peak: peak)
        case .constantQuantizer: break
        }
        result.h264Level = h264Level ?? H264Level(name: level)
        result.hevcLevel = hevcLevel ?? HEVCLevel(name: level)
        return result
    }
}
