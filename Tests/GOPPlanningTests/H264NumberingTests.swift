// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import GOPPlanning
import MediaTypes
import Testing

/// Numbers, lists and marking as H.264 has them, worked out by hand.
@Suite struct H264NumberingTests {
    private func numbers(
        _ change: (inout GOPStructure) -> Void,
        _ body: (inout PlanLog) throws -> Void
    ) throws -> [Int64: H264PictureNumbers] {
        var structure = GOPStructure()
        change(&structure)
        var log = try PlanLog(structure)
        try body(&log)
        log.finish()
        let replay = try Replay(structure, log.plan)
        #expect(replay.violations() == [])
        return Dictionary(uniqueKeysWithValues: replay.pictures.map { ($0.number, $0.numbers) })
    }

    @Test func aPyramidOfThree() throws {
        let pictures = try numbers({ ($0.consecutiveBFrames, $0.pyramidDepth) = (3, 1) }) { try $0.add(0...8) }
        func column<Value>(_ path: KeyPath<H264PictureNumbers, Value>) -> [Value?] {
            [0, 4, 2, 1, 3, 8, 6, 5, 7].map { pictures[$0]?[keyPath: path] }
        }
        #expect(column(\.frameNum) == [0, 1, 2, 3, 3, 3, 4, 5, 5])
        #expect(column(\.pictureOrderCount) == [0, 8, 4, 2, 6, 16, 12, 10, 14])
        #expect(column(\.nalRefIdc) == [3, 2, 1, 0, 0, 2, 1, 0, 0])
        #expect(column(\.idrPicId) == [.some(0)] + Array(repeating: .some(nil), count: 8))
        // 2 was coded after 4, so it comes first in the initial list of 8.
        #expect(pictures[8]?.list0Modification == [.back(absDiffPicNumMinus1: 1)])
        let others = pictures.filter { $0.key != 8 }.values
        #expect(others.allSatisfy { $0.list0Modification == nil && $0.list1Modification == nil })
        // Three references: 0 slides out for 8, but for 6 it is 2 that goes, not 4.
        #expect(pictures[8]?.marking == .slidingWindow)
        #expect(pictures[6]?.marking == .adaptive([.forgetShortTerm(differenceOfPicNumsMinus1: 1)]))
        #expect(pictures[1]?.marking == nil)
        #expect(pictures[0]?.marking == .idr())
        #expect(pictures[5]?.references.map(\.number) == [4, 8, 6])
        #expect(pictures[5]?.references.map(\.frameNum) == [1, 3, 4])
        #expect(pictures[5]?.references.map(\.pictureOrderCount) == [8, 16, 12])
        #expect(pictures[5]?.list0.map(\.number) == [4])
        #expect(pictures[5]?.list1.map(\.number) == [6])
    }

    @Test func numbersWrap() throws {
        var log = try PlanLog(GOPStructure())
        try log.add(0...40)
        let replay = try Replay(GOPStructure(), log.plan, log2MaxFrameNum: 4, log2MaxLsb: 4)
        #expect(replay.pictures.map(\.numbers.frameNum) == (0...40).map { $0 % 16 })
        #expect(replay.pictures.map(\.numbers.pictureOrderCountLsb) == (0...40).map { 2 * $0 % 16 })
        #expect(replay.pictures.map(\.numbers.pictureOrderCount) == (0...40).map { 2 * $0 })
        #expect(replay.violations() == [])
    }

    @Test func neighbouringIDRPicturesDiffer() throws {
        let pictures = try numbers({ $0.randomAccess = .closed(interval: 2) }) { try $0.add(0...7) }
        #expect([0, 2, 4, 6].map { pictures[$0]?.idrPicId } == [0, 1, 0, 1])
        #expect((0...7).map { pictures[$0]?.frameNum } == [0, 1, 0, 1, 0, 1, 0, 1])
        #expect((0...7).map { pictures[$0]?.pictureOrderCountLsb } == [0, 2, 0, 2, 0, 2, 0, 2])
    }

    @Test func upperLayersDoNotCount() throws {
        let pictures = try numbers({ $0.temporalLayers = 3 }) { try $0.add(0...8) }
        #expect((0...8).map { pictures[$0]?.frameNum } == [0, 1, 1, 1, 1, 2, 2, 2, 2])
        #expect((0...8).map { pictures[$0]?.nalRefIdc } == [3, 0, 0, 0, 2, 0, 0, 0, 2])
    }

    @Test func longTermReferences() throws {
        let pictures = try numbers({ $0.longTermReferences = 2 }) { log in
            try log.add(0...0)
            try log.add(InputPicture(number: 1, longTermIndex: 1))
            try log.add(InputPicture(number: 2, longTermIndex: 0))
            try log.add(3...4)
            try log.add(InputPicture(number: 5, longTermIndex: 1))
            log.lose(3...5)
            try log.add(6...6)
        }
        // The decoder's indices are given out in the order of marking.
        let first: [H264ReferenceMarking.Operation] = [
            .limitLongTerm(maxLongTermFrameIdxPlus1: 2), .makeCurrentLongTerm(longTermFrameIdx: 0),
        ]
        #expect(pictures[1]?.marking == .adaptive(first))
        #expect(pictures[2]?.marking == .adaptive([.makeCurrentLongTerm(longTermFrameIdx: 1)]))
        // Three references: 0 slides out.
        #expect(pictures[3]?.marking == .slidingWindow)
        // 0 is the first of the initial list, 2 was shown last.
        #expect(pictures[3]?.list0Modification == [.longTerm(picNum: 1)])
        #expect(pictures[3]?.list0.map(\.longTermFrameIndex) == [1])
        // 1 is replaced by the command that marks 5, so there is room for 4.
        #expect(pictures[5]?.marking == .adaptive([.makeCurrentLongTerm(longTermFrameIdx: 0)]))
        #expect(pictures[6]?.list0Modification == [.longTerm(picNum: 1)])
        #expect(pictures[6]?.list0.map(\.number) == [2])
        #expect(pictures[6]?.references.map(\.longTermFrameIndex) == [1, nil, 0])
    }

