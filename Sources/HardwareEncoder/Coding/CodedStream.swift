// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import GOPPlanning
internal import MediaTypes
internal import VAAPI

/// What is peculiar to a codec before the first picture: which profiles, levels and parameter sets a stream has, and
/// which messages stand in it. Everything else about an encoder is the same for all codecs.
protocol CodedStream: Sendable {
    /// What the driver's encoder has beyond what every codec has.
    associatedtype Tools: CodingTools
    /// Codes its pictures.
    associatedtype Coder: PictureCoder where Coder.Stream == Self

    static var codec: VideoCodec { get }
    /// The codec's name for messages.
    static var codecName: String { get }
    /// The profiles that are encoded here, the one with most tools first.
    static var profiles: [VideoProfile] { get }

    /// - Parameter configuration: A validated one.
    /// - Throws: `unsupported` if the encoder lacks the profile, `invalidArgument` if no level takes the stream.
    init(_ configuration: EncoderConfiguration, _ traits: StreamTraits, _ tools: Tools) throws(MediaError)

    /// The validated configuration.
    var configuration: EncoderConfiguration { get }
    var profile: VideoProfile { get }
    /// The profile as the parameter sets tell it.
    var profileName: String { get }
    var levelName: String { get }
    /// The rate and buffer beyond which the stream would have another level.
    var levelLimit: RateLimit { get }
    /// The rate and buffer that the encoder has to keep to, which the stream may tell; `nil` for no limit.
    var rateLimit: RateLimit? { get }
    /// Where the stream differs from what was asked for.
    var adjustments: [Adjustment] { get }

    /// The size of coded pictures: whole blocks.
    var codedSize: PictureSize { get }
    /// The size that a driver's encoder is made with.
    ///
    /// - Parameter hasPackedHeaders: Whether it is sent headers; else it has to know by itself what is shown.
    func contextSize(hasPackedHeaders: Bool) -> PictureSize
    /// Chroma format and depth of the surfaces that pictures of a profile are coded from, as the format in which pictures
    /// with them come.
    static func pixelFormat(_ profile: VideoProfile, _ configuration: EncoderConfiguration) -> PixelFormat
    /// The quantizer from which slices count theirs, 0...51.
    var initialQuantizer: Int { get }
    /// More bytes than a coded picture has.
    var largestPicture: Int { get }

    /// The parameter sets as NAL units, in decoding order.
    func parameterSets() throws(MediaError) -> [[UInt8]]
    /// A parameter set of the driver's with what the driver does not know, as far as no slice depends on it.
    func completed(_ set: [UInt8]) throws(BitstreamError) -> [UInt8]

    /// The profile that was asked for, else the one that suits the configuration.
    ///
    /// - Throws: `unsupported` if there is none.
    static func profile(
        _ configuration: EncoderConfiguration,
        among profiles: [VideoProfile]
    ) throws(MediaError) -> VideoProfile
    /// What profile and level say of the structure.
    static func limits(
        _ configuration: EncoderConfiguration,
        _ profile: VideoProfile,
        _ tools: Tools
    ) -> DeviceSettlement.CodecLimits
    /// Whether the stream's level takes this rate with another configuration.
    func takes(_ configuration: EncoderConfiguration, _ rateLimit: RateLimit?) -> Bool

    // MARK: - Messages

