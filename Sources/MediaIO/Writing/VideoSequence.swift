// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
internal import MediaTypes

/// What is known of the video samples written so far: enough to refuse one that does not continue them.
struct VideoSequence {
    /// A sample that may be written next.
    struct Accepted {
        /// Its duration, guessed if it does not say.
        let duration: MediaTime
        /// Whether its parameter sets, or any before, differ from the first sample's.
        let parameterSetsHaveChanged: Bool

        fileprivate let presentationTime: MediaTime
        fileprivate let decodeTime: MediaTime
        fileprivate let format: FormatDescription
    }

    /// How many samples there are.
    private(set) var count = 0
    /// Whether any sample had other parameter sets than the first one.
    private(set) var parameterSetsHaveChanged = false

    private var firstFormat: FormatDescription?
    private var lastFormat: FormatDescription?
    private var lastDecodeTime = MediaTime.invalid
    private var start = MediaTime.invalid
    private var end = MediaTime.zero

    /// From the first presentation to the end of the last; zero if nothing was presented.
    var duration: MediaTime { count > 0 ? end - start : .zero }

    /// Judges the next sample.
    ///
    /// - Throws: `malformedData` if it is empty; `invalidArgument` if its times are not valid or not in order, if it is
    ///   first and no key frame, or changes parameter sets without being one; `unsupported` if the codec changes.
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

    /// As stated, else one frame of the frame rate, else the step from the decode time before, else zero.
    private func duration(of sample: SampleBuffer, frameRate: Rational?) -> MediaTime {
        if sample.duration.isValid, sample.duration >= .zero { return sample.duration }
        if let frameRate, frameRate.isPositive {
            return MediaTime(value: Int64(frameRate.denominator), timescale: frameRate.numerator)
        }
        return lastDecodeTime.isValid ? sample.decodeTime - lastDecodeTime : .zero
    }
}
