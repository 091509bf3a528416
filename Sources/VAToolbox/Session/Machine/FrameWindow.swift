// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// The accepted frames whose samples were not delivered yet, and the rule for their delivery: in *reorder groups*.
///
/// A group is complete when every frame that is shown before its last one is coded. Only then is it delivered, in
/// decoding order. A new encoder can therefore start with an IDR picture right after it, and the frames that remain
/// here are exactly those that it must encode again.
struct FrameWindow {
    /// The session's record of an accepted frame.
    struct Entry {
        let number: Int64
        let presentationTime: MediaTime
        let duration: MediaTime
        let token: (any Sendable)?
        let options: FrameOptions
        /// The picture; `nil` once it will not be encoded again.
        fileprivate(set) var picture: PixelBuffer?
        fileprivate(set) var isCoded = false
        /// Whether its picture cannot be read. It is delivered as a dropped frame after all frames that are shown before it.
        fileprivate(set) var isLost = false
    }

    /// A group to deliver, in decoding order, with its frames.
    typealias Group = [(entry: Entry, coded: CodedFrame)]

    private(set) var entries: [Entry] = []
    private(set) var coded: [CodedFrame] = []
    private(set) var highestCoded: Int64 = -1
    /// The number of the first entry.
    private(set) var firstNumber: Int64 = 0

    /// The number of the next frame.
    var nextNumber: Int64 { firstNumber + Int64(entries.count) }
    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }
    /// The number of frames that are not coded yet.
    var uncodedCount: Int { entries.count { !$0.isCoded } }

    /// Whether a new encoder can take over: the pictures of all remaining frames are available.
    var isRepeatable: Bool { entries.allSatisfy { $0.picture != nil || $0.isLost } }
    /// The remaining frames with available pictures, in presentation order: the input of a new encoder.
    var frames: [EncoderFrame] {
        entries.compactMap { entry in
            entry.picture.map { picture in
                EncoderFrame(
                    number: entry.number,
                    buffer: picture,
                    presentationTime: entry.presentationTime,
                    duration: entry.duration,
                    options: entry.options
                )
            }
        }
    }

    mutating func append(_ frame: EncoderFrame, token: (any Sendable)?) {
        entries.append(
            Entry(
                number: frame.number,
                presentationTime: frame.presentationTime,
                duration: frame.duration,
                token: token,
                options: frame.options,
                picture: frame.buffer
            )
        )
    }

    /// Releases a picture that will not be encoded again. Ignored for a frame that was already delivered.
    mutating func releasePicture(of number: Int64) {
        guard (firstNumber..<nextNumber).contains(number) else { return }
        entries[index(of: number)].picture = nil
    }

    /// Records that the picture of a frame cannot be read, so that no encoder will return the frame.
    ///
    /// - Returns: Its record; `nil` if it was delivered, coded or lost before.
    mutating func lose(_ number: Int64) -> Entry? {
        guard (firstNumber..<nextNumber).contains(number) else { return nil }
        let index = index(of: number)
        guard !entries[index].isCoded, !entries[index].isLost else { return nil }
        entries[index].isLost = true
        entries[index].picture = nil
        passLostFrames()
        return entries[index]
    }

    /// Takes lost frames as coded whose predecessors all are.
    private mutating func passLostFrames() {
        guard entries.contains(where: \.isLost) else { return }
        for index in entries.indices {
            if entries[index].isCoded { continue }
            guard entries[index].isLost else { return }
            let number = entries[index].number
            entries[index].isCoded = true
            coded.append(
                CodedFrame(
                    number: number,
                    data: CodedData([]),
                    isKeyFrame: false,
                    isReference: false,
                    isDropped: true
                )
            )
            highestCoded = max(highestCoded, number)
        }
    }

    /// Discards all coded data that was not delivered, because the encoder failed.
    mutating func discardCoded() {
        coded.removeAll(keepingCapacity: true)
        highestCoded = firstNumber - 1
        for index in entries.indices { entries[index].isCoded = false }
        passLostFrames()
    }

    /// Adds a coded frame.
    ///
    /// - Parameter reorderDepth: The maximum number of frames that are decoded before a frame and shown after it.
    /// - Throws: `frameFailed` if the encoder returned an unknown frame, a frame twice, or an IDR picture before a
    ///   frame with an earlier presentation time (everything decoded after an IDR picture must be shown after it), or
    ///   if it skipped a frame, which would hold back all later frames.
    mutating func take(_ frame: CodedFrame, reorderDepth: Int) throws(MediaError) {
        guard (firstNumber..<nextNumber).contains(frame.number), !entries[index(of: frame.number)].isCoded else {
            throw MediaError(
                .frameFailed,
                "the encoder returned a frame that it was not given, or returned it twice",
                given: "frame \(frame.number)",
                allowed: "\(firstNumber)..<\(nextNumber), each once"
            )
        }
        guard !frame.isKeyFrame || (coded.isEmpty && frame.number == firstNumber) else {
            throw MediaError(
                .frameFailed,
                "the encoder returned a key frame before a frame with an earlier presentation time",
                given: "frame \(frame.number)",
                allowed: "no key frame before frame \(firstNumber)"
            )
        }
        entries[index(of: frame.number)].isCoded = true
        coded.append(frame)
        highestCoded = max(highestCoded, frame.number)
        passLostFrames()
        if coded.count > reorderDepth { try checkOrder(reorderDepth) }
    }

    /// Checks that every coded frame shown after the first uncoded one may be decoded before it.
    private func checkOrder(_ reorderDepth: Int) throws(MediaError) {
        let inOrder = entries.prefix { $0.isCoded }.count
        let ahead = coded.count - inOrder
        guard ahead > reorderDepth else { return }
        throw MediaError(
            .frameFailed,
            "the encoder skipped a frame, or reordered more frames than it announced",
            given: "\(ahead) frames after frame \(firstNumber + Int64(inOrder)) without that frame",
            allowed: "at most \(reorderDepth)"
        )
    }

    /// The complete group, in decoding order; `nil` if there is none.
    var completeGroup: Group? {
        guard !coded.isEmpty, highestCoded - firstNumber + 1 == Int64(coded.count) else { return nil }
        return coded.map { (entries[index(of: $0.number)], $0) }
    }

    /// Removes the complete group.
    mutating func removeCompleteGroup() {
        entries.removeFirst(coded.count)
        firstNumber += Int64(coded.count)
        coded.removeAll(keepingCapacity: true)
    }

    private func index(of number: Int64) -> Int { Int(number - firstNumber) }
}
