// SPDX-License-Identifier: GPL-2.0-or-later

/// `st_ref_pic_set( stRpsIdx )` of an SPS: HEVC clause 7.3.7.
public struct HEVCShortTermReferencePictureSet: Hashable, Sendable {
    /// A picture, identified by its distance from the previous one in the list.
    public struct Picture: Hashable, Sendable {
        /// `delta_poc_s0_minus1` or `delta_poc_s1_minus1`, 0...32767.
        public var deltaPocMinus1: UInt32
        /// `used_by_curr_pic_s0_flag` or `used_by_curr_pic_s1_flag`; if false, it is kept for later pictures.
        public var usedByCurrPicFlag: Bool

        /// Makes a picture at the given distance.
        public init(deltaPocMinus1: UInt32 = 0, usedByCurrPicFlag: Bool = true) {
            self.deltaPocMinus1 = deltaPocMinus1
            self.usedByCurrPicFlag = usedByCurrPicFlag
        }
    }

    /// The inclusion of one picture of the set from which this set is predicted.
    public struct Prediction: Hashable, Sendable {
        /// `used_by_curr_pic_flag`.
        public var usedByCurrPicFlag: Bool
        /// `use_delta_flag`: whether it is in this set; true if it is used.
        public var useDeltaFlag: Bool

        /// Makes a prediction.
        public init(usedByCurrPicFlag: Bool = true, useDeltaFlag: Bool = true) {
            self.usedByCurrPicFlag = usedByCurrPicFlag
            self.useDeltaFlag = useDeltaFlag
        }
    }

    /// The coding of the set.
    public enum Coding: Hashable, Sendable {
        /// Explicit: the pictures before and after the current one in output order, the nearest first, at most 16 in
        /// all.
        case explicit(negative: [Picture], positive: [Picture])
        /// Predicted from the previous set in the SPS, shifted by `delta_rps_sign` and `abs_delta_rps_minus1`
        /// (0...32767), with one prediction for each of its pictures and one for the shift itself.
        case predicted(deltaRpsSign: Bool, absDeltaRpsMinus1: UInt32, [Prediction])
    }

    /// The coding of the set.
    public var coding: Coding

    /// Makes a set with the given coding.
    public init(coding: Coding = .explicit(negative: [], positive: [])) { self.coding = coding }

    /// A picture of the set, identified by its distance from the current picture.
    public struct Reference: Hashable, Sendable {
        /// `DeltaPocS0` or `DeltaPocS1`: negative for earlier pictures.
        public var deltaPoc: Int
        /// `UsedByCurrPicS0` or `UsedByCurrPicS1`.
        public var isUsed: Bool
    }

    /// Returns the pictures of the set: those before the current picture, then those after it, the nearest first.
    ///
    /// - Parameter previous: The pictures of the set from which this one is predicted.
    ///
    /// HEVC 7.4.8.
    public func references(after previous: [Reference] = []) -> [Reference] {
        switch coding {
        case .explicit(let negative, let positive):
            return Self.accumulated(negative, sign: -1) + Self.accumulated(positive, sign: 1)
        case .predicted(let sign, let magnitudeMinus1, let predictions):
            let shift = (sign ? -1 : 1) * (Int(magnitudeMinus1) + 1)
            let moved = previous.map { $0.deltaPoc &+ shift } + [shift]
            let kept = zip(moved, predictions).filter { $1.useDeltaFlag && $0 != 0 }
                .map { Reference(deltaPoc: $0, isUsed: $1.usedByCurrPicFlag) }
            return kept.filter { $0.deltaPoc < 0 }.sorted { $0.deltaPoc > $1.deltaPoc }
                + kept.filter { $0.deltaPoc > 0 }.sorted { $0.deltaPoc < $1.deltaPoc }
        }
    }

    private static func accumulated(_ pictures: [Picture], sign: Int) -> [Reference] {
        var distance = 0
        return pictures.map { picture in
            distance += Int(picture.deltaPocMinus1) + 1
            return Reference(deltaPoc: sign * distance, isUsed: picture.usedByCurrPicFlag)
        }
    }
}

extension HEVCShortTermReferencePictureSet {
    /// `MaxDpbSize`.
    private static let mostPictures: UInt32 = 16

