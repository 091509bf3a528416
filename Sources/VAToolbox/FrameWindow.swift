// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// The accepted frames whose samples have not left yet, and the rule by which they leave: in *reorder groups*.
///
/// A group is complete when every frame that is shown before its last one is coded. Only then it leaves, in decoding
/// order; so a new encoder can start with an IDR picture right after it, and the frames that are left here are exactly
/// those that it must encode again.
struct FrameWindow {
    /// What the session knows of an accepted frame.
    struct Entry {
        var frame: EncoderFrame
        var token: (any Sendable)?
        fileprivate var isCoded = false
    }

    /// A group that leaves, in decoding order, with its frames.
    typealias Group = [(entry: Entry, coded: CodedFrame)]

    private var entries: [Entry] = []
    private var coded: [CodedFrame] = []
    private var highestCoded: Int64 = -1
    /// The number of the first entry.
    private(set) var firstNumber: Int64 = 0

    /// The number that the next frame gets.
    var nextNumber: Int64 { firstNumber + Int64(entries.count) }
    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }
    /// Frames whose coded data are still awaited.
    var uncodedCount: Int { entries.count - coded.count }
    /// All frames that are left, in presentation order: what a new encoder must be given.
    var frames: [EncoderFrame] { entries.map(\.frame) }

    mutating func append(_ frame: EncoderFrame, token: (any Sendable)?) {
        entries.append(Entry(frame: frame, token: token))
    }

    /// Forgets all coded data that have not left: their encoder failed.
    mutating func discardCoded() {
        coded.removeAll(keepingCapacity: true)
        highestCoded = firstNumber - 1
        for index in entries.indices { entries[index].isCoded = false }
    }

    /// Takes a coded frame.
    ///
    /// - Throws: `frameFailed` if the encoder returned a frame that it does not have, or one twice.
    mutating func take(_ frame: CodedFrame) throws(MediaError) {
        guard (firstNumber..<nextNumber).contains(frame.number), !entries[index(of: frame.number)].isCoded else {
            throw MediaError(
                .frameFailed,
                "the encoder returned a frame that it was not given, or returned it before",
                given: "frame \(frame.number)",
                allowed: "\(firstNumber)..<\(nextNumber), each once"
            )
        }
        entries[index(of: frame.number)].isCoded = true
        coded.append(frame)
        highestCoded = max(highestCoded, frame.number)
    }

    /// The group that is complete, in decoding order; `nil` if none is.
    var completeGroup: Group? {
        guard !coded.isEmpty, highestCoded - firstNumber + 1 == Int64(coded.count) else { return nil }
        return coded.map { (entries[index(of: $0.number)], $0) }
    }

    /// Removes the group that was complete.
    mutating func removeCompleteGroup() {
        entries.removeFirst(coded.count)
        firstNumber += Int64(coded.count)
        coded.removeAll(keepingCapacity: true)
    }

    private func index(of number: Int64) -> Int { Int(number - firstNumber) }
}

/// Gives samples their decode times: strictly increasing and never above the presentation time.
///
/// Sample n is decoded when frame n - depth is shown; the first `depth` samples are decoded one nominal frame duration
/// apart before the first frame is shown. As groups leave in presentation order, frame n - depth has always left or is
/// in the same group.
struct DecodeTimes {
    private let depth: Int
    private let frameDuration: MediaTime
    /// Decode times that are not given yet: after the first group, always `depth` of them.
    private var next: [MediaTime]?

    /// - Parameters:
    ///   - depth: How many frames may be decoded before a frame and shown after it.
    ///   - frameRate: The nominal frame rate.
    init(depth: Int, frameRate: Rational) {
        self.depth = max(depth, 0)
        frameDuration = MediaTime(value: Int64(frameRate.denominator), timescale: frameRate.numerator)
    }

    /// The decode times of the next group, whose presentation times are given in presentation order.
    mutating func assign(presentationTimes: [MediaTime]) -> [MediaTime] {
        guard let first = presentationTimes.first else { return [] }
        let times = (next ?? timesBefore(first)) + presentationTimes
        next = Array(times.dropFirst(presentationTimes.count))
        return Array(times.prefix(presentationTimes.count))
    }

    private func timesBefore(_ first: MediaTime) -> [MediaTime] {
        let ticks = frameDuration.converted(to: first.timescale, rounding: .down)
        let step = ticks.value > 0 ? ticks : MediaTime(value: 1, timescale: first.timescale)
        return (0..<depth).map { first - step * Int64(depth - $0) }
    }
}
