// SPDX-License-Identifier: GPL-2.0-or-later

// Swift compares and hashes strings in normalized form, for which it sorts combining characters. That takes quadratic
// time for a long row of them: minutes for a megabyte. UAX #15, section 13 (Stream-Safe Text Format) limits the row.

extension JSONValue {
    /// The most combining characters in a row in a string that is read.
    package static let mostCombining = 30
}

extension Unicode.Scalar {
    /// Whether normalization may move it.
    fileprivate var isCombining: Bool {
        value >= 0x300 && properties.canonicalCombiningClass != .notReordered
    }
}

extension String {
    /// Whether it has at most ``JSONValue/mostCombining`` combining characters in a row.
    var isStreamSafe: Bool {
        // The first combining character is U+0300, 0xCC 0x80.
        guard utf8.contains(where: { $0 >= 0xCC }) else { return true }
        var row = 0
        for scalar in unicodeScalars {
            row = scalar.isCombining ? row + 1 : 0
            if row > JSONValue.mostCombining { return false }
        }
        return true
    }

    /// The text with a combining grapheme joiner wherever there would be too many combining characters in a row.
    var streamSafe: String {
        if isStreamSafe { return self }
        var result = String.UnicodeScalarView()
        var row = 0
        for scalar in unicodeScalars {
            row = scalar.isCombining ? row + 1 : 0
            if row > JSONValue.mostCombining {
                result.append("\u{34F}")
                row = 1
            }
            result.append(scalar)
        }
        return String(result)
    }
}
