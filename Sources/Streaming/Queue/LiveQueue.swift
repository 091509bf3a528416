// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The units that wait for the network of one output.
///
/// Its age is bounded: what a receiver would get too late is not sent. Pictures that no other picture needs are dropped
/// first, then the rest of the oldest group of pictures, so that the receiver sees a pause and no damage. Key frames and
/// sound stay, unless they are older than ``Limits/oldest``. All times are in seconds of one clock.
package struct LiveQueue: Sendable {
    /// The limits of a queue.
    package struct Limits: Sendable, Hashable {
        /// The age in seconds from which on pictures are dropped.
        package var age = 0.9
        /// The age in seconds from which on everything is dropped.
        package var oldest = 3.6
        /// The number of coded bytes above which everything is dropped.
        package var byteCount = 64 << 20

        /// Makes the default limits.
        package init() {}
    }

    private struct Item {
        let unit: LiveUnit
        let arrival: Double

        var isPicture: Bool { if case .video = unit { true } else { false } }
        var isDisposable: Bool { if case .video(let sample) = unit { !sample.isReference } else { false } }
    }

    /// The limits.
    package let limits: Limits
    /// What was dropped so far.
    package private(set) var drops = DropCounts()
    /// The number of coded bytes that wait.
    package private(set) var byteCount = 0
    /// Whether the next picture must be a key frame, which the encoder should make soon.
    package private(set) var needsKeyFrame: Bool
    /// Whether a connection has no picture yet, so that sound has no place either.
    private var awaitsFirstPicture: Bool

    private var items: [Item] = []
    /// Whether there is a connection for which units wait, or will be for the first time.
    private var isOpen = true
    /// Whether there was no connection yet.
    private var isBeginning = true
    private let hasVideo: Bool

    /// Makes a queue for an output that connects for the first time. It keeps the beginning of the stream meanwhile.
    ///
    /// - Parameter hasVideo: Whether the stream has video, with which a connection then begins.
    package init(hasVideo: Bool, limits: Limits = Limits()) {
        (self.hasVideo, self.limits) = (hasVideo, limits)
        (needsKeyFrame, awaitsFirstPicture) = (hasVideo, hasVideo)
    }

    /// The number of units that wait.
    package var count: Int { items.count }

    /// How long the oldest unit has been waiting, in seconds.
    package func age(at now: Double) -> Double { items.first.map { max(now - $0.arrival, 0) } ?? 0 }

    /// Begins with the next key frame, or without video with the next unit; the first time, with what has waited.
    package mutating func open(at now: Double) {
        if isBeginning {
            // It was not the network that was slow.
            items = items.map { Item(unit: $0.unit, arrival: now) }
        } else {
            (needsKeyFrame, awaitsFirstPicture) = (hasVideo, hasVideo)
        }
        (isOpen, isBeginning) = (true, false)
    }

    /// Drops everything until ``open()``.
    package mutating func close() {
        (isOpen, isBeginning) = (false, false)
        drop(.disconnected) { _ in true }
    }

    /// Adds a unit, or drops it.
    package mutating func add(_ unit: LiveUnit, at now: Double) {
        let item = Item(unit: unit, arrival: now)
        guard isOpen else { return drops.add(.disconnected, isPicture: item.isPicture) }
        if unit.isKeyFrame {
            (needsKeyFrame, awaitsFirstPicture) = (false, false)
        } else if item.isPicture ? needsKeyFrame : awaitsFirstPicture {
            return drops.add(.beforeKeyFrame, isPicture: item.isPicture)
        }
        items.append(item)
        byteCount += unit.byteCount
        keepLimits(now)
    }

    /// Returns the next unit to send.
    package mutating func next() -> LiveUnit? {
        guard !items.isEmpty else { return nil }
        let item = items.removeFirst()
        byteCount -= item.unit.byteCount
        return item.unit
    }

    /// Drops what is too old.
    private mutating func keepLimits(_ now: Double) {
        guard age(at: now) > limits.age || byteCount > limits.byteCount else { return }
        if age(at: now) > limits.oldest || byteCount > limits.byteCount {
            drop(.age) { _ in true }
            needsKeyFrame = hasVideo
            // Before the first connection, this is a new beginning.
            if isBeginning { awaitsFirstPicture = hasVideo }
            return
        }
        guard !isBeginning else { return }
        drop(.age) { $0.isDisposable }
        guard let late = items.first(where: { $0.isPicture && !$0.unit.isKeyFrame }), now - late.arrival > limits.age
        else { return }
        // Until the next key frame, pictures need those that are dropped.
        let first = items.firstIndex { $0.isPicture && !$0.unit.isKeyFrame } ?? 0
        let end = items[first...].firstIndex { $0.unit.isKeyFrame } ?? items.count
        needsKeyFrame = end == items.count
        let kept = items[..<first] + items[first..<end].filter { !$0.isPicture } + items[end...]
        for item in items[first..<end] where item.isPicture { note(.age, item) }
        items = Array(kept)
    }

    private mutating func drop(_ reason: DropReason, where isDropped: (Item) -> Bool) {
        for item in items where isDropped(item) { note(reason, item) }
        items.removeAll(where: isDropped)
    }

    private mutating func note(_ reason: DropReason, _ item: Item) {
        drops.add(reason, isPicture: item.isPicture)
        byteCount -= item.unit.byteCount
    }
}

/// Why a unit was not sent.
public enum DropReason: String, Sendable, Hashable, CaseIterable {
    /// It would have been too late: the network was slower than the stream.
    case age
    /// There was no connection.
    case disconnected
    /// A picture, or sound before the first picture, came between the start of a connection or dropped pictures and the
    /// next key frame.
    case beforeKeyFrame = "before-key-frame"
}

/// The numbers of units that were not sent, by their reasons.
public struct DropCounts: Sendable, Hashable {
    /// The numbers of pictures.
    public private(set) var pictures: [DropReason: Int] = [:]
    /// The numbers of packets of audio.
    public private(set) var audio: [DropReason: Int] = [:]

    /// Makes counts of zero.
    public init() {}

    /// The number of pictures that were not sent although there was a connection.
    public var latePictures: Int { (pictures[.age] ?? 0) + (pictures[.beforeKeyFrame] ?? 0) }

    mutating func add(_ reason: DropReason, isPicture: Bool) {
        if isPicture { pictures[reason, default: 0] += 1 } else { audio[reason, default: 0] += 1 }
    }
}
