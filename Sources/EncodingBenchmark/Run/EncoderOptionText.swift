// SPDX-License-Identifier: GPL-2.0-or-later

/// What x264 and x265 write of their settings into the first access unit, as user data: `… - options: cabac=1 ref=3 …`.
package enum EncoderOptionText {
    private static let mark = Array(" - options: ".utf8)
    /// What differs from point to point of a curve.
    private static let rates = ["bitrate=", "crf=", "qp=", "rc=", "vbv_", "vbv-"]

    /// The settings, those that are about the rate excepted.
    ///
    /// - Parameter bytes: Of the access unit.
    /// - Returns: `nil` if there are none.
    package static func settings(in bytes: UnsafeRawBufferPointer) -> String? {
        guard let start = bytes.indices.first(where: { bytes[$0...].starts(with: mark) }) else { return nil }
        // The text ends with a zero, or with what follows it in a message.
        let text = bytes[(start + mark.count)...].prefix { (0x20..<0x7F).contains($0) }
        let words = String(decoding: text, as: UTF8.self).split(separator: " ")
        let kept = words.filter { word in !rates.contains { word.hasPrefix($0) } }
        return kept.isEmpty ? nil : kept.joined(separator: " ")
    }
}
