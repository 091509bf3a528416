// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
internal import MediaTypes

/// The state of the video samples written so far, which detects a sample that does not continue them.
struct VideoSequence {
    /// A sample that may be written next.
    struct Accepted {
        /// Its duration, estimated if the sample has none.
        let duration: MediaTime
        /// Whether its parameter sets, or those of an earlier sample, differ from the first sample's.
        let parameterSetsHaveChanged: Bool

        fileprivate let presentationTime: MediaTime
        fileprivate let decodeTime: MediaTime
        fileprivate let format: FormatDescription
    }

    /// The number of samples.
    private(set) var count = 0
    /// Whether any sample had other parameter sets than the first one.
    private(set) var parameterSetsHaveChanged = false

    private var firstFormat: FormatDescription?
    private var lastFormat: FormatDescription?
    private var lastDecodeTime = MediaTime.invalid
    private var start = MediaTime.invalid
    private var end = MediaTime.zero

    /// The time from the first presentation time to the end of the last sample; zero if nothing was presented.
    var duration: MediaTime { count > 0 ? end - start : .zero }

    /// Checks the next sample.
    ///
    /// - Throws: `malformedData` if it is empty; `invalidArgument` if its times are invalid or out of order, if it is
    ///   the first sample and no key frame, or if it changes parameter sets and is no key frame; `unsupported` if the
    ///   codec changes.
    func validate(_ sample: SampleBuffer, frameRate: Rational?) throws(MediaError) -> Accepted {
        guard sample.data.count > 0 else { throw MediaError(.malformedData, "the sample is empty") }
        try validateTimes(of: sample)
        return Accepted(
            duration: duration(of: sample, frameRate: frameRate),
            parameterSetsHaveChanged: try parameterSetsHaveChanged(by: sample),
            presentationTime: sample.presentationTime,
            decodeTime: sample.decodeTime,
            format: sample.formatDescription
        )
    }

    /// Counts a sample as written.
    mutating func append(_ sample: Accepted) {
        count += 1
        parameterSetsHaveChanged = sample.parameterSetsHaveChanged
        firstFormat = firstFormat ?? sample.format
        lastFormat = sample.format
        lastDecodeTime = sample.decodeTime
        start = min(start, sample.presentationTime)
        end = max(end, sample.presentationTime + sample.duration)
    }

    private func validateTimes(of sample: SampleBuffer) throws(MediaError) {
        let (presentation, decode) = (sample.presentationTime, sample.decodeTime)
        guard presentation.isValid, decode.isValid, decode <= presentation else {
            throw MediaError(
                .invalidArgument,
                "the sample's times are not valid",
                given: "presentation \(presentation), decode \(decode)",
                allowed: "a decode time that is not after the presentation time"
            )
        }
        guard !lastDecodeTime.isValid || decode > lastDecodeTime else {
            throw MediaError(
                .invalidArgument,
                "the sample's decode time is not after that of the previous sample",
                given: decode.description,
                allowed: "above \(lastDecodeTime)"
            )
        }
    }

    private func parameterSetsHaveChanged(by sample: SampleBuffer) throws(MediaError) -> Bool {
        let format = sample.formatDescription
        guard let firstFormat, let lastFormat else {
            guard sample.isKeyFrame else {
                throw MediaError(.invalidArgument, "the first sample is not a key frame")
            }
            return false
        }
        if format === lastFormat { return parameterSetsHaveChanged }
        guard format.codec == firstFormat.codec else {
            throw MediaError(
                .unsupported,
                "the codec changed within an output; another codec needs a new file",
                given: format.codec.rawValue,
                allowed: firstFormat.codec.rawValue
            )
        }
        guard format.parameterSets != lastFormat.parameterSets else { return parameterSetsHaveChanged }
        guard sample.isKeyFrame else {
            throw MediaError(.invalidArgument, "the parameter sets changed at a sample that is not a key frame")
        }
        return parameterSetsHaveChanged || format.parameterSets != firstFormat.parameterSets
    }

    /// Returns the stated duration, otherwise one frame of the frame rate, otherwise the step from the previous decode
    /// time, otherwise zero.
    private func duration(of sample: SampleBuffer, frameRate: Rational?) -> MediaTime {
        if sample.duration.isValid, sample.duration >= .zero { return sample.duration }
        if let frameRate, frameRate.isPositive {
            return MediaTime(value: Int64(frameRate.denominator), timescale: frameRate.numerator)
        }
        return lastDecodeTime.isValid ? sample.decodeTime - lastDecodeTime : .zero
    }
}
