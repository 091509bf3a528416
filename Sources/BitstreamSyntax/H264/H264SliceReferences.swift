// SPDX-License-Identifier: GPL-2.0-or-later

/// The numbers of active references of a slice, if they differ from those of its PPS.
public struct H264ActiveReferences: Hashable, Sendable {
    /// `num_ref_idx_l0_active_minus1`, 0...31.
    public var numRefIdxL0ActiveMinus1: UInt32 = 0
    /// `num_ref_idx_l1_active_minus1`, 0...31, for B slices.
    public var numRefIdxL1ActiveMinus1: UInt32 = 0

    /// Makes lists with one active reference each.
    public init() {}

    mutating func visit(_ visitor: inout some SyntaxVisitor, isB: Bool) throws(BitstreamError) {
        try visitor.ue("num_ref_idx_l0_active_minus1", &numRefIdxL0ActiveMinus1, in: 0...31)
        if isB {
            try visitor.ue("num_ref_idx_l1_active_minus1", &numRefIdxL1ActiveMinus1, in: 0...31)
        } else {
            try visitor.infer("num_ref_idx_l1_active_minus1", &numRefIdxL1ActiveMinus1, 0)
        }
    }
}

/// One command of `ref_pic_list_modification()`: clause 7.3.3.1. Each command places a picture at the next position of
/// the list.
public enum H264ReferenceListModification: Hashable, Sendable {
    /// `modification_of_pic_nums_idc` 0 with `abs_diff_pic_num_minus1`: a short-term picture before the previous one.
    case back(absDiffPicNumMinus1: UInt32)
    /// `modification_of_pic_nums_idc` 1 with `abs_diff_pic_num_minus1`: a short-term picture after the previous one.
    case forward(absDiffPicNumMinus1: UInt32)
    /// `modification_of_pic_nums_idc` 2 with `long_term_pic_num`.
    case longTerm(picNum: UInt32)

    /// A list has at most 32 entries; one more command ends the modification.
    private static let mostSteps = 66

    private var idc: UInt32 {
        switch self {
        case .back: 0
        case .forward: 1
        case .longTerm: 2
        }
    }

    static func visit(
        _ steps: inout [H264ReferenceListModification]?,
        _ visitor: inout some SyntaxVisitor,
        list: Int
    ) throws(BitstreamError) {
        try visitor.presence("ref_pic_list_modification_flag_l\(list)", of: &steps, [])
        guard let given = steps else { return }
        try visitor.check("count of list modifications", given.count, in: 0...mostSteps)
        var visited: [H264ReferenceListModification] = []
        while visited.count <= mostSteps {
            let step = visited.count < given.count ? given[visited.count] : nil
            var idc = step?.idc ?? 3
            try visitor.ue("modification_of_pic_nums_idc", &idc, in: 0...3)
            guard idc != 3 else { break }
            visited.append(try Self.visitStep(step, idc: idc, &visitor))
        }
        try visitor.check("count of list modifications", visited.count, in: 0...mostSteps)
        steps = visited
    }

    private static func visitStep(
        _ step: H264ReferenceListModification?,
        idc: UInt32,
        _ visitor: inout some SyntaxVisitor
    ) throws(BitstreamError) -> H264ReferenceListModification {
        var number: UInt32 =
            switch step {
            case .back(let number), .forward(let number), .longTerm(let number): number
            case nil: 0
            }
        if idc == 2 {
            try visitor.ue("long_term_pic_num", &number, in: 0...31)
            return .longTerm(picNum: number)
        }
        // MaxPicNum is at most 2 * 65536, for fields.
        try visitor.ue("abs_diff_pic_num_minus1", &number, in: 0...(131072 - 1))
        return idc == 0 ? .back(absDiffPicNumMinus1: number) : .forward(absDiffPicNumMinus1: number)
    }
}

/// `dec_ref_pic_marking()`: clause 7.3.3.3.
public enum H264ReferenceMarking: Hashable, Sendable {
    /// For an IDR picture: `no_output_of_prior_pics_flag` and `long_term_reference_flag`.
    case idr(noOutputOfPriorPicsFlag: Bool = false, longTermReferenceFlag: Bool = false)
    /// `adaptive_ref_pic_marking_mode_flag` 0: the oldest short-term picture is removed.
    case slidingWindow
    /// `adaptive_ref_pic_marking_mode_flag` 1: the marking operations, in order.
    case adaptive([Operation])

