// SPDX-License-Identifier: GPL-2.0-or-later

/// The settings that x264 and x265 write to the first access unit as user data: `… - options: cabac=1 ref=3 …`.
package enum EncoderOptionText {
    private static let mark = Array(" - options: ".utf8)
    /// The options that differ between the points of a curve.
    private static let rates = ["bitrate=", "crf=", "qp=", "rc=", "vbv_", "vbv-"]

    /// Returns the settings without those of the rate.
    ///
    /// - Parameter bytes: The access unit.
    /// - Returns: `nil` if there are none.
    package static func settings(in bytes: UnsafeRawBufferPointer) -> String? {
        guard let start = bytes.indices.first(where: { bytes[$0...].starts(with: mark) }) else { return nil }
        // The text ends with a zero, or with the next part of the message.
        let text = bytes[(start + mark.count)...].prefix { (0x20..<0x7F).contains($0) }
        let words = String(decoding: text, as: UTF8.self).split(separator: " ")
        let kept = words.filter { word in !rates.contains { word.hasPrefix($0) } }
        return kept.isEmpty ? nil : kept.joined(separator: " ")
    }
}