    /// Whether the stream tells its rates, so that pictures need times.
    var tellsTiming: Bool { get }
    /// What the stream tells of the decoder that it is made for, if its rate is constant.
    var decoderSchedule: DecoderSchedule? { get }
    /// An access unit delimiter, without start code.
    func delimiter(_ picture: PlannedPicture) -> [UInt8]
    /// A buffering period with this initial delay, in units of 1/90000 s.
    func bufferingPeriod(initialDelay: UInt32) throws(BitstreamError) -> SEIMessage
    /// When a picture leaves the coded picture buffer, in pictures since the last buffering period, and how many
    /// pictures later it is shown.
    func pictureTiming(removal: Int64, output: Int64) throws(BitstreamError) -> SEIMessage
    /// Whether pictures of that kind are random access points, with which buffering periods begin and at which the
    /// display is told. Else a recovery point has a message that says that it is one.
    static func isAccessPoint(_ kind: PlannedPicture.Kind) -> Bool
    /// Whether buffering periods also begin with every message that tells of a recovery point.
    static var recoveryPointsBeginPeriods: Bool { get }
    /// The most pictures from a recovery point to the last one of a wave of intra refresh, both counted.
    static var longestRefresh: Int { get }
    /// A recovery point, from which on everything is right after that many more pictures.
    func recoveryPoint(after pictures: Int, isExact: Bool) throws(BitstreamError) -> SEIMessage
}

/// What one of a driver's encoders codes with, as far as it is peculiar to a codec.
protocol CodingTools: Sendable {
    /// - Throws: `unsupported` if the driver's encoder is not one that can be used.
    init(_ capabilities: EncodeCapabilities, _ quirks: Quirks) throws(MediaError)

    /// The side of the blocks that slices consist of.
    var blockSize: Int { get }
    /// The size that pictures are coded with.
    func codedSize(width: Int, height: Int) -> (width: Int, height: Int)
}

/// What the encoder does, as far as the stream tells it.
struct StreamTraits: Hashable, Sendable {
    /// The profiles that the encoder has.
    var profiles: [VideoProfile]
    /// How many reference pictures it keeps, 0...16.
    var referenceFrames = 1
    /// How many pictures precede one in decoding and follow it in output.
    var reorderDepth = 0
    /// How many pictures P slices, and either list of B slices, refer to at most, at least 1.
    var activeReferences = [1, 1]
    /// How many long-term references there may be.
    var longTermReferences = 0
    /// How many temporal layers there are, at least 1.
    var temporalLayers = 1
    /// How many slices a picture has.
    var slices = 1
    /// The quantizer from which slices count theirs, 0...51.
    var initialQuantizer = 26
    /// Whether the quantizer changes within a slice.
    var changesQuantizers = false
    /// Whether intra blocks take no samples from others, as those of a wave of intra refresh must not from blocks that are
    /// not renewed yet.
    var constrainsIntra = false
    /// Whether it sends buffering periods and picture timing, without which the rates in the stream mean nothing.
    var sendsTiming = false
}

extension CodedStream {
    /// The limit on peaks as the stream and the encoder are told it; `nil` for none.
    static func rateLimit(_ configuration: EncoderConfiguration) -> RateLimit? {
        var reported: [Adjustment] = []
        return codableRate(configuration, &reported)
    }

    /// The limit on peaks as `hrd_parameters()` can tell it: rates in 64 bits per second, buffers in 16 bits (H.264
    /// E.2.2, HEVC E.3.3). Rounded down, so that a limit stays one; the encoder is told the same.
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

    /// The highest rate of a configuration, whether it is an average or a peak, and its buffer.
    static func highestRate(_ configuration: EncoderConfiguration, _ rateLimit: RateLimit?) -> RateLimit {
        RateLimit(
            bitsPerSecond: max(rateLimit?.bitsPerSecond ?? 0, configuration.rateControl.bitsPerSecond ?? 0),
            bufferSize: rateLimit?.bufferSize ?? 0
        )
    }
}

extension RateLimit {
    /// Rate and buffer as `hrd_parameters()` codes them: values and powers of two.
    var scaled: (rateScale: UInt32, rate: UInt32, sizeScale: UInt32, size: UInt32) {
        let rate = Self.scaled(bitsPerSecond / 64)
        let size = Self.scaled(bufferSize / 16)
        return (rate.scale, rate.value, size.scale, size.value)
    }

    /// A number as a value and a power of two, without loss as far as 32 bits go.
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
    /// Whether B-frames are asked for, and not only allowed.
    var isDemanded: Bool { if case .maximum = self { true } else { false } }
}
