// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import MediaIO
import MediaTypes

extension SourceProblems {
    /// Returns what was lost, for people; `nil` if nothing was.
    ///
    /// - Parameter purpose: What the lost parts could not be: "decoded", or "read".
    func loss(_ purpose: String) -> String? {
        guard isLossy else { return nil }
        let counts = [
            (decodeErrors, "undecodable packet"), (damagedFrames, "damaged frame"), (readErrors, "read error"),
            (lostPackets, "lost packet"),
        ]
        let parts = counts.filter { $0.0 > 0 }.map { Readable.count($0.0, $0.1) }
        let first = descriptions.first.map { "; first: \($0)" } ?? ""
        return "part of the input could not be \(purpose): \(parts.joined(separator: ", "))\(first)"
    }

    /// The problems of reading, for programs.
    var members: JSON.KeyValuePairs {
        [
            "readErrors": .integer(readErrors),
            "lostPackets": .integer(lostPackets),
            "repairedTimes": .integer(repairedTimes),
            "discontinuities": .integer(discontinuities),
            "descriptions": JSON(descriptions),
        ]
    }
}
