// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// Makes samples of coded frames: gives them their decode times and notes where the format description changes.
struct SampleAssembler {
    /// How many frames may be decoded before a frame and shown after it.
    let reorderDepth: Int

    private(set) var decodeTimes: DecodeTimes
    private(set) var lastFormat: FormatDescription?

    init(reorderDepth: Int, frameRate: Rational) {
        self.reorderDepth = reorderDepth
        decodeTimes = DecodeTimes(depth: reorderDepth, frameRate: frameRate)
    }

    /// Whether decode times before that presentation time can be written down, should the first frame have it.
    func canBegin(at time: MediaTime) -> Bool { decodeTimes.canBegin(at: time) }

    /// The samples of a group.
    ///
    /// - Parameter format: What applies to the encoder's frames; becomes what applies after the group.
    /// - Throws: `frameFailed` if the encoder reordered more frames than it said; then nothing has changed.
    mutating func samples(
        of group: FrameWindow.Group,
        format: inout FormatDescription
    ) throws(MediaError) -> [SampleBuffer] {
        var after = self
        var formatAfter = format
        let times = after.decodeTimes.assign(presentationTimes: group.map(\.entry.presentationTime).sorted())
        var samples: [SampleBuffer] = []
        samples.reserveCapacity(group.count)
        for (member, decodeTime) in zip(group, times) {
            if let changed = member.coded.formatDescription { formatAfter = changed }
            samples.append(try after.sample(member.entry, member.coded, decodeTime, formatAfter))
        }
        self = after
        format = formatAfter
        return samples
    }

    private mutating func sample(
        _ entry: FrameWindow.Entry,
        _ coded: CodedFrame,
        _ decodeTime: MediaTime,
        _ format: FormatDescription
    ) throws(MediaError) -> SampleBuffer {
        guard decodeTime <= entry.presentationTime else {
            throw MediaError(
                .frameFailed,
                "the encoder reordered more frames than it announced",
                given: "frame \(entry.number) at \(entry.presentationTime)",
                allowed: "at or after \(decodeTime)"
            )
        }
        defer { lastFormat = format }
        return SampleBuffer(
            data: coded.data,
            presentationTime: entry.presentationTime,
            decodeTime: decodeTime,
            duration: entry.duration,
            isKeyFrame: coded.isKeyFrame,
            isReference: coded.isReference,
            isDropped: coded.isDropped,
            formatDescription: format,
            formatDescriptionChanged: lastFormat != format,
            token: entry.token
        )
    }
}

/// Gives samples their decode times: strictly increasing and never above the presentation time.
///
/// Sample n is decoded when frame n - depth is shown; the first `depth` samples are decoded one nominal frame duration
/// apart before the first frame is shown. As groups leave in presentation order, frame n - depth has always left or is
/// in the same group.
struct DecodeTimes {
    private let depth: Int
    private let frameDuration: MediaTime
    /// Decode times that are not given yet: after the first group, always `depth` of them.
    private(set) var next: [MediaTime]?

    /// - Parameters:
    ///   - depth: How many frames may be decoded before a frame and shown after it.
    ///   - frameRate: The nominal frame rate.
    init(depth: Int, frameRate: Rational) {
        self.depth = max(depth, 0)
        frameDuration = MediaTime(value: Int64(frameRate.denominator), timescale: frameRate.numerator)
    }

    /// The decode times of the next group, whose presentation times are given in presentation order.
    mutating func assign(presentationTimes: [MediaTime]) -> [MediaTime] {
        guard let first = presentationTimes.first else { return [] }
        let times = (next ?? timesBefore(first)) + presentationTimes
        next = Array(times.dropFirst(presentationTimes.count))
        return Array(times.prefix(presentationTimes.count))
    }

    /// Whether the times before the first frame, if it is shown then, fit a ``MediaTime``.
    func canBegin(at first: MediaTime) -> Bool {
        next != nil || timesBefore(first).allSatisfy(\.isValid)
    }

    private func timesBefore(_ first: MediaTime) -> [MediaTime] {
        let ticks = frameDuration.converted(to: first.timescale, rounding: .down)
        let step = ticks.value > 0 ? ticks : MediaTime(value: 1, timescale: first.timescale)
        return (0..<depth).map { first - step * Int64(depth - $0) }
    }
}
