// SPDX-License-Identifier: GPL-2.0-or-later

public import AudioCoding
internal import Capture
internal import MediaIO
public import MediaTypes
public import VAToolbox

/// The settings of a live session: how its pictures and its sound are encoded.
public struct LiveSettings: Sendable {
    /// The settings of the video encoder. Size, frame rate and pixel aspect ratio apply only as far as ``size`` and
    /// ``frameRate`` say.
    public var video = EncoderConfiguration()
    /// The size of the encoded pictures in luma samples; `nil` for that of the first picture.
    public var size: PictureSize?
    /// The frame rate in frames per second for which the encoder plans its bitrate; `nil` for that of the input.
    public var frameRate: Rational?
    /// The average bitrate of the video in bit/s; `nil` for ``bitsPerSample`` times the samples of luma per second. It
    /// applies unless the rate control of ``video`` is one of constant quality.
    public var bitRate: Int?
    /// Several encodes of the same pictures, the highest one first; none for one encode. They take the place of ``size`` and
    /// ``bitRate``.
    public var renditions: [LiveRendition] = []
    /// The largest bitrate over one second, as a multiple of the average, 1 to 10; `nil` for `PeakBitRate.automatic`.
    public var peak: Double?
    /// The settings of the audio encoder.
    public var audio = AudioEncoderSettings(.aac, bitRate: 128_000, sampleRate: 48000)
    /// The options of the session that encodes pictures. Its real-time mode is set by the inputs.
    public var session = SessionOptions()
    /// What is shown while there are no pictures.
    public var absence = AbsentPictures.nothing

    /// Is given every picture of the input in use, when it comes, on a thread of the session: it must return at once, and hold
    /// few pictures, as devices have few. See `PreviewWindow`.
    public var preview: (@Sendable (PixelBuffer) -> Void)?
    /// How long the session lasts; `nil` until it is stopped.
    public var duration: MediaTime?

    /// The bits per sample of luma, for an encoder whose bitrate is not given.
    public static let bitsPerSample = 0.1

    /// Makes the default settings.
    public init() {}
}

/// The size of pictures.
public struct PictureSize: Sendable, Hashable {
    /// The width in luma samples.
    public var width: Int
    /// The height in luma samples.
    public var height: Int

    /// Makes a size.
    public init(width: Int, height: Int) { (self.width, self.height) = (width, height) }
}

/// What is encoded while the input delivers no pictures.
public enum AbsentPictures: Sendable {
    /// Nothing: the last picture is shown until the next one.
    case nothing
    /// The last picture again and again, so that receivers get a continuous stream, and after some seconds a slate.
    /// `nil` for a dark slate.
    case slate(PixelBuffer?)
}

extension LiveSettings {
    /// Checks the ranges of what the encoders do not check themselves.
    ///
    /// - Throws: `invalidArgument`.
    func validate() throws(MediaError) {
        let dimensions = 2...PixelBuffer.maximumDimension
        if let size, !dimensions.contains(size.width) || !dimensions.contains(size.height) {
            throw Self.outOfRange("size of the pictures", "\(size.width)x\(size.height)", "2x2 to 32768x32768")
        }
        if let bitRate, !RateControl.allowedBitRates.contains(bitRate) {
            let allowed = RateControl.allowedBitRates
            throw Self.outOfRange(
                "bitrate",
                "\(bitRate) bit/s",
                "\(allowed.lowerBound) to \(allowed.upperBound) bit/s"
            )
        }
        try LiveRendition.validate(renditions)
        if !renditions.isEmpty, size != nil || bitRate != nil {
            throw MediaError(
                .invalidArgument,
                "renditions have sizes and bitrates of their own",
                given: "one for all of them",
                allowed: "none beside renditions"
            )
        }
        if let peak, !(1...10).contains(peak) { throw Self.outOfRange("peak", "\(peak)", "1 to 10") }
        if let frameRate, !frameRate.isPositive { throw Self.outOfRange("frame rate", "\(frameRate)", "above 0") }
        if let duration, !duration.isValid || duration <= .zero {
            throw Self.outOfRange("duration", duration.isValid ? "\(duration.seconds) s" : "\(duration)", "above 0 s")
        }
    }

    /// Checks that pictures that are coded already can be written as they are.
    ///
    /// - Throws: `invalidArgument`.
    func validate(passingThrough inputs: [LiveInput]) throws(MediaError) {
        guard let coded = inputs.first(where: \.isCoded) else { return }
        func refusal(_ message: String, _ given: String, _ allowed: String) -> MediaError {
            MediaError(
                .invalidArgument,
                message,
                given: given,
                allowed: allowed,
                remedies: ["choose another format of \(coded.name), which is decoded and encoded again: format=mjpeg"]
            )
        }
        guard inputs.count == 1 else {
            let names = inputs.map(\.name).joined(separator: ", ")
            throw refusal("pictures that a camera has coded cannot be switched", names, "one input of pictures")
        }
        if let size {
            let given = "\(size.width)x\(size.height)"
            throw refusal("pictures that a camera has coded are not scaled", given, "the camera's size")
        }
        if let bitRate {
            throw refusal("pictures that a camera has coded keep their bitrate", "\(bitRate) bit/s", "no bitrate")
        }
        if let frameRate {
            throw refusal("pictures that a camera has coded keep their rate", "\(frameRate)", "no frame rate")
        }
        if video.codec == .hevc { throw refusal("the camera codes with H.264", "hevc", "h264 or automatic") }
        if case .slate = absence {
            throw refusal(
                "pictures that a camera has coded cannot be repeated or replaced",
                "a slate for absent pictures",
                "none, as in a recording"
            )
        }
    }

    private static func outOfRange(_ name: String, _ given: String, _ allowed: String) -> MediaError {
        MediaError(.invalidArgument, "the \(name) is out of range", given: given, allowed: allowed)
    }

    /// The configuration of the encoder for what an input delivers.
    ///
    /// - Parameter rendition: Which of several encodes it is.
    func configuration(
        for contents: LiveContents,
        first: PixelBuffer,
        rendition: LiveRendition? = nil
    ) -> EncoderConfiguration {
        var configuration = video
        // 4:2:0 needs even sizes.
        configuration.width = size?.width ?? max(first.width & ~1, 2)
        configuration.height = size?.height ?? max(first.height & ~1, 2)
        if let rendition {
            configuration.height = rendition.height
            configuration.width = VideoTrack.evenSide(first.width, scalingFrom: first.height, to: rendition.height)
            // The session asks for the key frames, those of all renditions at the same pictures.
            configuration.keyFrameInterval.duration = video.keyFrameInterval.duration.map { $0 * 2 }
        }
        let rate = frameRate ?? contents.pictures?.frameRate
        configuration.isFrameRateVariable = frameRate == nil
        configuration.frameRate = rate ?? Rational(30)
        if configuration.rateControl.bitsPerSecond != nil {
            let samples = Double(configuration.width * configuration.height) * configuration.frameRate.doubleValue
            let rate = rendition?.bitRate ?? bitRate ?? max(Int(min(samples * Self.bitsPerSample, 1e9)), 100_000)
            let limit = peak.map { PeakBitRate.limit(Int(Double(rate) * $0), window: 1) }
            configuration.rateControl = .averageBitRate(rate, peak: limit ?? .automatic)
        }
        if configuration.color == nil, first.format == .bgra { configuration.color = .screen }
        return configuration
    }
}

extension ColorDescription {
    /// BT.709 in limited range, which every player assumes for large pictures.
    static let screen = ColorDescription(primaries: .bt709, transfer: .bt709, matrix: .bt709, range: .limited)
}
