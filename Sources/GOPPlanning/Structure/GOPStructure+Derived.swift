// SPDX-License-Identifier: GPL-2.0-or-later

extension GOPStructure {
    /// The maximum number of pictures that are coded before a picture and shown after it (`max_num_reorder_frames`);
    /// every plan observes it.
    public var reorderDepth: Int {
        // Groups are shortened at key frames, marked pictures and the end.
        (0...min(max(consecutiveBFrames, 0), 16)).map { count in
            BFrameTree.reorderDepth(count: count, depth: pyramidDepth)
        }.max() ?? 0
    }

    /// The maximum number of pictures that the plan keeps as references (`max_num_ref_frames`): as many as the lists
    /// can use, as far as the decoded picture buffer has space for them.
    ///
    /// A decoded picture buffer of this size is sufficient for the whole stream (`max_dec_frame_buffering`). Every
    /// non-reference picture is shown before the pictures that wait in the buffer, so it needs no space; and a picture
    /// is dropped only when all pictures shown before it are decoded, so that it has been shown when its space is
    /// needed.
    public var referenceCount: Int {
        max(min(pictureLimit, min(max(list0Limit, 1), 16) - 1 + minimumPictureCount), minimumPictureCount)
    }

    /// The minimum size of the decoded picture buffer for this structure: the pictures that are shown later, the
    /// nearest one that was shown before, and the long-term references.
    public var minimumPictureCount: Int { reorderDepth + 1 + min(max(longTermReferences, 0), 15) }

    /// Returns this structure with as many B-frames, pyramid levels and long-term references as a limit on reordering
    /// and the size of the decoded picture buffer allow. Levels are reduced first, then B-frames, then long-term
    /// references.
    ///
    /// - Parameters:
    ///   - depth: The maximum ``reorderDepth``, at least 0.
    ///   - pictures: The size of the decoded picture buffer, at least 1; ``pictureLimit`` is lowered to it.
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

    /// The maximum distance in presentation order between a picture and the reference that is coded before it, which
    /// picture order counts of limited width have to distinguish.
    var maximumDisplayDistance: Int {
        // The reference before a P-frame may be the first B-frame of the previous group.
        let ofGroups = consecutiveBFrames + 1 + (pyramidDepth > 0 ? consecutiveBFrames : 0)
        return max(ofGroups, temporalLayers > 2 ? 4 : temporalLayers)
    }

    /// Returns the number of consecutive B-frames with which each of the given number of temporal layers doubles the
    /// rate of those below it: every second picture is in the uppermost layer, every second of the others in the next
    /// lower one. 0 for one layer.
    public static func bFrames(fillingLayers layers: Int) -> Int { (1 << min(max(layers - 1, 0), 4)) - 1 }

    /// The maximum number of references that a short-term reference may outlive before it is dropped. A full buffer
    /// drops it earlier, but long-term references that replace each other never fill one.
    var referenceAgeLimit: Int { referenceCount + consecutiveBFrames }

    /// Returns the temporal layer of the P-frame at a position of the pattern, without B-frames.
    func layer(ofPFrame place: Int) -> Int {
        switch temporalLayers {
        case 2: [0, 1][place % 2]
        case 3: [0, 2, 1, 2][place % 4]
        default: 0
        }
    }

    /// Returns the temporal layer of the B-frame at a position of its group, counted from 1.
    func layer(ofBFrame position: Int) -> Int {
        switch temporalLayers {
        case 2: 1
        case 3: position % 2 == 0 ? 1 : 2
        default: 0
        }
    }
}