    /// `memory_management_control_operation` with its operands: table 7-9.
    public enum Operation: Hashable, Sendable {
        /// 1: marks a short-term picture as unused for reference.
        case forgetShortTerm(differenceOfPicNumsMinus1: UInt32)
        /// 2: marks a long-term picture as unused for reference.
        case forgetLongTerm(longTermPicNum: UInt32)
        /// 3: changes a short-term picture to a long-term picture.
        case makeLongTerm(differenceOfPicNumsMinus1: UInt32, longTermFrameIdx: UInt32)
        /// 4: sets the number of long-term indices.
        case limitLongTerm(maxLongTermFrameIdxPlus1: UInt32)
        /// 5: marks all pictures as unused for reference.
        case forgetAll
        /// 6: marks the current picture as a long-term picture.
        case makeCurrentLongTerm(longTermFrameIdx: UInt32)

        var number: UInt32 {
            switch self {
            case .forgetShortTerm: 1
            case .forgetLongTerm: 2
            case .makeLongTerm: 3
            case .limitLongTerm: 4
            case .forgetAll: 5
            case .makeCurrentLongTerm: 6
            }
        }

        /// Makes the operation with the given number and zero operands.
        fileprivate init?(number: UInt32) {
            switch number {
            case 1: self = .forgetShortTerm(differenceOfPicNumsMinus1: 0)
            case 2: self = .forgetLongTerm(longTermPicNum: 0)
            case 3: self = .makeLongTerm(differenceOfPicNumsMinus1: 0, longTermFrameIdx: 0)
            case 4: self = .limitLongTerm(maxLongTermFrameIdxPlus1: 0)
            case 5: self = .forgetAll
            case 6: self = .makeCurrentLongTerm(longTermFrameIdx: 0)
            default: return nil
            }
        }

        fileprivate mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
            // PicNums of fields differ by up to 2 * 65536; 16 frames have 32 fields.
            switch self {
            case .forgetShortTerm(var difference):
                try visitor.ue("difference_of_pic_nums_minus1", &difference, in: 0...(131072 - 1))
                self = .forgetShortTerm(differenceOfPicNumsMinus1: difference)
            case .forgetLongTerm(var number):
                try visitor.ue("long_term_pic_num", &number, in: 0...31)
                self = .forgetLongTerm(longTermPicNum: number)
            case .makeLongTerm(var difference, var index):
                try visitor.ue("difference_of_pic_nums_minus1", &difference, in: 0...(131072 - 1))
                try visitor.ue("long_term_frame_idx", &index, in: 0...15)
                self = .makeLongTerm(differenceOfPicNumsMinus1: difference, longTermFrameIdx: index)
            case .limitLongTerm(var limit):
                try visitor.ue("max_long_term_frame_idx_plus1", &limit, in: 0...16)
                self = .limitLongTerm(maxLongTermFrameIdxPlus1: limit)
            case .forgetAll: break
            case .makeCurrentLongTerm(var index):
                try visitor.ue("long_term_frame_idx", &index, in: 0...15)
                self = .makeCurrentLongTerm(longTermFrameIdx: index)
            }
        }
    }

    /// Two fields may each remove 32 pictures; no stream needs nearly as many.
    private static let mostOperations = 66

    mutating func visit(_ visitor: inout some SyntaxVisitor, isIDR: Bool) throws(BitstreamError) {
        if isIDR {
            var (noOutput, longTerm) = (false, false)
            if case .idr(let first, let second) = self { (noOutput, longTerm) = (first, second) }
            try visitor.check("dec_ref_pic_marking() of an IDR picture", isOfIDR ? 1 : 0, in: 1...1)
            try visitor.flag("no_output_of_prior_pics_flag", &noOutput)
            try visitor.flag("long_term_reference_flag", &longTerm)
            self = .idr(noOutputOfPriorPicsFlag: noOutput, longTermReferenceFlag: longTerm)
            return
        }
        try visitor.check("dec_ref_pic_marking() of an IDR picture", isOfIDR ? 1 : 0, in: 0...0)
        var operations: [Operation]? = if case .adaptive(let given) = self { given } else { nil }
        try visitor.presence("adaptive_ref_pic_marking_mode_flag", of: &operations, [])
        guard let operations else { return self = .slidingWindow }
        self = .adaptive(try Self.visit(operations, &visitor))
    }

    private var isOfIDR: Bool { if case .idr = self { true } else { false } }

    private static func visit(
        _ given: [Operation],
        _ visitor: inout some SyntaxVisitor
    ) throws(BitstreamError) -> [Operation] {
        try visitor.check("count of memory management operations", given.count, in: 0...mostOperations)
        var visited: [Operation] = []
        while visited.count <= mostOperations {
            var number = visited.count < given.count ? given[visited.count].number : 0
            try visitor.ue("memory_management_control_operation", &number, in: 0...6)
            let known = visited.count < given.count ? given[visited.count] : Operation(number: number)
            guard number != 0, var operation = known else { break }
            try operation.visit(&visitor)
            visited.append(operation)
        }
        try visitor.check("count of memory management operations", visited.count, in: 0...mostOperations)
        return visited
    }
}

