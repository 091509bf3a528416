// SPDX-License-Identifier: GPL-2.0-or-later

package import BitstreamSyntax
internal import Glibc
package import MediaTypes

/// What goes wrong in a decoder of `FaultyHelper`, which otherwise decodes as libavcodec does. It is written where a device
/// would be named.
package struct DecoderPlan: Sendable {
    package enum Moment: String, Sendable, CaseIterable { case creating, decoding, draining }

    /// The name of the fault.
    package var fault: String
    package var moment: Moment
    /// The number of the sample that meets the fault, if it is met while decoding.
    package var sample: Int64
    /// How many pictures are held back in addition to those that libavcodec holds.
    package var delay: Int
    /// A file without which there is no fault: the fault removes it, so that it strikes once. Empty if it always strikes.
    package var file: String

    package init(
        _ fault: String = "none",
        _ moment: Moment = .decoding,
        sample: Int64 = 0,
        delay: Int = 0,
        file: String = ""
    ) {
        (self.fault, self.moment, self.sample, self.delay, self.file) = (fault, moment, sample, delay, file)
    }

    /// The identity of the decoder.
    package func identity(_ codec: VideoCodec = .h264) -> DecoderIdentity {
        let words = [fault, moment.rawValue, "\(sample)", "\(delay)", file]
        return DecoderIdentity(name: "planned", codec: codec, device: words.joined(separator: " "))
    }

    /// - Returns: `nil` if that is no such decoder.
    package init?(_ identity: DecoderIdentity) {
        let words = identity.device?.split(separator: " ", omittingEmptySubsequences: false).map { String($0) } ?? []
        guard identity.name == "planned", words.count == 5, let moment = Moment(rawValue: words[1]),
            let sample = Int64(words[2]), let delay = Int(words[3])
        else { return nil }
        self.init(words[0], moment, sample: sample, delay: delay, file: words[4])
    }

    /// Whether the fault is met now.
    package func isMet(_ moment: Moment, sample: Int64 = 0) -> Bool {
        guard moment == self.moment, moment != .decoding || sample == self.sample else { return false }
        return file.isEmpty || unlink(file) == 0
    }
}
