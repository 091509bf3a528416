// SPDX-License-Identifier: GPL-2.0-or-later

/// A long-term reference picture of one picture: HEVC 7.4.7.1.
public struct HEVCSliceLongTermPicture: Hashable, Sendable {
    /// `poc_lsb_lt`: the low bits of its picture order count.
    public var pocLsbLt: UInt32
    /// `used_by_curr_pic_lt_flag`; if false, it is kept for later pictures.
    public var usedByCurrPicLtFlag: Bool
    /// `delta_poc_msb_cycle_lt`: the number of cycles of the low bits between the pictures, less that of the previous
    /// picture in the list; nil if `delta_poc_msb_present_flag` is zero.
    public var deltaPocMsbCycleLt: UInt32?

    /// Makes a long-term reference picture.
    public init(pocLsbLt: UInt32 = 0, usedByCurrPicLtFlag: Bool = true, deltaPocMsbCycleLt: UInt32? = nil) {
        self.pocLsbLt = pocLsbLt
        self.usedByCurrPicLtFlag = usedByCurrPicLtFlag
        self.deltaPocMsbCycleLt = deltaPocMsbCycleLt
    }
}

/// A long-term reference picture that is listed in the SPS.
public struct HEVCSliceLongTermIndex: Hashable, Sendable {
    /// `lt_idx_sps`: its index in the list of the SPS.
    public var ltIdxSps: UInt32 = 0
    /// `delta_poc_msb_cycle_lt`; nil if `delta_poc_msb_present_flag` is zero.
    public var deltaPocMsbCycleLt: UInt32?

    /// Makes a reference to the first picture of the SPS.
    public init() {}
}

/// The reference pictures of a non-IDR picture: the elements of a slice segment header from `slice_pic_order_cnt_lsb`
/// on.
public struct HEVCSliceReferencePictureSet: Hashable, Sendable {
    /// The short-term reference pictures.
    public enum ShortTerm: Hashable, Sendable {
        /// `short_term_ref_pic_set_sps_flag` one: the set of the SPS with this `short_term_ref_pic_set_idx`.
        case index(UInt32)
        /// A set in the slice header. If it is predicted, it is from the set of the SPS at `delta_idx_minus1` + 1
        /// before the end; otherwise that number is 0.
        case own(HEVCShortTermReferencePictureSet, deltaIdxMinus1: UInt32 = 0)
    }

    /// `slice_pic_order_cnt_lsb`.
    public var slicePicOrderCntLsb: UInt32 = 0
    /// The short-term reference pictures.
    public var shortTerm = ShortTerm.own(HEVCShortTermReferencePictureSet())
    /// The long-term reference pictures of the SPS, `num_long_term_sps`, if the SPS lists any.
    public var longTermIndices: [HEVCSliceLongTermIndex] = []
    /// The other long-term reference pictures, `num_long_term_pics`, if the SPS allows them.
    public var longTermPictures: [HEVCSliceLongTermPicture] = []

    /// Makes an empty set.
    public init() {}

    /// `NumPicTotalCurr`: the number of pictures that the slice may refer to.
    ///
    /// HEVC 7.4.7.2, formula 7-55.
    public func usedPictureCount(_ sps: HEVCSequenceParameterSet) -> Int {
        let own = longTermPictures.count { $0.usedByCurrPicLtFlag }
        let known = sps.longTermReferencePictures ?? []
        let indexed = longTermIndices.count { index in
            known.indices.contains(Int(index.ltIdxSps)) && known[Int(index.ltIdxSps)].usedByCurrPicLtSpsFlag
        }
        return shortTermReferences(sps).count(where: \.isUsed) + own + indexed
    }

    /// Returns the short-term reference pictures by their distance; none if there is no set with the index.
    public func shortTermReferences(
        _ sps: HEVCSequenceParameterSet
    ) -> [HEVCShortTermReferencePictureSet.Reference] {
        let sets = sps.shortTermReferences
        switch shortTerm {
        case .index(let index): return sets.indices.contains(Int(index)) ? sets[Int(index)] : []
        case .own(let set, let deltaIdxMinus1):
            let base = sets.count - 1 - Int(deltaIdxMinus1)
            return set.references(after: sets.indices.contains(base) ? sets[base] : [])
        }
    }

    mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        sps: HEVCSequenceParameterSet
    ) throws(BitstreamError) {
        let lsbBits = Int(min(sps.log2MaxPicOrderCntLsbMinus4, 12)) + 4
        try visitor.u("slice_pic_order_cnt_lsb", bits: lsbBits, &slicePicOrderCntLsb)
        try visitShortTerm(&visitor, sps: sps)
        guard let known = sps.longTermReferencePictures else {
            try visitor.resize("num_long_term_sps", &longTermIndices, to: 0, with: HEVCSliceLongTermIndex())
            return try visitor.resize("num_long_term_pics", &longTermPictures, to: 0, with: HEVCSliceLongTermPicture())
        }
        let most = UInt32(16)
        if known.isEmpty {
            try visitor.resize("num_long_term_sps", &longTermIndices, to: 0, with: HEVCSliceLongTermIndex())
        } else {
            let range = 0...min(most, UInt32(clamping: known.count))
            try visitor.ueCount("num_long_term_sps", of: &longTermIndices, in: range, with: HEVCSliceLongTermIndex())
        }
        try visitor.ueCount(
            "num_long_term_pics",
            of: &longTermPictures,
            in: 0...most,
            with: HEVCSliceLongTermPicture()
        )
        try visitLongTerm(&visitor, knownCount: known.count, lsbBits: lsbBits)
    }

    private mutating func visitShortTerm(
        _ visitor: inout some SyntaxVisitor,
        sps: HEVCSequenceParameterSet
    ) throws(BitstreamError) {
        let count = sps.shortTermReferencePictureSets.count
        var (index, own, deltaIdxMinus1) = (UInt32(0), HEVCShortTermReferencePictureSet(), UInt32(0))
        var isOfSPS = false
        switch shortTerm {
        case .index(let given): (isOfSPS, index) = (true, given)
        case .own(let given, let delta): (own, deltaIdxMinus1) = (given, delta)
        }
        try visitor.flag("short_term_ref_pic_set_sps_flag", &isOfSPS)
        if isOfSPS {
            try visitor.check("num_short_term_ref_pic_sets", count, in: 1...64)
            if count > 1 {
                let last = UInt32(clamping: count - 1)
                let bits = bitCount(forValuesBelow: count)
                try visitor.u("short_term_ref_pic_set_idx", bits: bits, &index, in: 0...last)
            } else {
                try visitor.infer("short_term_ref_pic_set_idx", &index, 0)
            }
            shortTerm = .index(index)
        } else {
            try own.visit(&visitor, ofSliceAfter: sps.shortTermReferences, &deltaIdxMinus1)
            shortTerm = .own(own, deltaIdxMinus1: deltaIdxMinus1)
        }
    }

    private mutating func visitLongTerm(
        _ visitor: inout some SyntaxVisitor,
        knownCount: Int,
        lsbBits: Int
    ) throws(BitstreamError) {
        for index in longTermIndices.indices {
            if knownCount > 1 {
                let last = UInt32(clamping: knownCount - 1)
                let bits = bitCount(forValuesBelow: knownCount)
                try visitor.u("lt_idx_sps[\(index)]", bits: bits, &longTermIndices[index].ltIdxSps, in: 0...last)
            } else {
                try visitor.infer("lt_idx_sps[\(index)]", &longTermIndices[index].ltIdxSps, 0)
            }
            try Self.visitCycle(&visitor, index, lsbBits, &longTermIndices[index].deltaPocMsbCycleLt)
        }
        for place in longTermPictures.indices {
            let index = longTermIndices.count + place
            try visitor.u("poc_lsb_lt[\(index)]", bits: lsbBits, &longTermPictures[place].pocLsbLt)
            try visitor.flag("used_by_curr_pic_lt_flag[\(index)]", &longTermPictures[place].usedByCurrPicLtFlag)
            try Self.visitCycle(&visitor, index, lsbBits, &longTermPictures[place].deltaPocMsbCycleLt)
        }
    }

    private static func visitCycle(
        _ visitor: inout some SyntaxVisitor,
        _ index: Int,
        _ lsbBits: Int,
        _ cycle: inout UInt32?
    ) throws(BitstreamError) {
        try visitor.presence("delta_poc_msb_present_flag[\(index)]", of: &cycle, 0)
        guard var given = cycle else { return }
        try visitor.ue("delta_poc_msb_cycle_lt[\(index)]", &given, in: 0...1 << (32 - UInt32(lsbBits)))
        cycle = given
    }
}