/// `pred_weight_table()`: clause 7.3.3.2.
public struct H264PredictionWeights: Hashable, Sendable {
    /// A factor and an offset; H.264 7.4.3.2.
    public struct Weight: Hashable, Sendable {
        /// The factor, -128...127, in units of 1 / 2^denominator.
        public var weight: Int32 = 0
        /// The added offset, -128...127.
        public var offset: Int32 = 0

        /// Makes a weight.
        public init(weight: Int32 = 0, offset: Int32 = 0) {
            self.weight = weight
            self.offset = offset
        }
    }

    /// The weights of one reference; nil for the default weights.
    public struct Entry: Hashable, Sendable {
        /// `luma_weight`, `luma_offset`.
        public var luma: Weight?
        /// `chroma_weight`, `chroma_offset` of Cb and Cr.
        public var chroma: [Weight]?

        /// Makes an entry with the default weights.
        public init() {}
    }

    /// `luma_log2_weight_denom`, 0...7.
    public var lumaLog2WeightDenom: UInt32 = 0
    /// `chroma_log2_weight_denom`, 0...7, if there is chroma.
    public var chromaLog2WeightDenom: UInt32 = 0
    /// The weights of list 0, and of list 1 for B slices: one for each active reference.
    public var lists: [[Entry]] = []

    /// Makes a table without entries.
    public init() {}

    mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        hasChroma: Bool,
        counts: [Int]
    ) throws(BitstreamError) {
        try visitor.ue("luma_log2_weight_denom", &lumaLog2WeightDenom, in: 0...7)
        if hasChroma {
            try visitor.ue("chroma_log2_weight_denom", &chromaLog2WeightDenom, in: 0...7)
        } else {
            try visitor.infer("chroma_log2_weight_denom", &chromaLog2WeightDenom, 0)
        }
        try visitor.resize("lists of weights", &lists, to: counts.count, with: [])
        for list in lists.indices {
            try visitor.resize("weights of list \(list)", &lists[list], to: counts[list], with: Entry())
            for index in lists[list].indices {
                try lists[list][index].visit(&visitor, "l\(list)", index, hasChroma: hasChroma)
            }
        }
    }
}

extension H264PredictionWeights.Entry {
    fileprivate mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        _ list: String,
        _ index: Int,
        hasChroma: Bool
    ) throws(BitstreamError) {
        try visitor.presence("luma_weight_\(list)_flag[\(index)]", of: &luma, .init())
        try luma?.visit(&visitor, "luma", "\(list)[\(index)]")
        guard hasChroma else { return try visitor.inferAbsent("chroma_weight_\(list)_flag[\(index)]", &chroma) }
        try visitor.presence("chroma_weight_\(list)_flag[\(index)]", of: &chroma, [])
        guard var weights = chroma else { return }
        try visitor.resize("chroma weights", &weights, to: 2, with: .init())
        for plane in 0...1 { try weights[plane].visit(&visitor, "chroma", "\(list)[\(index)][\(plane)]") }
        chroma = weights
    }
}

extension H264PredictionWeights.Weight {
    fileprivate mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        _ component: String,
        _ place: String
    ) throws(BitstreamError) {
        try visitor.se("\(component)_weight_\(place)", &weight, in: -128...127)
        try visitor.se("\(component)_offset_\(place)", &offset, in: -128...127)
    }
}
