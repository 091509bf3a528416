// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// Decides at which pictures the segments of a stream begin and where further key frames are, so that all renditions of
/// one input agree.
///
/// A segment begins at the first picture, and at the first one that is at least the segment duration after the previous
/// beginning. A picture that is less than half a frame early counts, so that rounded times do not matter. Key frames are
/// placed in the same way, from the beginning of their segment.
public struct SegmentGrid: Sendable, Hashable {
    /// What a picture begins.
    public enum Mark: Sendable, Hashable {
        /// A segment, with a key frame.
        case segment
        /// Only a key frame.
        case keyFrame
    }

    private let duration: MediaTime
    private let keyFrames: MediaTime?
    private let tolerance: MediaTime
    private var segmentStart: MediaTime?
    private var keyFrameStart = MediaTime.zero

    /// Makes a grid.
    ///
    /// - Parameters:
    ///   - duration: The nominal duration of a segment; positive.
    ///   - keyFrames: The nominal distance of key frames within a segment; `nil` for none.
    ///   - frameRate: The frame rate in frames per second, if it is constant.
    public init(duration: MediaTime, keyFrames: MediaTime? = nil, frameRate: Rational? = nil) {
        self.duration = duration
        self.keyFrames = keyFrames
        let half = frameRate.map {
            MediaTime.rational(1, numerator: Int64($0.denominator), denominator: 2 * Int64($0.numerator))
        }
        tolerance = half.flatMap { $0.isValid ? $0 : nil } ?? MediaTime(value: 1, timescale: 1000)
    }

    /// Returns what a picture begins, if anything. Pictures are passed in the order of their times; those at which nothing
    /// can begin may be left out.
    public mutating func place(_ time: MediaTime) -> Mark? {
        guard let start = segmentStart, time < start + duration - tolerance else {
            (segmentStart, keyFrameStart) = (time, time)
            return .segment
        }
        guard let keyFrames, time >= keyFrameStart + keyFrames - tolerance else { return nil }
        keyFrameStart = time
        return .keyFrame
    }
}
