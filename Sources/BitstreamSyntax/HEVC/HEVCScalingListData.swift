// SPDX-License-Identifier: GPL-2.0-or-later

/// `scaling_list_data( )` of an SPS or PPS: HEVC clause 7.3.4.
public struct HEVCScalingListData: Hashable, Sendable {
    /// One list.
    public enum List: Hashable, Sendable {
        /// `scaling_list_pred_matrix_id_delta`: zero for the default list, otherwise the distance to an earlier list of
        /// this size that is repeated.
        case predicted(matrixIdDelta: UInt32)
        /// `scaling_list_dc_coef_minus8` (-7...247, coded for sizes 16 and 32 only) and `scaling_list_delta_coef` (each
        /// -128...127): 16 coefficients for size 4, otherwise 64.
        case explicit(dcCoefMinus8: Int32, deltaCoefs: [Int32])
    }

    /// The lists of sizes 4, 8 and 16 (six each: intra Y Cb Cr, inter Y Cb Cr) and 32 (two: intra Y, inter Y).
    public var lists: [[List]]

    /// Makes data that selects the default lists.
    public init() {
        lists = [6, 6, 6, 2].map { Array(repeating: .predicted(matrixIdDelta: 0), count: $0) }
    }

    // HEVC 7.3.4
    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.check("count of scaling_list", lists.count, in: 4...4)
        for size in 0..<4 {
            try visitor.check("count of scaling_list[\(size)]", lists[size].count, in: size == 3 ? 2...2 : 6...6)
            for list in lists[size].indices {
                try lists[size][list].visit(&visitor, size: size, index: list)
            }
        }
    }
}

extension HEVCScalingListData.List {
    fileprivate mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        size: Int,
        index: Int
    ) throws(BitstreamError) {
        // Lists of size 32 are numbered as if the chroma lists existed.
        let name = "[\(size)][\(size == 3 ? index * 3 : index)]"
        var isExplicit = if case .explicit = self { true } else { false }
        try visitor.flag("scaling_list_pred_mode_flag\(name)", &isExplicit)
        if isExplicit {
            try visitExplicit(&visitor, size: size, name: name)
        } else {
            var delta: UInt32 = if case .predicted(let given) = self { given } else { 0 }
            try visitor.ue("scaling_list_pred_matrix_id_delta\(name)", &delta, in: 0...UInt32(index))
            self = .predicted(matrixIdDelta: delta)
        }
    }

    private mutating func visitExplicit(
        _ visitor: inout some SyntaxVisitor,
        size: Int,
        name: String
    ) throws(BitstreamError) {
        var (dc, deltas): (Int32, [Int32]) = (0, [])
        if case .explicit(let givenDC, let givenDeltas) = self { (dc, deltas) = (givenDC, givenDeltas) }
        if size > 1 {
            let dcName = "scaling_list_dc_coef_minus8[\(size - 2)]\(name.dropFirst(3))"
            try visitor.se(dcName, &dc, in: -7...247)
        } else {
            try visitor.infer("scaling_list_dc_coef_minus8", &dc, 0)
        }
        try visitor.resize("scaling_list_delta_coef\(name)", &deltas, to: size == 0 ? 16 : 64, with: 0)
        for coefficient in deltas.indices {
            let deltaName = "scaling_list_delta_coef\(name)[\(coefficient)]"
            try visitor.se(deltaName, &deltas[coefficient], in: -128...127)
        }
        self = .explicit(dcCoefMinus8: dc, deltaCoefs: deltas)
    }
}
