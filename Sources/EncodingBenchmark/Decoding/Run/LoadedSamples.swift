// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaIO
internal import MediaTypes

/// The samples of the main video of an input, in decoding order and in memory, so that reading is not measured.
struct LoadedSamples: Sendable {
    var input: DecodersReport.Input
    var format: FormatDescription
    var samples: [SampleBuffer]

    /// The size of the samples that are kept at most, in bytes.
    static let mostBytes = 512 << 20
}

/// Reads samples on a dedicated thread.
actor SampleLoader {
    private let executor = ThreadExecutor(name: "vt-reader")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Reads the first samples of an input.
    ///
    /// - Parameters:
    ///   - path: The file or URL.
    ///   - most: The largest number of samples.
    ///   - mostBytes: Their largest size; one sample is read in any case.
    /// - Throws: As `SampleSource`; `cancelled`.
    func load(
        _ path: String,
        most: Int,
        mostBytes: Int = LoadedSamples.mostBytes,
        _ cancellation: Cancellation
    ) throws(MediaError) -> LoadedSamples {
        let source = try SampleSource(path: path, cancellation: cancellation)
        var samples: [SampleBuffer] = []
        var bytes = 0
        var limit: DecodersReport.Input.Limit?
        while let sample = try source.next() {
            if samples.count == most { limit = .samples }
            if !samples.isEmpty, bytes + sample.data.count > mostBytes { limit = .bytes }
            if limit != nil { break }
            samples.append(sample)
            bytes += sample.data.count
        }
        let (format, problems) = (source.formatDescription, source.problems)
        let input = DecodersReport.Input(
            path: path,
            container: source.formatName,
            codec: format.codec,
            width: format.width,
            height: format.height,
            samples: samples.count,
            bytes: bytes,
            limit: limit,
            losses: problems.readErrors + problems.lostPackets
        )
        return LoadedSamples(input: input, format: format, samples: samples)
    }
}
