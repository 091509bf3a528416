// SPDX-License-Identifier: GPL-2.0-or-later

import GOPPlanning

/// The decoded picture buffer of an H.264 decoder, for frames: numbers, lists, marking and output as the standard has
/// them. It shares no code with what it tests and reads only what stands in slice headers.
struct DecoderModel: PlayingDecoder {
    /// What the sequence parameter set says.
    struct Parameters {
        var log2MaxFrameNum: Int
        var log2MaxLsb: Int
        var maxNumRefFrames: Int
        /// `max_dec_frame_buffering`
        var size: Int
        /// `max_num_reorder_frames`
        var reorderDepth: Int
    }

    struct Frame {
        enum Marking: Equatable {
            case unused
            case shortTerm
            case longTerm(Int)
        }

        var number: Int64
        var frameNum: Int
        var orderCount: Int
        var marking = Marking.unused
        var isWaiting = true
    }

    let parameters: Parameters
    /// Whether pictures are shown when more than `max_num_reorder_frames` wait, not only when there is no room.
    let showsEarly: Bool
    /// Decoding began at this recovery point: what is shown before it may lack references.
    let recoveryPoint: Int64?
    /// Whether gaps in `frame_num` are filled with frames, as decoders do that conceal losses.
    var fillsGaps = false

    var frames: [Frame] = []
    /// Numbers of the pictures shown, in order.
    private(set) var shown: [Int64] = []
    private var previousReferenceFrameNum = 0
    private var previousOrderCountMsb = 0
    private var previousOrderCountLsb = 0
    private var previousIDRPicId: Int?
    private var usedOrderCounts: Set<Int> = []
    /// MaxLongTermFrameIdx + 1
    var longTermLimit = 0
    private var isAtStart = true
    private var filledFrames: Int64 = 0

    init(_ parameters: Parameters, showsEarly: Bool = false, recoveryPoint: Int64? = nil) {
        self.parameters = parameters
        self.showsEarly = showsEarly
        self.recoveryPoint = recoveryPoint
    }

    var maxFrameNum: Int { 1 << parameters.log2MaxFrameNum }

    /// Whether references may be missing while this picture is decoded.
    func isIncomplete(_ picture: CodedPicture) -> Bool { recoveryPoint.map { picture.number < $0 } ?? false }

    /// Decodes a picture.
    mutating func decode(_ picture: CodedPicture) throws(Violation) {
        try checkFrameNum(picture)
        let orderCount = try decodeOrderCount(picture)
        try checkLists(picture, orderCount)
        var frame = Frame(number: picture.number, frameNum: picture.numbers.frameNum, orderCount: orderCount)
        if picture.isReference { try mark(&frame, picture) }
        try store(frame, isIDR: picture.isIDR)
        if picture.isReference {
            previousReferenceFrameNum = frame.frameNum
            let used = frames.filter { $0.marking != .unused }
            try require(used.count <= parameters.maxNumRefFrames, "\(used.count) references after \(picture.number)")
            let shortTerm = used.filter { $0.marking == .shortTerm }.map(\.frameNum)
            try require(Set(shortTerm).count == shortTerm.count, "two short-term references have one frame_num")
        }
        isAtStart = false
    }

    // H.264 7.4.3, without gaps_in_frame_num_value_allowed_flag
    private mutating func checkFrameNum(_ picture: CodedPicture) throws(Violation) {
        let frameNum = picture.numbers.frameNum
        try require((0..<maxFrameNum).contains(frameNum), "frame_num \(frameNum)")
        if let id = picture.numbers.idrPicId {
            try require(frameNum == 0, "frame_num \(frameNum) of an IDR picture")
            try require(picture.isReference, "an IDR picture is no reference")
            try require(id != previousIDRPicId, "idr_pic_id is repeated at \(picture.number)")
            previousIDRPicId = id
            previousReferenceFrameNum = 0
            return
        }
        if isAtStart {
            try require(picture.number == recoveryPoint, "the stream begins without an IDR picture")
            previousReferenceFrameNum = (frameNum + maxFrameNum - 1) % maxFrameNum
        }
        if fillsGaps { try fillGap(before: picture) }
        let expected = (previousReferenceFrameNum + 1) % maxFrameNum
        try require(frameNum == expected, "frame_num \(frameNum) at \(picture.number), expected \(expected)")
    }

