// SPDX-License-Identifier: GPL-2.0-or-later

extension GOPStructure {
    /// The highest number of pictures that are coded before a picture and shown after it (`max_num_reorder_frames`):
    /// a promise that every plan keeps.
    public var reorderDepth: Int {
        // Groups are shortened at key frames, marks and the end.
        (0...min(max(consecutiveBFrames, 0), 16)).map { count in
            BFrameTree.reorderDepth(count: count, depth: pyramidDepth)
        }.max() ?? 0
    }

    /// How many pictures the plan keeps as references at most (`max_num_ref_frames`): what the lists can use, as far as
    /// the decoded picture buffer has room for it.
    ///
    /// A decoded picture buffer of that size is enough for the whole stream (`max_dec_frame_buffering`). Every picture
    /// that is no reference is shown before what waits in the buffer, so it needs no place; and a picture is dropped
    /// only when everything shown before it is decoded, so that it has been shown when its place is needed.
    public var referenceCount: Int {
        max(min(pictureLimit, min(max(list0Limit, 1), 16) - 1 + minimumPictureCount), minimumPictureCount)
    }

    /// The smallest decoded picture buffer that this structure works with: the pictures that are shown later, the
    /// nearest one that was shown before, and the long-term references.
    public var minimumPictureCount: Int { reorderDepth + 1 + min(max(longTermReferences, 0), 15) }

    /// This structure with as many B-frames, levels of the pyramid and long-term references as a limit of reordering
    /// and the decoded picture buffer allow. Levels go first, then B-frames, then long-term references.
    ///
    /// - Parameters:
    ///   - depth: the highest ``reorderDepth``, at least 0.
    ///   - pictures: the size of the decoded picture buffer, at least 1; ``pictureLimit`` is lowered to it.
    public func limited(toReorderDepth depth: Int, pictures: Int) -> GOPStructure {
        var result = self
        result.pictureLimit = min(pictureLimit, max(pictures, 1))
        result.pyramidDepth = min(pyramidDepth, 4)
        result.longTermReferences = min(longTermReferences, 15)
        func fits() -> Bool {
            result.reorderDepth <= max(depth, 0) && result.minimumPictureCount <= result.pictureLimit
        }
        while !fits() && result.pyramidDepth > 0 { result.pyramidDepth -= 1 }
        if !fits() { result.consecutiveBFrames = 0 }
        while !fits() && result.longTermReferences > 0 { result.longTermReferences -= 1 }
        return result
    }

    /// The highest distance in presentation order between a picture and the reference that is coded before it: what
    /// order counts of limited width have to tell apart.
    var maximumDisplayDistance: Int {
        // The reference before a P-frame may be the first B-frame of the group before.
        let ofGroups = consecutiveBFrames + 1 + (pyramidDepth > 0 ? consecutiveBFrames : 0)
        return max(ofGroups, temporalLayers > 2 ? 4 : temporalLayers)
    }

    /// How many B-frames in a row make each of so many temporal layers double the rate of those below it: every second
    /// of the pictures is in the uppermost one, every second of the others in the one below. 0 for one layer.
    public static func bFrames(fillingLayers layers: Int) -> Int { (1 << min(max(layers - 1, 0), 4)) - 1 }

    /// How many references a short-term reference may outlive before it is dropped. A full buffer drops it earlier, but
    /// long-term references that replace each other never fill one.
    var referenceAgeLimit: Int { referenceCount + consecutiveBFrames }

    /// The temporal layer of the P-frame at a place of the pattern; without B-frames.
    func layer(ofPFrame place: Int) -> Int {
        switch temporalLayers {
        case 2: [0, 1][place % 2]
        case 3: [0, 2, 1, 2][place % 4]
        default: 0
        }
    }

    /// The temporal layer of the B-frame at a position of its group, counted from 1.
    func layer(ofBFrame position: Int) -> Int {
        switch temporalLayers {
        case 2: 1
        case 3: position % 2 == 0 ? 1 : 2
        default: 0
        }
    }
}
