// SPDX-License-Identifier: GPL-2.0-or-later

/// The assignment of macroblocks to two or more slice groups (Baseline and Extended): H.264 7.4.2.2.
public struct H264SliceGroups: Hashable, Sendable {
    /// The rectangle of a foreground group, in macroblock addresses.
    public struct Rectangle: Hashable, Sendable {
        /// `top_left`.
        public var topLeft: UInt32 = 0
        /// `bottom_right`, at or below and to the right of `topLeft`.
        public var bottomRight: UInt32 = 0

        /// Makes the rectangle of the first macroblock.
        public init() {}
    }

    /// The coding of the map, with the elements of its type.
    public enum Map: Hashable, Sendable {
        /// Type 0, interleaved: `run_length_minus1` for each group.
        case interleaved(runLengthMinus1: [UInt32])
        /// Type 1, dispersed.
        case dispersed
        /// Type 2: a rectangle for each group except the last one, which contains the remaining macroblocks.
        case foreground([Rectangle])
        /// Types 3, 4, 5 (box-out, raster scan, wipe) with `slice_group_change_direction_flag` and
        /// `slice_group_change_rate_minus1`.
        case changing(type: UInt32, directionFlag: Bool, rateMinus1: UInt32)
        /// Type 6: `slice_group_id` for each map unit.
        case explicit([UInt32])
    }

    /// `num_slice_groups_minus1`, 1...7.
    public var numSliceGroupsMinus1: UInt32
    /// `slice_group_map_type` and its elements.
    public var map: Map

    /// Makes slice groups with the given map.
    public init(numSliceGroupsMinus1: UInt32, map: Map) {
        self.numSliceGroupsMinus1 = numSliceGroupsMinus1
        self.map = map
    }

    /// The maximum number of map units that ``H264SequenceParameterSet`` allows.
    private static let mapUnits: ClosedRange<UInt32> = 0...(4096 * 4096 - 1)

    // H.264 7.3.2.2
    static func visit(
        _ groups: inout H264SliceGroups?,
        _ visitor: inout some SyntaxVisitor
    ) throws(BitstreamError) {
        if let given = groups {
            try visitor.check("num_slice_groups_minus1", given.numSliceGroupsMinus1, in: 1...7)
        }
        var count = groups?.numSliceGroupsMinus1 ?? 0
        try visitor.ue("num_slice_groups_minus1", &count, in: 0...7)
        guard count > 0 else {
            groups = nil
            return
        }
        var group = groups ?? H264SliceGroups(numSliceGroupsMinus1: count, map: .dispersed)
        group.numSliceGroupsMinus1 = count
        var type = group.map.type
        try visitor.ue("slice_group_map_type", &type, in: 0...6)
        group.map = group.map.converted(to: type)
        try group.visitMap(&visitor)
        groups = group
    }

    private mutating func visitMap(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        let groups = Int(numSliceGroupsMinus1) + 1
        switch map {
        case .interleaved(var runs):
            try visitor.resize("run_length_minus1", &runs, to: groups, with: 0)
            for index in runs.indices {
                try visitor.ue("run_length_minus1[\(index)]", &runs[index], in: Self.mapUnits)
            }
            map = .interleaved(runLengthMinus1: runs)
        case .dispersed:
            break
        case .foreground(var rectangles):
            try visitor.resize("top_left", &rectangles, to: groups - 1, with: Rectangle())
            for index in rectangles.indices {
                try visitor.ue("top_left[\(index)]", &rectangles[index].topLeft, in: Self.mapUnits)
                try visitor.ue("bottom_right[\(index)]", &rectangles[index].bottomRight, in: Self.mapUnits)
            }
            map = .foreground(rectangles)
        case .changing(let type, var direction, var rate):
            try visitor.flag("slice_group_change_direction_flag", &direction)
            try visitor.ue("slice_group_change_rate_minus1", &rate, in: Self.mapUnits)
            map = .changing(type: type, directionFlag: direction, rateMinus1: rate)
        case .explicit(var ids):
            var lastIndex = UInt32(clamping: ids.count - 1)
            try visitor.ue("pic_size_in_map_units_minus1", &lastIndex, in: Self.mapUnits)
            for index in 0...Int(lastIndex) {
                try visitor.grow("slice_group_id", &ids, to: index + 1, with: 0)
                let bits = UInt32.bitWidth - numSliceGroupsMinus1.leadingZeroBitCount
                try visitor.u("slice_group_id[\(index)]", bits: bits, &ids[index], in: 0...numSliceGroupsMinus1)
            }
            map = .explicit(ids)
        }
    }
}

extension H264SliceGroups.Map {
    /// `slice_group_map_type`.
    fileprivate var type: UInt32 {
        switch self {
        case .interleaved: 0
        case .dispersed: 1
        case .foreground: 2
        case .changing(let type, _, _): type
        case .explicit: 6
        }
    }

    /// Returns this map if it has type `type`, otherwise an empty map of that type.
    fileprivate func converted(to type: UInt32) -> Self {
        guard type != self.type else { return self }
        switch type {
        case 0: return .interleaved(runLengthMinus1: [])
        case 2: return .foreground([])
        case 3...5: return .changing(type: type, directionFlag: false, rateMinus1: 0)
        case 6: return .explicit([])
        default: return .dispersed
        }
    }
}
