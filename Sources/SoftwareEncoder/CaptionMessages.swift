// SPDX-License-Identifier: GPL-2.0-or-later

internal import CX264

/// The SEI messages with the captions of one frame: user data registered by ITU-T T.35 (H.264 D.1.5) as ATSC A/53
/// part 4, 6.2.3 has it. x264 reads them where they lie when it codes the frame.
final class CaptionMessages {
    private static let payloadType: Int32 = 4
    /// `cc_count` has five bits; what is beyond goes into another message.
    private static let maximumCount = 31
    private static let tripletSize = 3

    private let bytes: UnsafeMutableBufferPointer<UInt8>
    private let payloads: UnsafeMutableBufferPointer<x264_sei_payload_t>

    /// - Parameter triplets: As in `PixelAttachments.captions`; an incomplete last one is left out.
    /// - Returns: `nil` if there are none.
    init?(_ triplets: [UInt8]) {
        let end = triplets.count - triplets.count % Self.tripletSize
        guard end > 0 else { return nil }
        let size = Self.maximumCount * Self.tripletSize
        let messages = stride(from: 0, to: end, by: size).map {
            Self.message(triplets[$0..<min($0 + size, end)])
        }
        bytes = .allocate(capacity: messages.reduce(0) { $0 + $1.count })
        payloads = .allocate(capacity: messages.count)
        _ = bytes.initialize(from: messages.joined())
        var offset = 0
        for (index, message) in messages.enumerated() {
            let payload = x264_sei_payload_t(
                payload_size: Int32(clamping: message.count),
                payload_type: Self.payloadType,
                payload: bytes.baseAddress.map { $0 + offset }
            )
            payloads.initializeElement(at: index, to: payload)
            offset += message.count
        }
    }

    deinit {
        payloads.deallocate()
        bytes.deallocate()
    }

    /// What a picture points to its messages with. x264 frees nothing; they have to live until the frame is coded.
    var reference: x264_sei_t {
        x264_sei_t(num_payloads: Int32(clamping: payloads.count), payloads: payloads.baseAddress, sei_free: nil)
    }

    /// `itu_t_t35_country_code` of the United States, the provider ATSC, `user_identifier`, and `user_data_type_code` 3
    /// for `cc_data`.
    private static func message(_ triplets: ArraySlice<UInt8>) -> [UInt8] {
        let processesData: UInt8 = 0xC0
        let count = UInt8(clamping: triplets.count / tripletSize)
        return [0xB5, 0x00, 0x31] + Array("GA94".utf8) + [0x03, processesData | count, 0xFF] + triplets + [0xFF]
    }
}
