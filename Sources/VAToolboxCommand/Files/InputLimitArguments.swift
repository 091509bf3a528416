// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport
import MediaIO
import MediaTypes

/// What an input may have at most.
struct InputLimitArguments: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Refuse inputs with larger pictures, more tracks or a longer duration, such as "
                + "pixels=67108864,tracks=64,duration=86400 (pixels of a picture; seconds).",
            valueName: "limits"
        )
    )
    var inputLimits: ArgumentText<InputLimits>?

    /// - Throws: `invalidArgument` if they are malformed.
    func limits() throws(MediaError) -> InputLimits { try inputLimits?.value(of: "--input-limits") ?? InputLimits() }
}

extension InputLimits: ArgumentValue {
    init?(argument text: String) {
        self.init()
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let words = part.split(separator: "=", omittingEmptySubsequences: false)
            guard words.count == 2, let known = Self.ranges.first(where: { $0.name == words[0] }),
                self[keyPath: known.path] == nil, let value = DecimalNumber(words[1])?.wholeValue,
                known.range.contains(value)
            else { return nil }
            self[keyPath: known.path] = value
        }
    }

    static var allowedText: String {
        ranges.map { "\($0.name)=\($0.range.lowerBound)…\($0.range.upperBound)" }.joined(separator: ", ")
            + ", each at most once"
    }
}