    // H.264 8.2.5.2
    private mutating func fillGap(before picture: CodedPicture) throws(Violation) {
        while (previousReferenceFrameNum + 1) % maxFrameNum != picture.numbers.frameNum {
            previousReferenceFrameNum = (previousReferenceFrameNum + 1) % maxFrameNum
            try slideWindow(picture, to: previousReferenceFrameNum)
            frames.removeAll { $0.marking == .unused && !$0.isWaiting }
            filledFrames += 1
            frames.append(
                Frame(
                    number: -1000 - filledFrames,
                    frameNum: previousReferenceFrameNum,
                    orderCount: .min,
                    marking: .shortTerm,
                    isWaiting: false
                )
            )
        }
    }

    // H.264 8.2.1.1
    private mutating func decodeOrderCount(_ picture: CodedPicture) throws(Violation) -> Int {
        let max = 1 << parameters.log2MaxLsb
        let lsb = picture.numbers.pictureOrderCountLsb
        try require((0..<max).contains(lsb), "pic_order_cnt_lsb \(lsb)")
        if picture.isIDR {
            previousOrderCountMsb = 0
            previousOrderCountLsb = 0
            usedOrderCounts = []
        }
        var msb = previousOrderCountMsb
        if lsb < previousOrderCountLsb && previousOrderCountLsb - lsb >= max / 2 {
            msb += max
        } else if lsb > previousOrderCountLsb && lsb - previousOrderCountLsb > max / 2 {
            msb -= max
        }
        let orderCount = msb + lsb
        try require(!picture.isIDR || orderCount == 0, "order count \(orderCount) of an IDR picture")
        if recoveryPoint == nil {
            try require(orderCount == picture.numbers.pictureOrderCount, "order count \(orderCount) is decoded")
        }
        try require(usedOrderCounts.insert(orderCount).inserted, "order count \(orderCount) comes twice")
        if picture.isReference {
            previousOrderCountMsb = msb
            previousOrderCountLsb = lsb
        }
        return orderCount
    }

    // MARK: - Output

    // H.264 C.4.4, C.4.5.1, C.4.5.2
    private mutating func store(_ frame: Frame, isIDR: Bool) throws(Violation) {
        if isIDR { showAll() }
        frames.removeAll { $0.marking == .unused && !$0.isWaiting }
        while frames.count >= parameters.size {
            let first = frames.filter(\.isWaiting).map(\.orderCount).min()
            if frame.marking == .unused, first.map({ frame.orderCount < $0 }) ?? true {
                try show(frame.number)
                return
            }
            try require(first != nil, "no room in the decoded picture buffer for \(frame.number)")
            try bump()
        }
        frames.append(frame)
        while showsEarly && frames.count(where: \.isWaiting) > parameters.reorderDepth { try bump() }
    }

    // H.264 C.4.5.3
    private mutating func bump() throws(Violation) {
        let waiting = frames.indices.filter { frames[$0].isWaiting }
        guard let index = waiting.min(by: { frames[$0].orderCount < frames[$1].orderCount }) else { return }
        frames[index].isWaiting = false
        try show(frames[index].number)
        if frames[index].marking == .unused { frames.remove(at: index) }
    }

    private mutating func show(_ number: Int64) throws(Violation) {
        if let last = shown.last { try require(number > last, "\(number) is shown after \(last)") }
        shown.append(number)
    }

    private mutating func showAll() {
        let waiting = frames.filter(\.isWaiting).sorted { $0.orderCount < $1.orderCount }
        shown += waiting.map(\.number)
        frames = []
    }

    /// Shows what waits.
    mutating func finish() throws(Violation) {
        showAll()
        for (first, second) in zip(shown, shown.dropFirst()) {
            try require(first < second, "\(second) is shown after \(first)")
        }
    }
}
