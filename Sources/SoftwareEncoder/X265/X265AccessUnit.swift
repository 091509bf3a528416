// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CX265
internal import MediaTypes

/// The NAL units of one picture in x265's memory, valid until the next call of x265.
struct X265AccessUnit {
    private let units: UnsafeBufferPointer<x265_nal>

    init(_ units: UnsafeBufferPointer<x265_nal>) {
        self.units = units
    }

    /// The VPS, SPS and PPS, without start codes.
    var parameterSets: some Sequence<UnsafeRawBufferPointer> {
        units.lazy.filter(\.isParameterSet).map(\.bytes)
    }

    /// Whether the picture is an IDR picture.
    var isIDR: Bool {
        units.contains { $0.kind == NAL_UNIT_CODED_SLICE_IDR_W_RADL || $0.kind == NAL_UNIT_CODED_SLICE_IDR_N_LP }
    }

    /// Whether the picture is a CRA picture, at which decoding can also start: the only ones that x265 uses in open
    /// GOPs.
    var isCRA: Bool { units.contains { $0.kind == NAL_UNIT_CODED_SLICE_CRA } }

    /// Whether other pictures may refer to it: even types below 16 are those of sub-layer non-reference pictures.
    var isReference: Bool { units.contains { $0.isSlice && ($0.type >= 16 || $0.type % 2 == 1) } }

    /// Copies the units with length prefixes, without parameter sets.
    ///
    /// - Parameters:
    ///   - withLibraryInformation: Whether to keep the message in which x265 describes its settings.
    ///   - inserted: A unit to insert before the first slice.
    func coded(withLibraryInformation: Bool, inserting inserted: [UInt8]?) -> CodedData {
        let kept = units.filter { !$0.isParameterSet && (withLibraryInformation || !$0.isLibraryInformation) }
        guard let inserted else { return CodedData(lengthPrefixing: kept.map(\.bytes)) }
        return inserted.withUnsafeBytes { unit in
            let slices = kept.firstIndex(where: \.isSlice) ?? kept.endIndex
            return CodedData(
                lengthPrefixing: kept[..<slices].map(\.bytes) + [unit] + kept[slices...].map(\.bytes)
            )
        }
    }
}

extension x265_nal {
    fileprivate var kind: NalUnitType { NalUnitType(type) }

    fileprivate var isParameterSet: Bool {
        kind == NAL_UNIT_VPS || kind == NAL_UNIT_SPS || kind == NAL_UNIT_PPS
    }

    /// HEVC table 7-1: types below 32 are those of slice segments.
    fileprivate var isSlice: Bool { type < 32 }

    /// Unregistered user data; x265 writes no other messages of this type.
    fileprivate var isLibraryInformation: Bool {
        kind == NAL_UNIT_PREFIX_SEI && bytes.count > 2
            && UInt32(bytes[2]) == SEIMessage.PayloadType.unregisteredUserData.rawValue
    }

    /// The unit without its start code of three or four bytes.
    fileprivate var bytes: UnsafeRawBufferPointer {
        guard let payload, sizeBytes > 4 else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        let startCode = payload[2] == 1 ? 3 : 4
        return UnsafeRawBufferPointer(start: payload + startCode, count: Int(sizeBytes) - startCode)
    }
}
