// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Logging
import MediaIO
import MediaTypes
import PixelConversion

/// Reads samples of an input as the encoder gets them, and compares what became of them, on a dedicated thread.
///
/// A sample is decoded twice: for the encoder, and again for the comparison. So no sample has to fit into memory.
actor InputSampleReader {
    /// The input and what happens to its pictures before they are encoded.
    struct Input: Sendable {
        var path: String
        /// The options for the whole part that is encoded.
        var options: MediaSource.Options
        /// The constant frame rate of the output; `nil` keeps the times.
        var frameRate: Rational?
        var regions: [RegionOfInterest]
        var logger: Logger?
        var cancellation: Cancellation
    }

    private let input: Input
    private let executor = ThreadExecutor(name: "vt-samples")
    private var pictures: SamplePictures?
    private var judge: (any QualityJudge)?

    init(_ input: Input) { self.input = input }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Opens a sample.
    ///
    /// - Throws: `malformedData` if no picture can be decoded there, and other errors of ``MediaSource``.
    func open(_ sample: InputSample) throws(MediaError) { pictures = try SamplePictures(input, sample) }

    /// Returns the next picture of the sample; `nil` at its end.
    func next() throws(MediaError) -> VideoFrame? { try pictures?.next() }

    /// Decodes a coded sample and adds its pictures to the measurement.
    ///
    /// - Parameters:
    ///   - configuration: That of the encoder, with the size and bit depth of the coded pictures.
    ///   - makeJudge: Makes the judge with the first sample of a measurement.
    ///   - note: Called for each picture.
    /// - Throws: `malformedData` if a picture is damaged or missing, or was not in the sample.
    func compare(
        _ coded: [SampleBuffer],
        of sample: InputSample,
        codec: VideoCodec,
        _ configuration: EncoderConfiguration,
        _ makeJudge: QualityJudgeFactory,
        note: @Sendable () -> Void
    ) throws(MediaError) {
        let format = VerificationPictures.comparableFormat(bitDepth: configuration.bitDepth)
        let shape = JudgedPictures(
            width: configuration.width,
            height: configuration.height,
            bitDepth: format.bitDepth,
            frameRate: configuration.frameRate
        )
        let judge: any QualityJudge
        if let known = self.judge { judge = known } else { judge = try makeJudge(shape) }
        self.judge = judge
        let sources = try SamplePictures(input, sample)
        let toReference = try VerificationPictures.converter(configuration)
        let toComparable = try PixelConverter(
            output: .init(format: format, width: configuration.width, height: configuration.height),
            scaling: .stretch
        )
        try SampleDecoder(codec, logger: input.logger).decode(coded) { (picture, time) throws(MediaError) in
            guard let source = try sources.next(), source.presentationTime == time else {
                throw MediaError(
                    .malformedData,
                    "a sample of the input was not encoded as it is",
                    given: "a picture at \(time.seconds) s that the sample does not have"
                )
            }
            try judge.add(try toComparable.convert(picture), reference: try toReference.convert(source.buffer))
            note()
        }
        if let missing = try sources.next() {
            throw MediaError(
                .malformedData,
                "a sample of the input was not encoded as it is",
                given: "no picture at \(missing.presentationTime.seconds) s"
            )
        }
    }

    /// Ends a measurement and returns its score.
    func score() throws(MediaError) -> Double {
        defer { judge = nil }
        guard let judge else { throw MediaError(.invalidState, "nothing was measured") }
        return try judge.score()
    }

    /// Ends a measurement without a score, and closes the sample.
    func close() { (judge, pictures) = (nil, nil) }
}

/// The pictures of a sample, with the times that they have for the encoder.
private final class SamplePictures {
    private let source: MediaSource
    private let regions: [RegionOfInterest]
    private var rate: FrameRateConverter?
    private var waiting: ArraySlice<VideoFrame> = []
    private var hasEnded = false

    init(_ input: InputSampleReader.Input, _ sample: InputSample) throws(MediaError) {
        var options = input.options
        options.allowsOtherDecoder = false
        options.audioPreroll = .zero
        let start = MediaTime(seconds: max(sample.start, 0), preferredTimescale: 1_000_000)
        options.start = (options.start ?? .zero) + start
        options.duration = MediaTime(seconds: sample.duration, preferredTimescale: 1_000_000)
        source = try MediaSource(
            path: input.path,
            options: options,
            logger: input.logger,
            cancellation: input.cancellation
        )
        regions = input.regions
        rate = input.frameRate.map { FrameRateConverter(frameRate: $0) }
    }

    func next() throws(MediaError) -> VideoFrame? {
        while waiting.isEmpty, !hasEnded { try read() }
        return waiting.popFirst()
    }

    private func read() throws(MediaError) {
        guard let event = try source.next() else {
            hasEnded = true
            if let frames = try rate?.finish() { waiting = ArraySlice(frames) }
            return
        }
        guard case .frame(let frame) = event else { return }
        if !regions.isEmpty { frame.buffer.attachments.regionsOfInterest = regions }
        if rate == nil {
            waiting = [frame]
        } else if let frames = try rate?.convert(frame) {
            waiting = ArraySlice(frames)
        }
    }
}
