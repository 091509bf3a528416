// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// The rungs of a ladder.
package struct Ladder: ArgumentValue {
    /// One of them.
    package struct Rung: Equatable, Sendable {
        /// The height of the pictures.
        package var height: Int
        /// The bitrate in bit/s; `nil` if none is given.
        package var bitRate: Int?

        /// The bitrate in bit/s, also if none is given.
        package var bitRateOrUsual: Int { bitRate ?? Ladder.defaultBitRate(height: height) }
    }

    /// The part of a path that becomes the height.
    package static let heightMark = "{height}"

    /// The rungs as given, whose heights are different.
    package let rungs: [Rung]

    package init?(argument text: String) {
        var rungs: [Rung] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let words = part.split(separator: ":", omittingEmptySubsequences: false)
            guard (1...2).contains(words.count), words[0].hasSuffix("p"),
                let height = DecimalNumber(words[0].dropLast())?.wholeValue, (16...16384).contains(height),
                height % 2 == 0, !rungs.contains(where: { $0.height == height })
            else { return nil }
            var rung = Rung(height: height)
            if words.count == 2 {
                guard let rate = DecimalNumber.multiple(String(words[1])) else { return nil }
                rung.bitRate = rate
            }
            rungs.append(rung)
        }
        self.rungs = rungs
    }

    package static let allowedText = "different even heights with optional bitrates, such as 1080p:5M,720p,480p"

    /// Returns the bitrate of a rung without one: pictures with fewer samples need more bits for each of them.
    package static func defaultBitRate(height: Int) -> Int {
        let exact = 5_000_000 * pow(Double(height) / 1080, 1.5)
        return max(Int(exact / 10_000) * 10_000, 20_000)
    }
}