    /// Visits a set of an SPS; `previous` contains the pictures of the set before it, nil for the first.
    // HEVC 7.3.7
    mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        previous: [Reference]?
    ) throws(BitstreamError) {
        try visitFlag(&visitor, canBePredicted: previous != nil)
        try visitCoding(&visitor, base: previous ?? [])
    }

    /// Visits a set that a slice header contains.
    ///
    /// - Parameters:
    ///   - sets: The pictures of the sets in the SPS.
    ///   - deltaIdxMinus1: The set from which it is predicted, counted from the end; 0 if it is not predicted.
    // HEVC 7.3.7
    mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        ofSliceAfter sets: [[Reference]],
        _ deltaIdxMinus1: inout UInt32
    ) throws(BitstreamError) {
        try visitFlag(&visitor, canBePredicted: !sets.isEmpty)
        if case .predicted = coding {
            try visitor.ue("delta_idx_minus1", &deltaIdxMinus1, in: 0...UInt32(clamping: sets.count - 1))
        } else {
            try visitor.infer("delta_idx_minus1", &deltaIdxMinus1, 0)
        }
        let base = sets.count - 1 - Int(deltaIdxMinus1)
        try visitCoding(&visitor, base: sets.indices.contains(base) ? sets[base] : [])
    }

    private mutating func visitFlag(
        _ visitor: inout some SyntaxVisitor,
        canBePredicted: Bool
    ) throws(BitstreamError) {
        var isPredicted = if case .predicted = coding { true } else { false }
        if canBePredicted {
            try visitor.flag("inter_ref_pic_set_prediction_flag", &isPredicted)
        } else {
            try visitor.infer("inter_ref_pic_set_prediction_flag", &isPredicted, false)
        }
        switch coding {
        case .explicit where isPredicted: coding = .predicted(deltaRpsSign: false, absDeltaRpsMinus1: 0, [])
        case .predicted where !isPredicted: coding = .explicit(negative: [], positive: [])
        case .explicit, .predicted: break
        }
    }

    private mutating func visitCoding(
        _ visitor: inout some SyntaxVisitor,
        base: [Reference]
    ) throws(BitstreamError) {
        if case .predicted = coding {
            try visitPredicted(&visitor, previousCount: base.count)
        } else {
            try visitExplicit(&visitor)
        }
        try visitor.check("NumDeltaPocs", references(after: base).count, in: 0...Int(Self.mostPictures))
    }

    private mutating func visitPredicted(
        _ visitor: inout some SyntaxVisitor,
        previousCount: Int
    ) throws(BitstreamError) {
        var (sign, magnitude): (Bool, UInt32) = (false, 0)
        var predictions: [Prediction] = []
        if case .predicted(let givenSign, let givenMagnitude, let given) = coding {
            (sign, magnitude, predictions) = (givenSign, givenMagnitude, given)
        }
        try visitor.flag("delta_rps_sign", &sign)
        try visitor.ue("abs_delta_rps_minus1", &magnitude, in: 0...32767)
        try visitor.resize("used_by_curr_pic_flag", &predictions, to: previousCount + 1, with: Prediction())
        for index in predictions.indices {
            try visitor.flag("used_by_curr_pic_flag[\(index)]", &predictions[index].usedByCurrPicFlag)
            if predictions[index].usedByCurrPicFlag {
                try visitor.infer("use_delta_flag[\(index)]", &predictions[index].useDeltaFlag, true)
            } else {
                try visitor.flag("use_delta_flag[\(index)]", &predictions[index].useDeltaFlag)
            }
        }
        coding = .predicted(deltaRpsSign: sign, absDeltaRpsMinus1: magnitude, predictions)
    }

    private mutating func visitExplicit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        var (negative, positive): ([Picture], [Picture]) = ([], [])
        if case .explicit(let givenNegative, let givenPositive) = coding {
            (negative, positive) = (givenNegative, givenPositive)
        }
        let limit = 0...Self.mostPictures
        var negativeCount = UInt32(clamping: negative.count)
        var positiveCount = UInt32(clamping: positive.count)
        try visitor.ue("num_negative_pics", &negativeCount, in: limit)
        try visitor.ue("num_positive_pics", &positiveCount, in: limit)
        try Self.visit(&negative, count: negativeCount, list: "s0", &visitor)
        try Self.visit(&positive, count: positiveCount, list: "s1", &visitor)
        coding = .explicit(negative: negative, positive: positive)
    }

    private static func visit(
        _ pictures: inout [Picture],
        count: UInt32,
        list: String,
        _ visitor: inout some SyntaxVisitor
    ) throws(BitstreamError) {
        try visitor.resize("delta_poc_\(list)_minus1", &pictures, to: Int(count), with: Picture())
        for index in pictures.indices {
            try visitor.ue("delta_poc_\(list)_minus1[\(index)]", &pictures[index].deltaPocMinus1, in: 0...32767)
            try visitor.flag("used_by_curr_pic_\(list)_flag[\(index)]", &pictures[index].usedByCurrPicFlag)
        }
    }
}
