// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
package import VAToolbox

extension EncoderSwitch {
    /// The switch in one line: the new encoder, the first frame and the reason.
    package var readable: String {
        let newcomer = from == to ? "a new encoder of \(to) takes over" : "\(to) takes over from \(from)"
        let time = Readable.number(presentationTime.seconds, places: 3)
        var parts = ["\(newcomer) at \(time) s (frame \(frame))"]
        if repeatedFrames > 0 { parts.append("\(Readable.count(repeatedFrames, "frame")) encoded again") }
        let why = [refresh?.readable, failures.isEmpty ? nil : failures.readable].compactMap(\.self)
        return parts.joined(separator: ", ") + ": " + why.joined(separator: "; ")
    }

    /// The reason as a word: `failure`, or the name of a ``RefreshReason``.
    package var reasonName: String { refresh?.rawValue ?? "failure" }
}

extension RefreshReason {
    /// The reason in words.
    package var readable: String {
        switch self {
        case .requested: "the application requested a new encoder"
        case .resume: "the system was suspended and has resumed"
        case .update: "the encoder cannot change this setting while it runs"
        case .firstPicture: "the first picture determined settings that were open"
        }
    }
}

extension [EncoderFailure] {
    /// The first failure, the number of further failures, and the last one.
    package var readable: String {
        guard let first, let last else { return "" }
        guard count > 1 else { return first.error.readable }
        let all = "\(first.error.readable); then \(Readable.count(count - 1, "more failure"))"
        let isSame = last.error.readable == first.error.readable
        return all + (isSame ? " like that" : ", the last: \(last.error.readable)")
    }
}
