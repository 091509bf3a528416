// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Turns presentation times into the strictly rising ticks that x264 counts in, from 0.
///
/// At a constant rate a tick is a frame, whatever the times. At a variable rate there are 90000 ticks per second: fine
/// enough for every frame rate, coarse enough for x264's 31-bit decoding delays and its HRD arithmetic.
struct PresentationClock {
    /// Ticks per second at a variable rate.
    static let variableTimescale: Int32 = 90_000

    private let isVariable: Bool
    private var origin: MediaTime?
    private var last: Int64 = -1

    init(isVariable: Bool) {
        self.isVariable = isVariable
    }

    /// The tick of the next frame. Of frames that are closer than a tick the later ones are moved on.
    ///
    /// - Throws: `invalidArgument` if the rate is variable and the time invalid, or centuries after the first.
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
