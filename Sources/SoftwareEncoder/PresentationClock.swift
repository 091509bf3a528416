// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Converts presentation times to the strictly increasing ticks that x264 requires, starting at 0.
///
/// At a constant frame rate, a tick is a frame, whatever the times are. At a variable rate, there are 90000 ticks per
/// second: fine enough for every frame rate, and coarse enough for x264's 31-bit decoding delays and its HRD
/// arithmetic.
struct PresentationClock {
    /// The number of ticks per second at a variable rate.
    static let variableTimescale: Int32 = 90_000

    private let isVariable: Bool
    private var origin: MediaTime?
    private var last: Int64 = -1

    init(isVariable: Bool) {
        self.isVariable = isVariable
    }

    /// Returns the tick of the next frame. If frames are less than a tick apart, the later ones are delayed.
    ///
    /// - Throws: `invalidArgument` if the rate is variable and the time is invalid, or centuries after the first.
    mutating func tick(at time: MediaTime) throws(MediaError) -> Int64 {
        var tick = last + 1
        if isVariable {
            let first = origin ?? time
            let elapsed = (time - first).converted(to: Self.variableTimescale)
            guard elapsed.isValid, elapsed.value < Int64(1) << 48 else {
                throw MediaError(
                    .invalidArgument,
                    "presentation time is out of range",
                    given: "\(time)",
                    allowed: "a valid time, at most 90 years after the first"
                )
            }
            origin = first
            tick = max(tick, elapsed.value)
        }
        last = tick
        return tick
    }
}
