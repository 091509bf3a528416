// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Synchronization
internal import VideoDecoding

/// The refusals of a driver, of which libavcodec says no more than a message and a general status.
final class StreamRefusal: Sendable {
    private struct State {
        var stream: StreamProfile?
        var isRefused = false
        var messages: [String] = []
    }

    /// The number of messages that an error contains.
    private static let mostMessages = 3

    private let state = Mutex(State())

    /// Begins with a stream.
    func begin(_ stream: StreamProfile) {
        state.withLock { $0 = State(stream: stream) }
    }

    /// The driver supports no surfaces for the stream.
    func refuse() { state.withLock { $0.isRefused = true } }

    /// The error if the stream was refused.
    var error: MediaError? {
        state.withLock { state in
            guard state.isRefused else { return nil }
            return MediaError(
                .unsupported,
                (["the driver cannot decode this stream"] + state.messages).joined(separator: "; "),
                given: state.stream.map { "\($0)" }
            )
        }
    }

    /// Returns what a message is about.
    func meaning(of message: String) -> LibraryMessage {
        // libavcodec has no further use for the object (vaapi_decode.c), and its picture was submitted before.
        if message.hasPrefix("Failed to destroy") { return .remark }
        state.withLock { state in
            if state.messages.count < Self.mostMessages { state.messages.append(message) }
        }
        return FailedCall(message: message)?.error.map { .failure($0) } ?? .damage
    }
}

/// A message of libavcodec or libavutil about a libva call that failed, such as
/// `Failed to end picture decode issue: 24 (internal decoding error).`
struct FailedCall: Hashable {
    /// The name of the C function.
    let call: String
    /// The status that it returned.
    let status: Int
    /// libva's description of the status.
    let text: String

    /// The beginnings of messages (vaapi_decode.c, hwcontext_vaapi.c), and the calls that they are about.
    private static let calls: [(start: String, call: String)] = [
        ("Failed to create parameter buffer", "vaCreateBuffer"),
        ("Failed to create slice", "vaCreateBuffer"),
        ("Failed to begin picture decode", "vaBeginPicture"),
        ("Failed to upload", "vaRenderPicture"),
        ("Failed to end picture decode", "vaEndPicture"),
        ("Failed to query surface attributes", "vaQuerySurfaceAttributes"),
        ("Failed to query profiles", "vaQueryConfigProfiles"),
        ("Failed to create decode configuration", "vaCreateConfig"),
        ("Failed to create decode context", "vaCreateContext"),
        ("Failed to create surface", "vaCreateSurfaces"),
    ]

    init?(message: String) {
        guard let known = Self.calls.first(where: { message.hasPrefix($0.start) }),
            let colon = message.lastIndex(of: ":"), let open = message[colon...].firstIndex(of: "("),
            let close = message.lastIndex(of: ")"), open < close,
            let status = Int(message[message.index(after: colon)..<open].filter { !$0.isWhitespace })
        else { return nil }
        call = known.call
        self.status = status
        text = String(message[message.index(after: open)..<close])
    }

    /// The error of the decoder; `nil` if the driver only found the data to be damaged.
    var error: MediaError? {
        if status == DriverStatus.decodingError { return nil }
        let isCreation = call.hasPrefix("vaCreate") && call != "vaCreateBuffer"
        return MediaError(isCreation ? .creationFailed : .frameFailed, text, call: call, status: status)
    }
}
