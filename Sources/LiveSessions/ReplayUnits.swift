// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The coded pictures and packets of sound that a replay keeps, and what of them a saved replay has.
///
/// A replay begins at the last key frame that is old enough. Pictures are in decoding order, so that those before it go.
/// Sound is kept by its time, because an encoder of sound may be ahead of that of pictures. Where pictures stop, the last
/// group of them stays, and sound is kept for the length alone.
struct ReplayUnits<Picture: Sendable, Packet: Sendable>: Sendable {
    /// A coded picture.
    struct CodedPicture: Sendable {
        var content: Picture
        var presentationTime: MediaTime
        var decodeTime: MediaTime
        var isKeyFrame: Bool
        var byteCount: Int
    }

    /// A packet of sound.
    struct CodedSound: Sendable {
        var content: Packet
        var time: MediaTime
        var byteCount: Int
    }

    /// What is written into a file, with its times there, or what is added to them.
    enum Written: Sendable {
        case picture(Picture, presentationTime: MediaTime, decodeTime: MediaTime)
        case packet(Packet, shift: MediaTime)
    }

    private struct KeyFrame {
        /// The number of the picture, of all that were added.
        var number: Int
        var time: MediaTime
    }

    /// The length.
    let length: MediaTime
    /// Whether there are pictures.
    var hasVideo = true
    /// The latest time.
    private(set) var end = MediaTime.zero
    /// The number of coded bytes.
    private(set) var byteCount = 0

    private var pictures = Line<CodedPicture>()
    private var sounds = Line<CodedSound>()
    private var keyFrames = Line<KeyFrame>()
    /// The latest time of a picture.
    private var lastPicture = MediaTime.zero
    /// The time from which on sound is kept.
    private var floor: MediaTime?

    init(length: MediaTime) { self.length = length }

    /// The number of pictures and packets.
    var count: Int { pictures.count + sounds.count }

    mutating func add(_ picture: CodedPicture) {
        note(picture.presentationTime, picture.byteCount)
        lastPicture = max(lastPicture, picture.presentationTime)
        if picture.isKeyFrame {
            keyFrames.append(KeyFrame(number: pictures.appended, time: picture.presentationTime))
        }
        pictures.append(picture)
        if picture.isKeyFrame { dropGroups() }
    }

    mutating func add(_ sound: CodedSound) {
        // What has no time has no place in a replay.
        guard sound.time.isValid else { return }
        note(sound.time, sound.byteCount)
        sounds.append(sound)
        let start = end - length
        if !hasVideo || lastPicture < start { dropSound(before: start) }
    }

    private mutating func note(_ time: MediaTime, _ byteCount: Int) {
        if time.isValid { end = max(end, time) }
        self.byteCount += byteCount
    }

    /// Drops the groups of pictures before the last key frame that is old enough, and their sound.
    private mutating func dropGroups() {
        let start = end - length
        while let second = keyFrames.second, second.time <= start { keyFrames.removeFirst() }
        guard let first = keyFrames.first else { return }
        while pictures.removed < first.number, let picture = pictures.removeFirst() { byteCount -= picture.byteCount }
        if first.time <= start { dropSound(before: first.time) }
    }

    private mutating func dropSound(before time: MediaTime) {
        floor = max(floor ?? time, time)
        while let first = sounds.first, first.time < time {
            byteCount -= first.byteCount
            sounds.removeFirst()
        }
    }

    // MARK: - Saving

    /// Returns what a saved replay has, in order; `nil` if there is no picture yet, or without pictures no sound.
    func written() -> [Written]? {
        guard hasVideo else {
            guard let start = sounds.elements.map(\.time).min() else { return nil }
            return sounds.elements.map { .packet($0.content, shift: .zero - start) }
        }
        guard let key = keyFrames.first else { return nil }
        var shown = Array(pictures.elements.dropFirst(key.number - pictures.removed))
        var start = key.time
        if let floor, floor > start { start = Self.hurry(&shown, to: floor) }
        let sound = sounds.elements.filter { $0.time >= start }
        var (written, position) = ([Written](), 0)
        for picture in shown {
            while position < sound.count, sound[position].time < picture.decodeTime {
                written.append(.packet(sound[position].content, shift: .zero - start))
                position += 1
            }
            written.append(
                .picture(
                    picture.content,
                    presentationTime: picture.presentationTime - start,
                    decodeTime: picture.decodeTime - start
                )
            )
        }
        return written + sound[position...].map { .packet($0.content, shift: .zero - start) }
    }

    /// Moves pictures that are long past, but that later ones need, to one millisecond each before a time.
    ///
    /// - Returns: The time of the first one.
    private static func hurry(_ pictures: inout [CodedPicture], to floor: MediaTime) -> MediaTime {
        let past = pictures.prefix { $0.decodeTime < floor }
        let shown = past.indices.filter { past[$0].presentationTime < floor }
            .sorted { past[$0].presentationTime < past[$1].presentationTime }
        let delay = shown.enumerated().map { $0.element - $0.offset }.max() ?? 0
        let start = floor - milliseconds(past.count + max(delay, 0))
        for index in past.indices { pictures[index].decodeTime = start + milliseconds(index) }
        for (rank, index) in shown.enumerated() {
            pictures[index].presentationTime = start + milliseconds(rank + max(delay, 0))
        }
        return start
    }

    private static func milliseconds(_ count: Int) -> MediaTime { MediaTime(value: Int64(count), timescale: 1000) }
}

/// A line of elements, from which the first ones are removed in constant time on average.
private struct Line<Element: Sendable>: Sendable {
    private var storage: [Element?] = []
    private var head = 0
    /// The number of elements that were ever added.
    private(set) var appended = 0

    var count: Int { storage.count - head }
    /// The number of elements that were removed.
    var removed: Int { appended - count }
    var first: Element? { count > 0 ? storage[head] : nil }
    var second: Element? { count > 1 ? storage[head + 1] : nil }
    var elements: [Element] { storage[head...].compactMap(\.self) }

    mutating func append(_ element: Element) {
        storage.append(element)
        appended += 1
    }

    @discardableResult
    mutating func removeFirst() -> Element? {
        guard count > 0 else { return nil }
        let first = storage[head].take()
        head += 1
        if head * 2 > storage.count {
            storage.removeFirst(head)
            head = 0
        }
        return first
    }
}
