// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// The highest frame rate of a variant, which playlists state (`FRAME-RATE`).
struct PeakFrameRate {
    /// The times of the last second, in order.
    private var recent: [MediaTime] = []
    private var count = 0

    private static let second = MediaTime(value: 1, timescale: 1)

    /// Notes a picture; their times rise.
    mutating func add(_ time: MediaTime) {
        recent.append(time)
        if let kept = recent.firstIndex(where: { time - $0 < Self.second }), kept > 0 { recent.removeFirst(kept) }
        count = max(count, recent.count)
    }

    /// Returns the frame rate of an encoder's configuration or, if the rate varies, the largest number of pictures in a
    /// second if that is more.
    func rate(of configuration: EncoderConfiguration?) -> Rational {
        guard let configuration else { return Rational(0) }
        let isHigher = configuration.isFrameRateVariable && Double(count) > configuration.frameRate.doubleValue
        return isHigher ? Rational(Int32(clamping: count)) : configuration.frameRate
    }
}
