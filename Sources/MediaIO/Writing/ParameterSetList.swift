// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

/// The parameter sets that apply at a position of a stream: one of each type and number.
struct ParameterSetList: Equatable {
    /// What a later set of the same stream replaces.
    private struct Identity: Hashable {
        let type: UInt8
        /// The number of the set; `nil` if it cannot be parsed, or no set may have it. Such sets are known by themselves.
        let number: UInt32?
    }

    /// The sets without a number that are kept: decoders cannot use them, and damaged streams may have any number of them.
    private static let mostUnnumbered = 16

    private var entries: [(identity: Identity, unit: [UInt8])] = []
    private let codec: VideoCodec

    /// Makes a list.
    ///
    /// - Parameter units: NAL units without start codes or lengths; those that are no parameter sets are ignored.
    init(_ units: [[UInt8]] = [], codec: VideoCodec) {
        self.codec = codec
        for unit in units { add(unit) }
    }

    /// The sets, in decoding order.
    var units: [[UInt8]] { entries.map(\.unit) }

    static func == (left: ParameterSetList, right: ParameterSetList) -> Bool {
        left.codec == right.codec && left.units.count == right.units.count
            && left.units.allSatisfy { right.units.contains($0) }
    }

    /// Adds a set, which replaces that of the same type and number.
    mutating func add(_ unit: [UInt8]) {
        guard (try? codec.nalUnitHeader(of: unit))?.isParameterSet == true else { return }
        let type = codec == .h264 ? unit[0] & 0x1F : unit[0] >> 1
        let identity = Identity(type: type, number: number(of: unit))
        guard identity.number == nil else {
            if let index = entries.firstIndex(where: { $0.identity == identity }) {
                entries[index].unit = unit
            } else {
                entries.append((identity, unit))
            }
            return
        }
        if entries.contains(where: { $0.unit == unit }) { return }
        let unnumbered = entries.indices.filter { entries[$0].identity.number == nil }
        if unnumbered.count >= Self.mostUnnumbered { entries.remove(at: unnumbered[0]) }
        entries.append((identity, unit))
    }

    private func number(of unit: [UInt8]) -> UInt32? {
        let number: UInt32? =
            switch codec {
            case .h264: Self.h264Number(unit)
            case .hevc: Self.hevcNumber(unit)
            }
        // 255 is the highest that the standards allow for any set: H.264 7.4.2.2.
        return number.flatMap { $0 <= 255 ? $0 : nil }
    }

    /// `seq_parameter_set_id` or `pic_parameter_set_id`: H.264 7.3.2.1.1, 7.3.2.2.
    private static func h264Number(_ unit: [UInt8]) -> UInt32? {
        // The profile, the constraint flags and the level precede it in an SPS; nothing does in other sets.
        let isSequence = [7, 15].contains(unit[0] & 0x1F)
        let bytes = EmulationPrevention.removed(from: unit.prefix(32)).dropFirst(isSequence ? 4 : 1)
        var reader = BitReader(Array(bytes))
        return try? reader.readUnsignedExpGolomb("parameter_set_id")
    }

    /// `vps_video_parameter_set_id`, `sps_seq_parameter_set_id` or `pps_pic_parameter_set_id`: HEVC 7.3.2.1 to 7.3.2.3.
    private static func hevcNumber(_ unit: [UInt8]) -> UInt32? {
        let type = HEVCNALUnitHeader.UnitType(rawValue: UInt32(unit[0] >> 1) & 0x3F)
        switch type {
        case .sequenceParameterSet: return (try? HEVCSequenceParameterSet(nalUnit: unit))?.spsSeqParameterSetId
        case .videoParameterSet: return unit.dropFirst(2).first.map { UInt32($0 >> 4) }
        default:
            var reader = BitReader(Array(EmulationPrevention.removed(from: unit.prefix(32)).dropFirst(2)))
            return try? reader.readUnsignedExpGolomb("parameter_set_id")
        }
    }
}
