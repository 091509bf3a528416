// SPDX-License-Identifier: GPL-2.0-or-later

package import BitstreamSyntax

/// What a session uses a device for. Tests, failures and places of different tasks are separate, because a GPU encodes
/// and decodes in different units, with different parts of the driver.
package enum DeviceTask: Sendable, Hashable {
    /// It encodes to the codec.
    case encoding(VideoCodec)
    /// It decodes the codec.
    case decoding(VideoCodec)

    /// The codec.
    package var codec: VideoCodec {
        switch self {
        case .encoding(let codec), .decoding(let codec): codec
        }
    }

    /// Whether it decodes.
    package var isDecoding: Bool { if case .decoding = self { true } else { false } }
}

extension DeviceTask {
    /// The tasks of the other kind. A device that hangs in one is not trusted with the others either.
    var tasksOfOtherKind: [DeviceTask] {
        [VideoCodec.h264, .hevc].map { isDecoding ? .encoding($0) : .decoding($0) }
    }

    /// The name of its test for users.
    var testName: String { isDecoding ? "test decode" : "test encode" }

    /// The task for users, as in `while it encoded H.264`.
    var pastWords: String { "\(isDecoding ? "decoded" : "encoded") \(codec.name)" }

    /// The end of the names of its records.
    var suffix: String { Self.suffix(isDecoding: isDecoding) }

    static func suffix(isDecoding: Bool) -> String { isDecoding ? "-decode" : "" }
}
