// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import GOPPlanning

/// The decoded picture buffer of an HEVC decoder: order counts, reference picture sets, lists and output as the standard
/// has them. It shares no code with what it tests and reads only what stands in slice headers.
struct HEVCDecoderModel: PlayingDecoder {
    /// What the sequence parameter set says.
    struct Parameters {
        var log2MaxLsb: Int
        /// `sps_max_dec_pic_buffering_minus1` + 1
        var size: Int
        /// `sps_max_num_reorder_pics`
        var reorderDepth: Int
    }

    /// What is read of a picture, and, for the test only, which picture it is.
    struct Picture: NumberedPicture {
        var number: Int64
        var numbers: HEVCPictureNumbers
        /// The lists of the plan.
        var list0: [Int64]
        var list1: [Int64]

        var type: UInt32 { numbers.unitType.rawValue }
        var isIRAP: Bool { (16...23).contains(type) }
        var isIDR: Bool { type == 19 || type == 20 }
        var isSkippedLeading: Bool { type == 8 || type == 9 }
        var isLeading: Bool { (6...9).contains(type) }
        var isTrailing: Bool { type < 6 }
        /// Whether pictures of its own sub-layer refer to it (HEVC table 7-1).
        var isSubLayerReference: Bool { type >= 16 || type % 2 == 1 }
    }

    private struct Frame {
        var picture: Picture
        var orderCount: Int
        var isShortTerm = true
        var isReference = true
        var isWaiting = true
    }

    let parameters: Parameters
    /// Whether decoding begins at a CRA picture: what is skipped then does not come out.
    let beginsInside: Bool
    /// Whether every picture of a set has to be there, used or not: what decoders complain of otherwise.
    var isStrict = false
    /// Numbers of the pictures shown, in order.
    private(set) var shown: [Int64] = []
    private var frames: [Frame] = []
    private var previousOrderCount = 0
    private var isAtStart = true
    /// The random access picture before, and whether a trailing picture has followed it.
    private var accessPoint: (number: Int64, orderCount: Int)?
    private var hasTrailing = false

    init(_ parameters: Parameters, beginsInside: Bool = false) {
        self.parameters = parameters
        self.beginsInside = beginsInside
    }

    /// Decodes a picture.
    mutating func decode(_ picture: Picture) throws(Violation) {
        try checkType(picture)
        let orderCount = try decodeOrderCount(picture)
        try checkLeading(picture, orderCount)
        let current = try applySet(picture, orderCount)
        try checkLists(picture, current)
        try makeRoom(picture)
        frames.append(Frame(picture: picture, orderCount: orderCount))
        try require(frames.count <= parameters.size, "\(frames.count) pictures are kept at \(picture.number)")
        while frames.count(where: \.isWaiting) > parameters.reorderDepth { try bump() }
        isAtStart = false
    }

    // HEVC 7.4.2.2
    private func checkType(_ picture: Picture) throws(Violation) {
        let (type, layer) = (picture.type, picture.numbers.temporalId)
        try require([0, 1, 2, 3, 8, 9, 20, 21].contains(type), "NAL unit type \(type) of \(picture.number)")
        try require(!picture.isIRAP || layer == 0, "layer \(layer) of a random access picture")
        try require(type != 2 && type != 3 || layer > 0, "TSA picture \(picture.number) in layer 0")
        try require(!isAtStart || picture.isIRAP, "decoding begins at \(picture.number)")
    }

    // HEVC 8.3.1
    private mutating func decodeOrderCount(_ picture: Picture) throws(Violation) -> Int {
        let (lsb, max) = (picture.numbers.pictureOrderCountLsb, 1 << parameters.log2MaxLsb)
        try require((0..<max).contains(lsb), "slice_pic_order_cnt_lsb \(lsb)")
        var msb = 0
        if !picture.isIRAP || !isAtStart && !picture.isIDR {
            let previousLsb = previousOrderCount & (max - 1)
            msb = previousOrderCount - previousLsb
            if lsb < previousLsb, previousLsb - lsb >= max / 2 {
                msb += max
            } else if lsb > previousLsb, lsb - previousLsb > max / 2 {
                msb -= max
            }
        }
        let orderCount = msb + lsb
        try require(!picture.isIDR || orderCount == 0, "order count \(orderCount) of an IDR picture")
        if !beginsInside {
            try require(orderCount == picture.numbers.pictureOrderCount, "order count \(orderCount) is decoded")
        }
        if picture.numbers.temporalId == 0, !picture.isLeading, picture.isSubLayerReference {
            previousOrderCount = orderCount
        }
        return orderCount
    }

