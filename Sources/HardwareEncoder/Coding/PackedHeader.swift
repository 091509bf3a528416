// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA
internal import VAAPI

/// NAL units of a picture that stand before its slices and are no parameter sets, without start codes.
struct PictureUnits: Sendable, Hashable {
    /// The access unit delimiter.
    var delimiter: [UInt8]?
    /// SEI, in order.
    var messages: [[UInt8]] = []
    /// Whether the first message begins a buffering period.
    var beginsBufferingPeriod = false
}

/// Headers that the application writes (`VAEncPackedHeaderParameterBuffer` and its data).
enum PackedHeader {
    /// What a packed header is (`VAEncPackedHeaderType`).
    enum Kind {
        case sequence
        case picture
        case slice
        /// Whole NAL units of any kind.
        case raw

        var type: VAEncPackedHeaderType {
            switch self {
            case .sequence: VAEncPackedHeaderSequence
            case .picture: VAEncPackedHeaderPicture
            case .slice: VAEncPackedHeaderSlice
            case .raw: VAEncPackedHeaderRawData
            }
        }
    }

    static let startCode: [UInt8] = [0, 0, 0, 1]

    /// Adds a header.
    ///
    /// - Parameters:
    ///   - bytes: from the start code on.
    ///   - bitCount: how many bits of them belong to it; `nil` for all.
    ///   - hasEmulationPrevention: whether the bytes are those of the stream; if not, the driver adds what is missing.
    static func append(
        _ bytes: [UInt8],
        _ kind: Kind,
        bitCount: Int? = nil,
        hasEmulationPrevention: Bool = true,
        to list: inout ParameterList
    ) {
        var parameters = VAEncPackedHeaderParameterBuffer()
        parameters.type = kind.type.rawValue
        parameters.bit_length = UInt32(clamping: bitCount ?? bytes.count * 8)
        parameters.has_emulation_bytes = hasEmulationPrevention ? 1 : 0
        list.append(.packedHeaderParameters, parameters)
        list.append(.packedHeaderData, bytes: bytes)
    }
}
