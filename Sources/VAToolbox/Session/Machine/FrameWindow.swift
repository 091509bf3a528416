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
        let number: Int64
        let presentationTime: MediaTime
        let duration: MediaTime
        let token: (any Sendable)?
        let options: FrameOptions
        /// `nil` once nobody will encode it again.
        fileprivate(set) var picture: PixelBuffer?
        fileprivate(set) var isCoded = false
    }

    /// A group that leaves, in decoding order, with its frames.
    typealias Group = [(entry: Entry, coded: CodedFrame)]

    private(set) var entries: [Entry] = []
    private(set) var coded: [CodedFrame] = []
    private(set) var highestCoded: Int64 = -1
    /// The number of the first entry.
    private(set) var firstNumber: Int64 = 0

    /// The number that the next frame gets.
    var nextNumber: Int64 { firstNumber + Int64(entries.count) }
    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }
    /// Frames whose coded data are still awaited.
    var uncodedCount: Int { entries.count - coded.count }

    /// Whether a new encoder can take over: the pictures of all frames that are left are there.
    var isRepeatable: Bool { entries.allSatisfy { $0.picture != nil } }
    /// The frames that are left and whose pictures are there, in presentation order: what a new encoder must be given.
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

    /// Lets go of a picture that nobody will encode again. Ignored for a frame that has left.
    mutating func releasePicture(of number: Int64) {
        guard (firstNumber..<nextNumber).contains(number) else { return }
        entries[index(of: number)].picture = nil
    }

    /// Forgets all coded data that have not left: their encoder failed.
    mutating func discardCoded() {
        coded.removeAll(keepingCapacity: true)
        highestCoded = firstNumber - 1
        for index in entries.indices { entries[index].isCoded = false }
    }

    /// Takes a coded frame.
    ///
    /// - Parameter reorderDepth: How many frames may be decoded before a frame and shown after it.
    /// - Throws: `frameFailed` if the encoder returned a frame that it does not have, or one twice, or an IDR picture
    ///   before a frame that is shown before it: what is decoded after an IDR picture must be shown after it; or if it passed
    ///   over a frame, which would keep those behind it for ever.
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
        if coded.count > reorderDepth { try checkOrder(reorderDepth) }
    }

    /// Whatever is coded and shown after the first frame that is not is decoded before it.
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
