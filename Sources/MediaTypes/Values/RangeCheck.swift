// SPDX-License-Identifier: GPL-2.0-or-later

extension MediaError {
    /// Checks that a value is in its range.
    ///
    /// - Parameter name: The name of the value, as the subject of "is out of range".
    /// - Throws: `invalidArgument` with the value given and the values allowed.
    package static func check<Value: Comparable>(
        _ value: Value,
        in allowed: ClosedRange<Value>,
        _ name: String
    ) throws(MediaError) {
        if allowed.contains(value) { return }
        throw MediaError(
            .invalidArgument,
            "\(name) is out of range",
            given: "\(value)",
            allowed: "\(allowed.lowerBound)...\(allowed.upperBound)"
        )
    }
}
