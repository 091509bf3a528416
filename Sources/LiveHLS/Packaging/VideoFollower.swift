// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Streaming

/// Cuts a rendition of the video where the leading one is cut: segments with the key frames that all renditions have.
///
/// A boundary waits for the pictures before it, for a limited time, so that an encoder that is slow or replaced holds no
/// other rendition up. What comes later than that is left out, up to the next key frame, and the playlist has a gap. A
/// rendition that begins later than the leading one has no segments of the time before.
struct VideoFollower {
    /// What becomes of the rendition.
    enum Action {
        /// It begins with a picture at a time.
        case begin(SampleBuffer, at: MediaTime)
        case write(SampleBuffer, duration: MediaTime)
        /// A part or a segment ends, and a picture is next if it is known.
        case close(Boundary, next: SampleBuffer?)
    }

    private struct Cut {
        var boundary: Boundary
        /// The presentation time of the key frame of the leading rendition with which the next segment begins.
        var keyFrame: MediaTime?
    }

    private let step: MediaTime
    /// The presentation time of the first picture of the leading rendition; `nil` until it has come.
    private var start: MediaTime?
    private var hasBegun = false
    /// The distance from decode times to presentation times.
    private var offset = MediaTime.zero
    private var waiting: [SampleBuffer] = []
    private var cuts: [Cut] = []
    /// Earlier pictures come too late.
    private var floor: MediaTime?
    private var needsKeyFrame = false

    /// How long a boundary waits for the pictures before it.
    static let patience = MediaTime(value: 2, timescale: 1)
    /// How many pictures wait at most, if the leading rendition delivers none.
    private static let mostWaiting = 4096

    /// - Parameter step: The usual duration of a picture.
    init(step: MediaTime) { self.step = step }

    /// Begins with the picture that the leading rendition begins with.
    mutating func begin(at start: MediaTime) { self.start = start }

    mutating func append(_ sample: SampleBuffer) {
        guard !sample.isDropped, sample.presentationTime.isValid, sample.decodeTime.isValid else { return }
        // Without a beginning, only the newest key frames may be one.
        let isFull = waiting.count >= (start == nil ? Self.mostWaiting / 16 : Self.mostWaiting)
        if isFull { (waiting, needsKeyFrame) = ([], true) }
        waiting.append(sample)
    }

    /// - Parameter keyFrame: The presentation time of the key frame with which the next segment begins, if one does.
    mutating func append(_ boundary: Boundary, keyFrame: MediaTime?) {
        cuts.append(Cut(boundary: boundary, keyFrame: boundary.kind == .part ? nil : keyFrame))
    }

    /// Returns what is to be done next; `nil` until more is known.
    ///
    /// - Parameter horizon: The time up to which all boundaries are known; `nil` if the leading rendition has ended.
    mutating func next(horizon: MediaTime?) -> Action? {
        while let sample = waiting.first {
            guard hasBegun else {
                if let begin = begin(with: sample) { return begin }
                guard start != nil else { return nil }
                waiting.removeFirst()
                continue
            }
            let time = time(of: sample)
            if let floor, time < floor { needsKeyFrame = true }
            if needsKeyFrame, !sample.isKeyFrame || time < floor ?? .zero {
                waiting.removeFirst()
                continue
            }
            guard let cut = cuts.first, isAfter(cut, sample, time) else {
                if let cut = cuts.first, cut.boundary.kind != .part, time >= cut.boundary.end {
                    // The key frame with which the next segment begins is missing here.
                    waiting.removeFirst()
                    needsKeyFrame = true
                    continue
                }
                return write(sample, time, horizon)
            }
            cuts.removeFirst()
            return .close(cut.boundary, next: sample)
        }
        guard hasBegun, let cut = cuts.first, horizon.map({ $0 - cut.boundary.end > Self.patience }) ?? true else {
            return nil
        }
        cuts.removeFirst()
        floor = cut.boundary.next
        return .close(cut.boundary, next: nil)
    }

    private mutating func begin(with sample: SampleBuffer) -> Action? {
        guard let start, sample.isKeyFrame, sample.presentationTime >= start else { return nil }
        (hasBegun, needsKeyFrame, floor) = (true, false, nil)
        offset = sample.presentationTime - sample.decodeTime
        let missed = cuts.prefix { isAfter($0, sample, time(of: sample)) }
        cuts.removeFirst(missed.count)
        return .begin(sample, at: missed.last?.boundary.next ?? start)
    }

    /// Whether a picture belongs to what begins at a boundary.
    private func isAfter(_ cut: Cut, _ sample: SampleBuffer, _ time: MediaTime) -> Bool {
        guard cut.boundary.kind != .part else { return time >= cut.boundary.end }
        guard sample.isKeyFrame else { return false }
        // Decode times of encoders differ a little if the distances of pictures vary, those of presentation do not.
        return cut.keyFrame.map { sample.presentationTime >= $0 } ?? false || time >= cut.boundary.next
    }

    private mutating func write(_ sample: SampleBuffer, _ time: MediaTime, _ horizon: MediaTime?) -> Action? {
        if let horizon, time >= horizon { return nil }
        let isAlone = waiting.count < 2
        if isAlone, let horizon, horizon - time <= Self.patience { return nil }
        let following = isAlone ? time + step : self.time(of: waiting[1])
        let end = cuts.first.map { $0.boundary.end > time ? min(following, $0.boundary.end) : following } ?? following
        waiting.removeFirst()
        needsKeyFrame = false
        return .write(sample, duration: end - time)
    }

    private func time(of sample: SampleBuffer) -> MediaTime { sample.decodeTime + offset }
}
