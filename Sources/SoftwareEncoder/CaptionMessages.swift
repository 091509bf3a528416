// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CX264

/// The SEI messages with the captions of one frame, for x264, which reads them in place when it encodes the frame.
final class CaptionMessages {
    private let bytes: UnsafeMutableBufferPointer<UInt8>
    private let payloads: UnsafeMutableBufferPointer<x264_sei_payload_t>

    /// Makes the messages.
    ///
    /// - Parameter triplets: As in `PixelAttachments.captions`; an incomplete last triplet is omitted.
    /// - Returns: `nil` if there are none.
    init?(_ triplets: [UInt8]) {
        let messages = CaptionMessage.messages(triplets)
        if messages.isEmpty { return nil }
        bytes = .allocate(capacity: messages.reduce(0) { $0 + $1.payload.count })
        payloads = .allocate(capacity: messages.count)
        _ = bytes.initialize(from: messages.flatMap(\.payload))
        var offset = 0
        for (index, message) in messages.enumerated() {
            let payload = x264_sei_payload_t(
                payload_size: Int32(clamping: message.payload.count),
                payload_type: Int32(clamping: message.type.rawValue),
                payload: bytes.baseAddress.map { $0 + offset }
            )
            payloads.initializeElement(at: index, to: payload)
            offset += message.payload.count
        }
    }

    deinit {
        payloads.deallocate()
        bytes.deallocate()
    }

    /// The reference that a picture contains. x264 does not free the messages; they have to exist until the frame is
    /// encoded.
    var reference: x264_sei_t {
        x264_sei_t(num_payloads: Int32(clamping: payloads.count), payloads: payloads.baseAddress, sei_free: nil)
    }
}