    // HEVC 7.4.2.2 and 8.3.1: what leading pictures are
    private mutating func checkLeading(_ picture: Picture, _ orderCount: Int) throws(Violation) {
        if picture.isIRAP {
            accessPoint = (picture.number, orderCount)
            hasTrailing = false
            return
        }
        guard let accessPoint else { return }
        let isEarlier = orderCount < accessPoint.orderCount
        try require(isEarlier == picture.isLeading, "\(picture.number) is no leading picture, or should be one")
        try require(!picture.isLeading || !hasTrailing, "\(picture.number) leads after a trailing picture")
        hasTrailing = hasTrailing || picture.isTrailing
    }

    // MARK: - References

    /// StCurrBefore, StCurrAfter and LtCurr, by numbers.
    private struct CurrentSets {
        var before: [Int64] = []
        var after: [Int64] = []
        var longTerm: [Int64] = []
    }

    // HEVC 8.3.2
    private mutating func applySet(_ picture: Picture, _ orderCount: Int) throws(Violation) -> CurrentSets {
        var current = CurrentSets()
        var kept: Set<Int64> = []
        if picture.isIRAP, picture.isIDR || isAtStart {
            for index in frames.indices { frames[index].isReference = false }
        }
        if picture.isIDR {
            let isEmpty = picture.numbers.shortTermSet == nil && picture.numbers.longTermPictures.isEmpty
            try require(isEmpty, "an IDR picture has references")
            return current
        }
        guard let set = picture.numbers.shortTermSet else { throw Violation("\(picture.number) has no set") }
        let references = set.references()
        let count = references.count + picture.numbers.longTermPictures.count
        try require(count <= parameters.size - 1, "a set of \(count) pictures at \(picture.number)")
        try applyLongTerm(picture, orderCount, &kept, &current)
        for reference in references {
            let wanted = orderCount + reference.deltaPoc
            let found = frames.firstIndex { $0.isReference && $0.isShortTerm && $0.orderCount == wanted }
            guard let found else {
                // Leading pictures are skipped where decoding begins, so nothing that is used is missing.
                try require(!reference.isUsed && !isStrict, "\(picture.number) lacks \(wanted)")
                continue
            }
            let number = frames[found].picture.number
            try require(kept.insert(number).inserted, "\(number) is twice in the set of \(picture.number)")
            try checkMember(frames[found].picture, of: picture, isUsed: reference.isUsed)
            if reference.isUsed, reference.deltaPoc < 0 { current.before.append(number) }
            if reference.isUsed, reference.deltaPoc > 0 { current.after.append(number) }
        }
        for index in frames.indices where !kept.contains(frames[index].picture.number) {
            frames[index].isReference = false
        }
        return current
    }

    private mutating func applyLongTerm(
        _ picture: Picture,
        _ orderCount: Int,
        _ kept: inout Set<Int64>,
        _ current: inout CurrentSets
    ) throws(Violation) {
        let max = 1 << parameters.log2MaxLsb
        var cycle = 0
        for entry in picture.numbers.longTermPictures {
            guard let delta = entry.deltaPocMsbCycleLt else { throw Violation("upper bits are missing") }
            cycle += Int(delta)
            let wanted = orderCount - cycle * max - (orderCount & (max - 1)) + Int(entry.pocLsbLt)
            guard let found = frames.firstIndex(where: { $0.isReference && $0.orderCount == wanted }) else {
                try require(!entry.usedByCurrPicLtFlag && !isStrict, "no long-term \(wanted)")
                continue
            }
            frames[found].isShortTerm = false
            let number = frames[found].picture.number
            try require(kept.insert(number).inserted, "\(number) is twice in the set of \(picture.number)")
            try checkMember(frames[found].picture, of: picture, isUsed: entry.usedByCurrPicLtFlag)
            if entry.usedByCurrPicLtFlag { current.longTerm.append(number) }
        }
    }

    // HEVC 8.3.2: what may not be in a set
    private func checkMember(_ member: Picture, of picture: Picture, isUsed: Bool) throws(Violation) {
        let (own, layer) = (picture.numbers.temporalId, member.numbers.temporalId)
        let text = "\(member.number) in the set of \(picture.number)"
        try require(!picture.isIRAP || !isUsed, "\(text), a random access picture")
        try require(layer <= own, "\(text) is of a higher layer")
        if picture.type == 2 || picture.type == 3 { try require(layer < own, "\(text), which is TSA") }
        try require(!isUsed || member.isSubLayerReference || layer < own, "\(text) is no reference")
        if picture.isTrailing, let accessPoint {
            try require(member.number >= accessPoint.number, "\(text) is from before the random access picture")
            try require(!member.isLeading, "\(text) is a leading picture")
        }
    }

