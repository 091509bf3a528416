// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// Creates samples from coded frames: assigns decode times and marks changes of the format description.
struct SampleAssembler {
    /// The maximum number of frames that are decoded before a frame and shown after it.
    let reorderDepth: Int

    private(set) var decodeTimes: DecodeTimes
    private(set) var lastFormat: FormatDescription?

    init(reorderDepth: Int, frameRate: Rational) {
        self.reorderDepth = reorderDepth
        decodeTimes = DecodeTimes(depth: reorderDepth, frameRate: frameRate)
    }

    /// Whether the decode times before that presentation time can be represented if it is that of the first frame.
    func canBegin(at time: MediaTime) -> Bool { decodeTimes.canBegin(at: time) }

    /// Returns the samples of a group.
    ///
    /// - Parameter format: The format description before the group, which becomes the one after the group.
    /// - Throws: `frameFailed` if the encoder reordered more frames than declared; the state is then unchanged.
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

/// Assigns decode times to samples: strictly increasing and never later than the presentation time.
///
/// Sample n is decoded when frame n - depth is shown. The first `depth` samples are decoded before the first frame is
/// shown, one nominal frame duration apart. Because groups leave in presentation order, frame n - depth has always been
/// delivered before or is in the same group.
package struct DecodeTimes {
    private let depth: Int
    private let frameDuration: MediaTime
    /// The decode times that are not assigned yet: after the first group, always `depth` of them.
    private(set) var next: [MediaTime]?

    /// - Parameters:
    ///   - depth: The maximum number of frames that are decoded before a frame and shown after it.
    ///   - frameRate: The nominal frame rate.
    package init(depth: Int, frameRate: Rational) {
        self.depth = max(depth, 0)
        frameDuration = MediaTime(value: Int64(frameRate.denominator), timescale: frameRate.numerator)
    }

    /// Returns the decode times of the next group from its presentation times in presentation order.
    package mutating func assign(presentationTimes: [MediaTime]) -> [MediaTime] {
        guard let first = presentationTimes.first else { return [] }
        let times = (next ?? timesBefore(first)) + presentationTimes
        next = Array(times.dropFirst(presentationTimes.count))
        return Array(times.prefix(presentationTimes.count))
    }

    /// Whether the decode times before a first frame with that presentation time fit a ``MediaTime``.
    func canBegin(at first: MediaTime) -> Bool {
        next != nil || timesBefore(first).allSatisfy(\.isValid)
    }

    private func timesBefore(_ first: MediaTime) -> [MediaTime] {
        let ticks = frameDuration.converted(to: first.timescale, rounding: .down)
        let step = ticks.value > 0 ? ticks : MediaTime(value: 1, timescale: first.timescale)
        return (0..<depth).map { first - step * Int64(depth - $0) }
    }
}