    /// Long-term references that replace each other never push a short-term one out, but its `frame_num` comes again.
    @Test func shortTermReferencesDoNotOutliveTheirNumber() throws {
        let pictures = try numbers({ $0.longTermReferences = 2 }) { log in
            try log.add(0...0)
            for number: Int64 in 1...60 { try log.add(InputPicture(number: number, longTermIndex: 1)) }
        }
        // One list entry and two indices make three references, and without B-frames that is the limit.
        #expect(pictures[4]?.references.map(\.number) == [0, 3])
        #expect(pictures[5]?.references.map(\.number) == [4])
        let operations: [H264ReferenceMarking.Operation] = [
            .forgetShortTerm(differenceOfPicNumsMinus1: 3), .makeCurrentLongTerm(longTermFrameIdx: 0),
        ]
        #expect(pictures[4]?.marking == .adaptive(operations))
    }

    @Test func anIDRPictureTakesTheFirstLongTermIndex() throws {
        let pictures = try numbers({ $0.longTermReferences = 3 }) { log in
            try log.add(InputPicture(number: 0, longTermIndex: 2))
            try log.add(InputPicture(number: 1, longTermIndex: 0))
            try log.add(InputPicture(number: 2, longTermIndex: 2))
        }
        #expect(pictures[0]?.marking == .idr(longTermReferenceFlag: true))
        #expect(pictures[1]?.references.map(\.longTermFrameIndex) == [0])
        let second: [H264ReferenceMarking.Operation] = [
            .limitLongTerm(maxLongTermFrameIdxPlus1: 3), .makeCurrentLongTerm(longTermFrameIdx: 1),
        ]
        #expect(pictures[1]?.marking == .adaptive(second))
        #expect(pictures[2]?.marking == .adaptive([.makeCurrentLongTerm(longTermFrameIdx: 0)]))
    }

    @Test func aRecoveryPointEndsLongTermReferencesWithoutNamingThem() throws {
        let change: (inout GOPStructure) -> Void = {
            $0.longTermReferences = 2
            $0.randomAccess = .open(interval: 2)
        }
        let plain = try numbers(change) { log in
            try log.add(InputPicture(number: 0, longTermIndex: 0))
            try log.add(InputPicture(number: 1, longTermIndex: 1))
            try log.add(2...4)
        }
        #expect(plain[2]?.marking == .adaptive([.limitLongTerm(maxLongTermFrameIdxPlus1: 0)]))
        #expect(plain[3]?.references.map(\.number) == [2])
        #expect(plain[4]?.marking == .slidingWindow)
        let marked = try numbers(change) { log in
            try log.add(InputPicture(number: 0, longTermIndex: 0))
            try log.add(1...1)
            try log.add(InputPicture(number: 2, longTermIndex: 1))
        }
        let operations: [H264ReferenceMarking.Operation] = [
            .limitLongTerm(maxLongTermFrameIdxPlus1: 1), .makeCurrentLongTerm(longTermFrameIdx: 0),
        ]
        #expect(marked[2]?.marking == .adaptive(operations))
    }

    /// H.264 8.2.4.2.3: of two equal initial lists the second begins with its first two entries swapped.
    @Test func equalListsAreSwapped() throws {
        let pictures = try numbers({ ($0.consecutiveBFrames, $0.longTermReferences) = (1, 1) }) { log in
            try log.add(0...1)
            try log.add(InputPicture(number: 2, longTermIndex: 0))
        }
        // The only short-term reference is shown before 1: both lists are 0, 2, and the second becomes 2, 0.
        #expect(pictures[1]?.references.map(\.longTermFrameIndex) == [nil, 0])
        #expect(pictures[1]?.list0.map(\.number) == [0])
        #expect(pictures[1]?.list1.map(\.number) == [2])
        #expect(pictures[1]?.list0Modification == nil)
        #expect(pictures[1]?.list1Modification == nil)
    }

    @Test func widthsThatAreTooSmallAreRefused() throws {
        var structure = GOPStructure()
        structure.consecutiveBFrames = 7
        structure.pyramidDepth = 3
        let least = try H264PictureNumbering(structure)
        // 4 references, 7 B-frames twice, and two more; 15 pictures to both sides, two counts each.
        #expect((least.log2MaxFrameNum, least.log2MaxPictureOrderCountLsb) == (5, 6))
        #expect(least.maxNumRefFrames == 4)
        #expect(throws: MediaError.self) { try H264PictureNumbering(structure, log2MaxFrameNum: 4) }
        #expect(throws: MediaError.self) { try H264PictureNumbering(structure, log2MaxFrameNum: 17) }
        #expect(throws: MediaError.self) { try H264PictureNumbering(structure, log2MaxPictureOrderCountLsb: 5) }
        #expect(throws: MediaError.self) { try H264PictureNumbering(structure, log2MaxPictureOrderCountLsb: 17) }
        let simple = try H264PictureNumbering(GOPStructure())
        #expect((simple.log2MaxFrameNum, simple.log2MaxPictureOrderCountLsb) == (4, 4))
    }
}