    // HEVC 8.3.4
    private func checkLists(_ picture: Picture, _ sets: CurrentSets) throws(Violation) {
        let numbers = picture.numbers
        let initial = [sets.before + sets.after + sets.longTerm, sets.after + sets.before + sets.longTerm]
        let wanted = [(numbers.list0.count, numbers.list0Entries), (numbers.list1.count, numbers.list1Entries)]
        for (list, (count, entries)) in wanted.enumerated() {
            let all = initial[list]
            try require(count == 0 || !all.isEmpty, "\(picture.number) refers to nothing")
            let cyclic = (0..<max(count, all.count)).map { all[$0 % max(all.count, 1)] }
            if let entries {
                try require(entries.count == count, "entries of list \(list) of \(picture.number)")
                try require(entries.allSatisfy { $0 < all.count }, "entries of list \(list) of \(picture.number)")
            }
            let decoded = entries.map { $0.map { cyclic[Int($0)] } } ?? Array(cyclic.prefix(count))
            let planned = list == 0 ? picture.list0 : picture.list1
            try require(decoded == planned, "list \(list) of \(picture.number) is \(decoded), planned \(planned)")
        }
    }

    // MARK: - Output

    // HEVC C.5.2.2
    private mutating func makeRoom(_ picture: Picture) throws(Violation) {
        if picture.isIDR {
            while frames.contains(where: \.isWaiting) { try bump() }
            frames = []
            return
        }
        frames.removeAll { !$0.isReference && !$0.isWaiting }
        while frames.count >= parameters.size {
            try require(frames.contains(where: \.isWaiting), "no room for \(picture.number)")
            try bump()
        }
    }

    // HEVC C.5.2.4
    private mutating func bump() throws(Violation) {
        let waiting = frames.indices.filter { frames[$0].isWaiting }
        guard let index = waiting.min(by: { frames[$0].orderCount < frames[$1].orderCount }) else { return }
        frames[index].isWaiting = false
        let number = frames[index].picture.number
        if let last = shown.last { try require(number > last, "\(number) is shown after \(last)") }
        shown.append(number)
        frames.removeAll { !$0.isReference && !$0.isWaiting }
    }

    /// Shows what waits.
    mutating func finish() throws(Violation) {
        while frames.contains(where: \.isWaiting) { try bump() }
    }
}

/// A plan as HEVC codes it, and decoders that play it.
struct HEVCReplay {
    var parameters: HEVCDecoderModel.Parameters
    var pictures: [HEVCDecoderModel.Picture]
    let temporalLayers: Int

    /// Numbers a plan.
    init(
        _ structure: GOPStructure,
        _ plan: [PlannedPicture],
        generalizedList1Limit: Int = 0,
        log2MaxLsb: Int? = nil
    ) throws {
        var numbering = try HEVCPictureNumbering(
            structure,
            generalizedList1Limit: generalizedList1Limit,
            log2MaxPictureOrderCountLsb: log2MaxLsb
        )
        pictures = plan.map { planned in
            let list0 = planned.list0.map(\.number)
            return HEVCDecoderModel.Picture(
                number: planned.number,
                numbers: numbering.number(planned),
                list0: list0,
                list1: planned.kind == .p
                    ? Array(list0.prefix(generalizedList1Limit)) : planned.list1.map(\.number)
            )
        }
        parameters = HEVCDecoderModel.Parameters(
            log2MaxLsb: numbering.log2MaxPictureOrderCountLsb,
            size: numbering.maxKeptPictures + 1,
            reorderDepth: structure.reorderDepth
        )
        temporalLayers = structure.temporalLayers
    }

    /// Plays it in every way.
    ///
    /// - Returns: what was wrong.
    func violations() -> [String] {
        var found = Findings()
        found.attempt("decoder") { () throws(Violation) in try play(pictures) }
        for layer in 0..<(temporalLayers - 1) {
            found.attempt("layer \(layer)") { () throws(Violation) in
                try play(pictures.filter { $0.numbers.temporalId <= layer })
            }
        }
        for index in pictures.indices.filter({ pictures[$0].type == 21 }).prefix(12) {
            found.attempt("from \(pictures[index].number)") { () throws(Violation) in
                try play(entering(at: index), beginsInside: true)
            }
        }
        return found.all
    }

    /// Plays what a receiver has that lacks these pictures: everything has to be there and shown.
    ///
    /// - Returns: what was wrong.
    func violations(without lacking: Set<Int64>) -> [String] {
        var decoder = HEVCDecoderModel(parameters)
        decoder.isStrict = true
        return decoder.violations(of: pictures, without: lacking)
    }

    /// What a decoder decodes that begins at a CRA picture, as far as the next IDR picture or some groups.
    private func entering(at start: Int) -> [HEVCDecoderModel.Picture] {
        let rest = pictures[start...].prefix(60)
        let end = rest.firstIndex(where: \.isIDR) ?? rest.endIndex
        let next = rest.dropFirst().firstIndex(where: \.isIRAP) ?? rest.endIndex
        return rest[..<end].enumerated().filter { start + $0.offset > next || !$0.element.isSkippedLeading }.map(
            \.element
        )
    }

    private func play(_ pictures: [HEVCDecoderModel.Picture], beginsInside: Bool = false) throws(Violation) {
        var decoder = HEVCDecoderModel(parameters, beginsInside: beginsInside)
        try decoder.play(pictures)
    }
}
