// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import GOPPlanning
internal import MediaTypes
internal import VAAPI

/// The codec-specific properties of a stream that are determined before the first picture: profiles, levels, parameter
/// sets and SEI messages. Everything else in an encoder is the same for all codecs.
protocol CodedStream: Sendable {
    /// The codec-specific tools of the driver's encoder.
    associatedtype Tools: CodingTools
    /// The coder of its pictures.
    associatedtype Coder: PictureCoder where Coder.Stream == Self

    static var codec: VideoCodec { get }
    /// The name of the codec in messages.
    static var codecName: String { get }
    /// The supported profiles, the one with the most tools first.
    static var profiles: [VideoProfile] { get }

    /// - Parameter configuration: A validated configuration.
    /// - Throws: `unsupported` if the encoder lacks the profile, `invalidArgument` if no level allows the stream.
    init(_ configuration: EncoderConfiguration, _ traits: StreamTraits, _ tools: Tools) throws(MediaError)

    /// The validated configuration.
    var configuration: EncoderConfiguration { get }
    var profile: VideoProfile { get }
    /// The profile as signalled in the parameter sets.
    var profileName: String { get }
    var levelName: String { get }
    /// The rate and buffer limit above which the stream would need another level.
    var levelLimit: RateLimit { get }
    /// The rate and buffer limit that the encoder must observe and the stream may signal; `nil` for no limit.
    var rateLimit: RateLimit? { get }
    /// The properties of the stream that differ from the request.
    var adjustments: [Adjustment] { get }

    /// The size of coded pictures, in whole blocks.
    var codedSize: PictureSize { get }
    /// The size for the creation of a driver's context.
    ///
    /// - Parameter hasPackedHeaders: Whether the driver receives packed headers; otherwise, it must know the displayed
    ///   size.
    func contextSize(hasPackedHeaders: Bool) -> PictureSize
    /// The chroma format and bit depth of the input surfaces for a profile, as the pixel format of such pictures.
    static func pixelFormat(_ profile: VideoProfile, _ configuration: EncoderConfiguration) -> PixelFormat
    /// The initial quantizer to which slices relate, 0...51.
    var initialQuantizer: Int { get }
    /// An upper bound for the size of a coded picture in bytes.
    var largestPicture: Int { get }

    /// The parameter sets as NAL units, in decoding order.
    func parameterSets() throws(MediaError) -> [[UInt8]]
    /// Returns a parameter set of the driver, completed with values that the driver does not know and no slice depends
    /// on.
    func completed(_ set: [UInt8]) throws(BitstreamError) -> [UInt8]

    /// Returns the requested profile, otherwise the one that suits the configuration.
    ///
    /// - Throws: `unsupported` if there is none.
    static func profile(
        _ configuration: EncoderConfiguration,
        among profiles: [VideoProfile]
    ) throws(MediaError) -> VideoProfile
    /// Returns the limits that profile and level impose on the structure.
    static func limits(
        _ configuration: EncoderConfiguration,
        _ profile: VideoProfile,
        _ tools: Tools
    ) -> DeviceSettlement.CodecLimits
    /// Returns whether the stream's level allows this rate with another configuration.
    func takes(_ configuration: EncoderConfiguration, _ rateLimit: RateLimit?) -> Bool

    // MARK: - Messages

    /// Whether the stream signals its rates, so that pictures need timing.
    var tellsTiming: Bool { get }
    /// The decoder schedule that the stream signals, if its rate is constant.
    var decoderSchedule: DecoderSchedule? { get }
    /// Returns an access unit delimiter without start code.
    func delimiter(_ picture: PlannedPicture) -> [UInt8]
    /// Returns a buffering period with this initial delay, in units of 1/90000 s.
    func bufferingPeriod(initialDelay: UInt32) throws(BitstreamError) -> SEIMessage
    /// Returns the picture timing: the removal time from the coded picture buffer, in pictures since the last buffering
    /// period, and the output delay in pictures.
    func pictureTiming(removal: Int64, output: Int64) throws(BitstreamError) -> SEIMessage
    /// Whether pictures of that kind are random access points, which begin buffering periods and carry the display
    /// metadata. Otherwise, a recovery point has a recovery point message.
    static func isAccessPoint(_ kind: PlannedPicture.Kind) -> Bool
    /// Whether recovery point messages also begin buffering periods.
    static var recoveryPointsBeginPeriods: Bool { get }
    /// The maximum number of pictures from a recovery point to the last picture of an intra refresh wave, both
    /// included.
    static var longestRefresh: Int { get }
    /// Returns a recovery point message: after that many more pictures, the output is correct.
    func recoveryPoint(after pictures: Int, isExact: Bool) throws(BitstreamError) -> SEIMessage
}

