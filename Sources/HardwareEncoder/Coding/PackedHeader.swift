// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA
internal import VAAPI

/// The NAL units before the slices of a picture, without parameter sets and start codes.
struct PictureUnits: Sendable, Hashable {
    /// The access unit delimiter.
    var delimiter: [UInt8]?
    /// The SEI units, in order.
    var messages: [[UInt8]] = []
    /// Whether the first message begins a buffering period.
    var beginsBufferingPeriod = false
}

/// Headers that the application writes (`VAEncPackedHeaderParameterBuffer` and its data).
enum PackedHeader {
    /// The type of a packed header (`VAEncPackedHeaderType`).
    enum Kind {
        case sequence
        case picture
        case slice
        /// Complete NAL units of any type.
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

    /// Appends a header.
    ///
    /// - Parameters:
    ///   - bytes: The bytes, including the start code.
    ///   - bitCount: The number of bits that belong to the header; `nil` for all.
    ///   - hasEmulationPrevention: Whether the bytes contain emulation prevention; if not, the driver adds it.
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
