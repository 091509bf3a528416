// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

extension ClosedRange<Double> {
    /// - Throws: `invalidArgument` if a value is outside of the range.
    func check(_ value: Double, _ name: String, unit: String) throws(MediaError) {
        guard !contains(value) else { return }
        throw MediaError(
            .invalidArgument,
            "the \(name) is out of range",
            given: "\(value) \(unit)",
            allowed: "\(lowerBound) to \(upperBound) \(unit)"
        )
    }
}

/// Levels in decibels.
package enum Decibels {
    /// Returns the factor of amplitudes.
    package static func factor(_ decibels: Double) -> Double { pow(10, decibels / 20) }
    /// Returns the level of an amplitude.
    package static func level(_ amplitude: Double) -> Double { 20 * log10(amplitude) }
    /// Returns the loudness of a mean square in LUFS: ITU-R BS.1770-4, equation 2.
    static func loudness(_ energy: Double) -> Double { -0.691 + 10 * log10(energy) }
    /// Returns the mean square of a loudness in LUFS.
    static func energy(_ loudness: Double) -> Double { pow(10, (loudness + 0.691) / 10) }
}
