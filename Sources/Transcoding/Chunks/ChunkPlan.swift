// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import MediaTypes

/// Where an input is cut into chunks, each of which is encoded on its own.
struct ChunkPlan: Sendable, Hashable {
    /// The pictures of the input.
    let index: FrameIndex
    /// The pictures of each chunk, in order, without gaps; at least one chunk.
    let chunks: [Range<Int>]

    /// The number of pictures that a chunk has at least, if the input has as many.
    static let fewestPictures = 2

    /// Cuts an input. A chunk ends at the key frame that is nearest to the wanted end, because encoders put them where
    /// scenes begin and decoding begins there; without one near it, at the picture that is nearest.
    ///
    /// - Parameters:
    ///   - index: The pictures of the input.
    ///   - duration: The wanted duration of a chunk in seconds, above zero.
    init(_ index: FrameIndex, duration: Double) {
        self.index = index
        let times = index.frames.map { $0.presentationTime.seconds }
        let end = index.end.seconds
        var chunks: [Range<Int>] = []
        var first = 0
        // What would be left behind the last border is at least half a chunk.
        while let start = times.indices.contains(first) ? times[first] : nil, end - start > 1.5 * duration {
            let earliest = Self.position(of: start + duration / 2, in: times)
            let latest = Self.position(of: min(start + 1.5 * duration, end - duration / 2), in: times)
            let lowest = max(earliest, first + Self.fewestPictures)
            let highest = min(latest, times.count - Self.fewestPictures + 1)
            guard lowest < highest else { break }
            let wanted = start + duration
            let candidates = lowest..<highest
            let border =
                candidates.filter { index.frames[$0].isKeyFrame }
                .min { abs(times[$0] - wanted) < abs(times[$1] - wanted) }
                ?? min(max(Self.position(of: wanted, in: times), lowest), highest - 1)
            chunks.append(first..<border)
            first = border
        }
        chunks.append(first..<times.count)
        self.chunks = chunks
    }

    /// Returns the index of the first time that is not before the given one.
    private static func position(of time: Double, in times: [Double]) -> Int {
        var (low, high) = (0, times.count)
        while low < high {
            let middle = (low + high) / 2
            if times[middle] < time { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns the options that read the pictures of a chunk.
    ///
    /// - Parameters:
    ///   - number: The chunk.
    ///   - whole: The options that read the whole.
    func source(of number: Int, _ whole: MediaSource.Options) -> MediaSource.Options {
        let frames = chunks[number]
        var options = whole
        options.audioPreroll = .zero
        let begin = frames.lowerBound == 0 ? nil : border(before: frames.lowerBound)
        let end = frames.upperBound == index.frames.count ? whole.duration : border(before: frames.upperBound)
        if let begin { options.start = index.offset + begin }
        options.duration = end.map { $0 - (begin ?? .zero) }
        return options
    }

    /// A time between a picture and the one before it, so that no rounding can change on which side they are.
    private func border(before frame: Int) -> MediaTime {
        let sum = index.frames[frame - 1].presentationTime + index.frames[frame].presentationTime
        return .rational(sum.value, numerator: 1, denominator: 2 * Int64(sum.timescale))
    }
}
