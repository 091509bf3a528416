// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// What is known of a decoded frame when its picture is gone.
package struct DecodedFrameRecord: Sendable, Hashable {
    /// The presentation time.
    package var presentationTime: MediaTime
    /// The digest of size, chroma format, bit depth and all samples; the same for NV12 and I420.
    package var digest: UInt64
    /// Whether the picture may differ from what was encoded, because the input is damaged.
    package var isDamaged: Bool

    /// Makes a record.
    package init(presentationTime: MediaTime, digest: UInt64, isDamaged: Bool = false) {
        self.presentationTime = presentationTime
        self.digest = digest
        self.isDamaged = isDamaged
    }
}

/// The comparison of the frames of one decoder with those of another one, the reference, which has decoded the same samples.
///
/// Frames are paired by presentation time. Frames that are damaged in either sequence are not compared: decoders conceal
/// damage in different ways.
package struct FrameComparison: Sendable, Hashable {
    /// How a frame differs from the reference.
    package enum Kind: String, Sendable, Hashable {
        /// The samples are others.
        case samples
        /// The reference has a frame at this time, the decoder has none.
        case missing
        /// The decoder has a frame at this time, the reference has none.
        case surplus
        /// A frame with a later time in the reference comes before it.
        case order
    }

    /// A frame that differs.
    package struct Difference: Sendable, Hashable {
        /// The index of the frame in the reference, from 0; of a surplus one, its index in the decoder's frames.
        package var index: Int
        /// The presentation time.
        package var presentationTime: MediaTime
        /// How it differs.
        package var kind: Kind
    }

    /// The number of frames that were compared.
    package private(set) var compared = 0
    /// The number of frames that were not compared because they are damaged.
    package private(set) var damaged = 0
    /// The number of frames that differ.
    package private(set) var differing = 0
    /// The differing frame with the lowest index; `nil` if all frames are equal.
    package private(set) var first: Difference?

    /// Compares frames in the order in which the decoders have returned them.
    package init(of frames: [DecodedFrameRecord], with reference: [DecodedFrameRecord]) {
        let keys = Self.keys(frames)
        let places = Dictionary(uniqueKeysWithValues: zip(keys, frames.indices))
        let referenceKeys = Self.keys(reference)
        var last = -1
        for (index, key) in referenceKeys.enumerated() {
            let place = places[key]
            if reference[index].isDamaged || place.map({ frames[$0].isDamaged }) == true {
                damaged += 1
                continue
            }
            guard let place else {
                note(.missing, index, key)
                continue
            }
            compared += 1
            if place < last {
                note(.order, index, key)
            } else if frames[place].digest != reference[index].digest {
                note(.samples, index, key)
            }
            last = max(last, place)
        }
        let known = Set(referenceKeys)
        for (index, key) in keys.enumerated() where !known.contains(key) {
            if frames[index].isDamaged { damaged += 1 } else { note(.surplus, index, key) }
        }
    }

    /// A presentation time, and how many frames before have the same one.
    private struct Key: Hashable {
        var presentationTime: MediaTime
        var repetition: Int
    }

    private static func keys(_ frames: [DecodedFrameRecord]) -> [Key] {
        var counts: [MediaTime: Int] = [:]
        return frames.map { frame in
            defer { counts[frame.presentationTime, default: 0] += 1 }
            return Key(presentationTime: frame.presentationTime, repetition: counts[frame.presentationTime, default: 0])
        }
    }

    private mutating func note(_ kind: Kind, _ index: Int, _ key: Key) {
        differing += 1
        if let first, first.index <= index { return }
        first = Difference(index: index, presentationTime: key.presentationTime, kind: kind)
    }
}