/// The codec-specific tools of one of a driver's encoders.
protocol CodingTools: Sendable {
    /// - Throws: `unsupported` if the driver's encoder cannot be used.
    init(_ capabilities: EncodeCapabilities, _ quirks: Quirks) throws(MediaError)

    /// The side of the blocks that form slices.
    var blockSize: Int { get }
    /// Returns the size of coded pictures.
    func codedSize(width: Int, height: Int) -> (width: Int, height: Int)
}

/// The properties of the encoder that the stream signals.
struct StreamTraits: Hashable, Sendable {
    /// The profiles of the encoder.
    var profiles: [VideoProfile]
    /// The number of reference pictures in the decoded picture buffer, 0...16.
    var referenceFrames = 1
    /// The maximum number of pictures that precede a picture in decoding order and follow it in output order.
    var reorderDepth = 0
    /// The maximum numbers of active references of P slices, and of either list of B slices, at least 1.
    var activeReferences = [1, 1]
    /// The maximum number of long-term references.
    var longTermReferences = 0
    /// The number of temporal layers, at least 1.
    var temporalLayers = 1
    /// The number of slices per picture.
    var slices = 1
    /// The initial quantizer to which slices relate, 0...51.
    var initialQuantizer = 26
    /// Whether the quantizer changes within a slice.
    var changesQuantizers = false
    /// Whether intra blocks use no samples of other blocks, as in an intra refresh wave, where they must not use blocks
    /// that are not refreshed yet.
    var constrainsIntra = false
    /// Whether it sends buffering periods and picture timing, without which the rates in the stream have no meaning.
    var sendsTiming = false
}

extension CodedStream {
    /// Returns the peak limit as passed to the stream and the encoder; `nil` for none.
    static func rateLimit(_ configuration: EncoderConfiguration) -> RateLimit? {
        var reported: [Adjustment] = []
        return codableRate(configuration, &reported)
    }

    /// Returns the peak limit as `hrd_parameters()` can represent it: rates in units of 64 bits per second, buffers in
    /// units of 16 bits (H.264 E.2.2, HEVC E.3.3). It is rounded down, so that it remains a limit. The encoder receives
    /// the same value.
    static func codableRate(
        _ configuration: EncoderConfiguration,
        _ adjustments: inout [Adjustment]
    ) -> RateLimit? {
        guard let limit = configuration.rateLimit(codec: codec) else { return nil }
        let rate = max(64, limit.bitsPerSecond / 64 * 64)
        let size = max(16, limit.bufferSize / 16 * 16)
        if case .constantBitRate(let asked, _) = configuration.rateControl, asked != rate {
            let reason = "\(codecName) signals constant bitrates in units of 64 bit/s"
            adjustments.append(
                Adjustment(property: "bitrate", requested: "\(asked) bit/s", used: "\(rate) bit/s", reason: reason)
            )
        }
        return RateLimit(bitsPerSecond: rate, bufferSize: size)
    }

    /// Returns the highest rate of a configuration, which is an average or a peak, and its buffer.
    static func highestRate(_ configuration: EncoderConfiguration, _ rateLimit: RateLimit?) -> RateLimit {
        RateLimit(
            bitsPerSecond: max(rateLimit?.bitsPerSecond ?? 0, configuration.rateControl.bitsPerSecond ?? 0),
            bufferSize: rateLimit?.bufferSize ?? 0
        )
    }
}

extension RateLimit {
    /// The rate and buffer as coded in `hrd_parameters()`: values with a power of two as scale.
    var scaled: (rateScale: UInt32, rate: UInt32, sizeScale: UInt32, size: UInt32) {
        let rate = Self.scaled(bitsPerSecond / 64)
        let size = Self.scaled(bufferSize / 16)
        return (rate.scale, rate.value, size.scale, size.value)
    }

    /// Splits a number into a value and a power of two, without loss within 32 bits.
    private static func scaled(_ number: Int) -> (scale: UInt32, value: UInt32) {
        var (scale, value) = (UInt32(0), max(1, number))
        while scale < 15, value.isMultiple(of: 2) || value > Int(UInt32.max) {
            value /= 2
            scale += 1
        }
        return (scale, UInt32(clamping: value))
    }
}

extension BFrames {
    /// Whether B-frames are requested explicitly, rather than only allowed.
    var isDemanded: Bool { if case .maximum = self { true } else { false } }
}
