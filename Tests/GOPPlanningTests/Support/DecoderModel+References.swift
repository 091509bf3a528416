// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import GOPPlanning

extension DecoderModel {
    // MARK: - Lists

    /// Whether the lists that the decoder builds are those of the plan.
    func checkLists(_ picture: CodedPicture, _ orderCount: Int) throws(Violation) {
        let numbers = picture.numbers
        switch picture.kind {
        case .idr, .recoveryPoint:
            try require(numbers.list0.isEmpty && numbers.list1.isEmpty, "an intra picture has lists")
            return
        case .p:
            let initial = initialP(numbers.frameNum)
            let list = try modified(initial, picture, numbers.list0.count, numbers.list0Modification ?? [])
            try compare(list, picture.list0, picture)
            try require(numbers.list1.isEmpty, "a P picture has a list 1")
        case .b:
            let initial = initialB(orderCount)
            let list0 = try modified(initial.0, picture, numbers.list0.count, numbers.list0Modification ?? [])
            try compare(list0, picture.list0, picture)
            let list1 = try modified(initial.1, picture, numbers.list1.count, numbers.list1Modification ?? [])
            try compare(list1, picture.list1, picture)
        }
    }

    private func compare(_ list: [Int64?], _ wanted: [Int64], _ picture: CodedPicture) throws(Violation) {
        guard !isIncomplete(picture) else { return }
        try require(list == wanted.map(Optional.some), "list of \(picture.number) is \(list), wanted \(wanted)")
        try require(!list.isEmpty, "list of \(picture.number) is empty")
    }

    // H.264 8.2.4.1
    private func picNum(_ frame: Frame, _ frameNum: Int) -> Int {
        frame.frameNum > frameNum ? frame.frameNum - maxFrameNum : frame.frameNum
    }

    private var shortTerm: [Frame] { frames.filter { $0.marking == .shortTerm } }

    private var longTerm: [Frame] {
        (0..<16).flatMap { index in frames.filter { $0.marking == .longTerm(index) } }
    }

    // H.264 8.2.4.2.1
    private func initialP(_ frameNum: Int) -> [Frame] {
        shortTerm.sorted { picNum($0, frameNum) > picNum($1, frameNum) } + longTerm
    }

    // H.264 8.2.4.2.3
    private func initialB(_ orderCount: Int) -> ([Frame], [Frame]) {
        let rising = shortTerm.sorted { $0.orderCount < $1.orderCount }
        let split = rising.firstIndex { $0.orderCount > orderCount } ?? rising.endIndex
        let list0 = Array(rising[..<split].reversed()) + Array(rising[split...]) + longTerm
        var list1 = Array(rising[split...]) + Array(rising[..<split].reversed()) + longTerm
        if list1.count > 1 && list0.map(\.number) == list1.map(\.number) { list1.swapAt(0, 1) }
        return (list0, list1)
    }

    // H.264 8.2.4.3, step by step; nil is "no reference picture"
    private func modified(
        _ initial: [Frame],
        _ picture: CodedPicture,
        _ count: Int,
        _ modifications: [H264ReferenceListModification]
    ) throws(Violation) -> [Int64?] {
        try require(modifications.count <= count, "more modifications than entries at \(picture.number)")
        var list: [Frame?] = (0..<count).map { $0 < initial.count ? initial[$0] : nil }
        let current = picture.numbers.frameNum
        var prediction = current
        for (index, modification) in modifications.enumerated() {
            let target: Frame?
            switch modification {
            case .back(let minus1), .forward(let minus1):
                let difference = Int(minus1) + 1
                try require(difference <= maxFrameNum, "abs_diff_pic_num_minus1 \(minus1)")
                if case .back = modification { prediction -= difference } else { prediction += difference }
                if prediction < 0 { prediction += maxFrameNum }
                if prediction >= maxFrameNum { prediction -= maxFrameNum }
                let wanted = prediction > current ? prediction - maxFrameNum : prediction
                target = shortTerm.first { picNum($0, current) == wanted }
            case .longTerm(let wanted):
                target = longTerm.first { $0.marking == .longTerm(Int(wanted)) }
            }
            try require(target != nil || isIncomplete(picture), "list of \(picture.number) is modified to a stranger")
            list.insert(target, at: index)
            var kept = index + 1
            for place in (index + 1)..<list.count where list[place]?.number != target?.number {
                list[kept] = list[place]
                kept += 1
            }
            list = Array(list.prefix(count))
        }
        return list.map { $0?.number }
    }

    // MARK: - Marking

    // H.264 8.2.5.1
    mutating func mark(_ frame: inout Frame, _ picture: CodedPicture) throws(Violation) {
        frame.marking = .shortTerm
        switch picture.numbers.marking {
        case nil:
            throw Violation("reference \(picture.number) without marking")
        case .idr(let isOutputLost, let isLongTerm):
            try require(!isOutputLost, "pictures before \(picture.number) are not shown")
            for index in frames.indices { frames[index].marking = .unused }
            longTermLimit = isLongTerm ? 1 : 0
            if isLongTerm { frame.marking = .longTerm(0) }
        case .slidingWindow:
            try slideWindow(picture, to: picture.numbers.frameNum)
        case .adaptive(let operations):
            for operation in operations { try perform(operation, &frame, picture) }
        }
    }

    // H.264 8.2.5.3
    mutating func slideWindow(_ picture: CodedPicture, to frameNum: Int) throws(Violation) {
        guard frames.count(where: { $0.marking != .unused }) >= parameters.maxNumRefFrames else { return }
        let oldest = shortTerm.min { picNum($0, frameNum) < picNum($1, frameNum) }
        try require(oldest != nil, "nothing to slide out at \(picture.number)")
        unmark { $0.number == oldest?.number }
    }

    // H.264 8.2.5.4
    private mutating func perform(
        _ operation: H264ReferenceMarking.Operation,
        _ frame: inout Frame,
        _ picture: CodedPicture
    ) throws(Violation) {
        switch operation {
        case .forgetShortTerm(let minus1):
            let (difference, current) = (Int(minus1) + 1, picture.numbers.frameNum)
            try require(difference <= maxFrameNum, "difference_of_pic_nums_minus1 \(minus1)")
            let target = shortTerm.first { picNum($0, current) == current - difference }
            try require(target != nil || recoveryPoint != nil, "\(picture.number) unmarks a stranger")
            unmark { $0.number == target?.number }
        case .forgetLongTerm(let number):
            let index = Int(number)
            try require(frames.contains { $0.marking == .longTerm(index) }, "\(picture.number) unmarks a stranger")
            unmark { $0.marking == .longTerm(index) }
        case .limitLongTerm(let limit):
            longTermLimit = Int(limit)
            for index in longTermLimit..<16 { unmark { $0.marking == .longTerm(index) } }
        case .makeCurrentLongTerm(let number):
            let index = Int(number)
            try require(index < longTermLimit, "long-term index \(index) of \(picture.number), limit \(longTermLimit)")
            unmark { $0.marking == .longTerm(index) }
            frame.marking = .longTerm(index)
        case .makeLongTerm, .forgetAll:
            throw Violation("operation at \(picture.number) that the plan never needs")
        }
    }

    private mutating func unmark(where isMeant: (Frame) -> Bool) {
        for index in frames.indices where frames[index].marking != .unused && isMeant(frames[index]) {
            frames[index].marking = .unused
        }
    }
}