extension HEVCSequenceParameterSet {
    /// The pictures of each short-term reference picture set.
    var shortTermReferences: [[HEVCShortTermReferencePictureSet.Reference]] {
        var sets: [[HEVCShortTermReferencePictureSet.Reference]] = []
        for set in shortTermReferencePictureSets { sets.append(set.references(after: sets.last ?? [])) }
        return sets
    }
}

/// Returns `Ceil( Log2( count ) )` for at least one value.
func bitCount(forValuesBelow count: Int) -> Int { count > 1 ? Int.bitWidth - (count - 1).leadingZeroBitCount : 0 }

/// `pred_weight_table()` of HEVC: clause 7.3.6.3.
public struct HEVCPredictionWeights: Hashable, Sendable {
    /// A factor and an offset, as differences from the values without a table.
    public struct Weight: Hashable, Sendable {
        /// `delta_luma_weight_lX` or `delta_chroma_weight_lX`, -128...127.
        public var deltaWeight: Int32 = 0
        /// `luma_offset_lX`, -128...127, or `delta_chroma_offset_lX`, -512...508.
        public var offset: Int32 = 0

        /// Makes a weight without effect.
        public init() {}
    }

    /// The weights of one reference picture.
    public struct Entry: Hashable, Sendable {
        /// Luma, where `luma_weight_lX_flag` is one.
        public var luma: Weight?
        /// Cb and Cr, where `chroma_weight_lX_flag` is one.
        public var chroma: [Weight]?

        /// Makes an entry without weights.
        public init() {}
    }

    /// `luma_log2_weight_denom`, 0...7.
    public var lumaLog2WeightDenom: UInt32 = 0
    /// `delta_chroma_log2_weight_denom`; the sum of both is 0...7.
    public var deltaChromaLog2WeightDenom: Int32 = 0
    /// One entry for each reference of list 0.
    public var list0: [Entry] = []
    /// One entry for each reference of list 1.
    public var list1: [Entry] = []

    /// Makes a table without entries.
    public init() {}

    // HEVC 7.3.6.3
    mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        hasChroma: Bool,
        counts: [Int]
    ) throws(BitstreamError) {
        try visitor.ue("luma_log2_weight_denom", &lumaLog2WeightDenom, in: 0...7)
        let denominator = Int32(clamping: lumaLog2WeightDenom)
        if hasChroma {
            let range = -denominator...(7 - denominator)
            try visitor.se("delta_chroma_log2_weight_denom", &deltaChromaLog2WeightDenom, in: range)
        } else {
            try visitor.infer("delta_chroma_log2_weight_denom", &deltaChromaLog2WeightDenom, 0)
        }
        try Self.visit(&list0, count: counts[0], "l0", hasChroma, &visitor)
        try Self.visit(&list1, count: counts.count > 1 ? counts[1] : 0, "l1", hasChroma, &visitor)
    }

    private static func visit(
        _ entries: inout [Entry],
        count: Int,
        _ list: String,
        _ hasChroma: Bool,
        _ visitor: inout some SyntaxVisitor
    ) throws(BitstreamError) {
        try visitor.resize("luma_weight_\(list)_flag", &entries, to: count, with: Entry())
        // The condition on the picture order count always holds in a single-layer stream: no picture refers to itself.
        for index in entries.indices {
            try visitor.presence("luma_weight_\(list)_flag[\(index)]", of: &entries[index].luma, Weight())
        }
        for index in entries.indices {
            if hasChroma {
                let pair = [Weight(), Weight()]
                try visitor.presence("chroma_weight_\(list)_flag[\(index)]", of: &entries[index].chroma, pair)
            } else {
                try visitor.inferAbsent("chroma_weight_\(list)_flag[\(index)]", &entries[index].chroma)
            }
        }
        for index in entries.indices {
            if var luma = entries[index].luma {
                try visitor.se("delta_luma_weight_\(list)[\(index)]", &luma.deltaWeight, in: -128...127)
                try visitor.se("luma_offset_\(list)[\(index)]", &luma.offset, in: -128...127)
                entries[index].luma = luma
            }
            guard var chroma = entries[index].chroma else { continue }
            try visitor.resize("chroma_weight_\(list)_flag[\(index)]", &chroma, to: 2, with: Weight())
            for plane in chroma.indices {
                let name = "\(list)[\(index)][\(plane)]"
                try visitor.se("delta_chroma_weight_\(name)", &chroma[plane].deltaWeight, in: -128...127)
                try visitor.se("delta_chroma_offset_\(name)", &chroma[plane].offset, in: -512...508)
            }
            entries[index].chroma = chroma
        }
    }
}
