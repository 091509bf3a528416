// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax

/// The initial reference lists of one frame, and the modifications that produce other lists.
struct H264ReferenceLists {
    /// The references, in coding order.
    let references: [H264ReferencePicture]
    /// The number of the recovery point before the current picture: a decoder that started there has no references that
    /// are shown before it.
    let recoveryPoint: Int64?
    /// The `frame_num` of the current picture, which is CurrPicNum.
    let frameNum: Int
    /// The PicOrderCnt of the current picture.
    let pictureOrderCount: Int
    /// MaxFrameNum, which is MaxPicNum.
    let maxFrameNum: Int
    /// Whether every entry is listed explicitly, for receivers with other initial lists.
    let isExplicit: Bool

    /// Returns the fewest commands that place the wanted pictures at the start of a list, whether decoding started at
    /// the IDR picture or at the recovery point, or one command for each entry; `nil` if no command is needed.
    ///
    /// - Parameter wanted: All active entries, each of them a reference and not before the recovery point.
    func modification(
        ofList list: Int,
        isB: Bool,
        to wanted: [H264ReferencePicture]
    ) -> [H264ReferenceListModification]? {
        guard !wanted.isEmpty else { return nil }
        if isExplicit { return commands(for: wanted[...]) }
        let whole = initial(references, isB: isB)[list]
        let known = references.filter { $0.number >= recoveryPoint ?? .min }
        let late = initial(known, isB: isB)[list]
        let count = max(commandCount(from: whole, to: wanted), commandCount(from: late, to: wanted))
        return count > 0 ? commands(for: wanted.prefix(count)) : nil
    }

    private func commandCount(from initial: [H264ReferencePicture], to wanted: [H264ReferencePicture]) -> Int {
        // A command inserts a picture at its position and shifts the others back in their order (8.2.4.3.1).
        wanted.indices.first { count in
            let moved = wanted[..<count]
            return wanted.elementsEqual((moved + initial.filter { !moved.contains($0) }).prefix(wanted.count))
        } ?? wanted.count
    }

    /// Returns the initial lists before truncation to the number of active entries; the second is empty for P slices.
    private func initial(_ references: [H264ReferencePicture], isB: Bool) -> [[H264ReferencePicture]] {
        let shortTerm = references.filter { $0.longTermFrameIndex == nil }
        let longTerm = references.filter { $0.longTermFrameIndex != nil }
            .sorted { ($0.longTermFrameIndex ?? 0) < ($1.longTermFrameIndex ?? 0) }
        guard isB else {
            // H.264 8.2.4.2.1
            return [shortTerm.sorted { pictureNumber($0) > pictureNumber($1) } + longTerm, []]
        }
        // H.264 8.2.4.2.3
        let before = shortTerm.filter { $0.pictureOrderCount < pictureOrderCount }
            .sorted { $0.pictureOrderCount > $1.pictureOrderCount }
        let after = shortTerm.filter { $0.pictureOrderCount > pictureOrderCount }
            .sorted { $0.pictureOrderCount < $1.pictureOrderCount }
        let list0 = before + after + longTerm
        var list1 = after + before + longTerm
        if list1.count > 1 && list1 == list0 { list1.swapAt(0, 1) }
        return [list0, list1]
    }

    // H.264 7.4.3.1
    private func commands(for pictures: ArraySlice<H264ReferencePicture>) -> [H264ReferenceListModification] {
        var prediction = frameNum
        return pictures.map { picture in
            if let longTerm = picture.longTermFrameIndex { return .longTerm(picNum: UInt32(longTerm)) }
            let difference = picture.frameNum - prediction
            prediction = picture.frameNum
            return difference < 0
                ? .back(absDiffPicNumMinus1: UInt32(clamping: -difference - 1))
                : .forward(absDiffPicNumMinus1: UInt32(clamping: difference - 1))
        }
    }

    // H.264 8.2.4.1: PicNum, which is FrameNumWrap.
    private func pictureNumber(_ picture: H264ReferencePicture) -> Int {
        picture.frameNum > frameNum ? picture.frameNum - maxFrameNum : picture.frameNum
    }
}
