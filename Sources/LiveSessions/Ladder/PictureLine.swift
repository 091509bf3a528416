// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The pictures that wait for the encoder of a rendition; a pure value.
///
/// If it is full, the oldest picture that is no key frame is dropped: key frames are at the same pictures in all renditions,
/// so that players can change between them there.
struct PictureLine<Element> {
    private var items: [(element: Element, isKeyFrame: Bool)] = []
    /// The number of pictures that were dropped.
    private(set) var dropped = 0

    /// As many as wait for an encoder in real-time mode.
    static var capacity: Int { 3 }

    /// Whether a picture can be added without one being dropped.
    var hasRoom: Bool { items.count < Self.capacity }
    var isEmpty: Bool { items.isEmpty }

    mutating func add(_ element: Element, isKeyFrame: Bool) {
        items.append((element, isKeyFrame))
        guard items.count > Self.capacity else { return }
        dropped += 1
        items.remove(at: items.firstIndex { !$0.isKeyFrame } ?? 0)
    }

    mutating func next() -> (element: Element, isKeyFrame: Bool)? { items.isEmpty ? nil : items.removeFirst() }
}

/// Decides which pictures become key frames in all renditions; a pure value.
struct KeyFrameGrid {
    private let interval: MediaTime
    private var next: MediaTime?

    /// - Parameter interval: The distance of key frames.
    init(interval: MediaTime) { self.interval = interval }

    /// Returns whether a picture becomes a key frame. A delay of one does not move the following ones.
    mutating func isDue(at time: MediaTime) -> Bool {
        guard let next else {
            self.next = time + interval
            return true
        }
        guard time >= next else { return false }
        let following = next + interval
        self.next = following > time ? following : time + interval
        return true
    }
}
