// SPDX-License-Identifier: GPL-2.0-or-later

import Logging
import MediaIO
import MediaTypes
import VAToolbox

/// Reads the samples of all chunks as those of one stream: with the times of the input's pictures, and decode times that
/// all chunks share. Reads on a thread of its own.
actor ChunkSamples {
    private let executor = ThreadExecutor(name: "vt-chunks")
    private let plan: ChunkPlan
    private let records: [ChunkRecord]
    private let folder: ChunkFolder
    private let logger: Logger?
    private let cancellation: Cancellation

    private var decodeTimes: DecodeTimes
    private var source: SampleSource?
    /// The next sample: its chunk, and its place in the decoding order of the chunk.
    private var (chunk, position) = (0, 0)
    private var waiting: SampleBuffer?
    private var format: FormatDescription?

    /// The maximum number of samples that are returned at a time.
    private static let most = 64

    init(
        _ plan: ChunkPlan,
        _ records: [ChunkRecord],
        _ folder: ChunkFolder,
        frameRate: Rational,
        logger: Logger?,
        cancellation: Cancellation
    ) {
        (self.plan, self.records, self.folder) = (plan, records, folder)
        (self.logger, self.cancellation) = (logger, cancellation)
        decodeTimes = DecodeTimes(depth: records.map(\.reorderDepth).max() ?? 0, frameRate: frameRate)
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// The format of all samples; `nil` before the first one is read.
    var formatDescription: FormatDescription? { format }

    /// Returns the next samples in decoding order; none if there are none up to a decode time.
    ///
    /// - Parameter time: The decode time; `nil` for no limit.
    /// - Throws: `malformedData` if a chunk is not what its record says; the errors of reading it; `cancelled`.
    func next(until time: MediaTime?) throws(MediaError) -> [SampleBuffer] {
        var samples: [SampleBuffer] = []
        while samples.count < Self.most {
            if waiting == nil { waiting = try read() }
            guard let sample = waiting, time.map({ sample.decodeTime <= $0 }) ?? true else { break }
            samples.append(sample)
            waiting = nil
        }
        return samples
    }

    private func read() throws(MediaError) -> SampleBuffer? {
        if position == plan.chunks[chunk].count {
            guard try source?.next() == nil else { throw damage("it has more samples than its record") }
            guard chunk + 1 < plan.chunks.count else { return nil }
            (chunk, position, source) = (chunk + 1, 0, nil)
        }
        let file = folder.path(records[chunk].file)
        let source: SampleSource
        if let open = self.source {
            source = open
        } else {
            source = try SampleSource(path: file, logger: logger, cancellation: cancellation)
            self.source = source
        }
        let known = records[chunk].samples[position]
        guard var sample = try source.next(), sample.data.count == known.byteCount else {
            throw damage("a sample is missing or has another size")
        }
        let described = format ?? sample.formatDescription
        guard sample.formatDescription.parameterSets == described.parameterSets else {
            throw damage("its parameter sets differ from those of the first chunk")
        }
        let (frames, frame) = (plan.index.frames, plan.chunks[chunk].lowerBound + known.rank)
        sample.presentationTime = frames[frame].presentationTime
        let next = frame + 1 < frames.count ? frames[frame + 1].presentationTime : plan.index.end
        sample.duration = next - sample.presentationTime
        let shown = frames[plan.chunks[chunk].lowerBound + position].presentationTime
        sample.decodeTime = decodeTimes.assign(presentationTimes: [shown])[0]
        sample.formatDescriptionChanged = format == nil
        sample.formatDescription = described
        format = described
        position += 1
        return sample
    }

    private func damage(_ reason: String) -> MediaError {
        let file = folder.path(records[chunk].file)
        return MediaError(.malformedData, "a chunk has changed since it was encoded: \(reason)", given: file)
    }
}
