// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaIO
public import MediaTypes

/// The settings for encoding a track; settings without a value are derived from the track.
public struct VideoSettings: Sendable {
    /// All settings except those that the track determines: size, timing, colour, pixel aspect ratio and HDR metadata.
    public var base: EncoderConfiguration
    /// The size of the output in pixels; `nil` for the track's size.
    public var size: (width: Int, height: Int)?
    /// The height of the output in pixels if ``size`` is `nil`: the width keeps the shape of the upright pictures, and is
    /// even.
    public var height: Int?
    /// The width of the output in pixels if ``size`` and ``height`` are `nil`: the height keeps the shape, and is even.
    public var width: Int?
    /// The constant frame rate of the output; `nil` keeps the track's timing.
    public var frameRate: Rational?
    /// Whether HEVC encodes a track of more than 8 bits with 10 bits, or with 12 if ``mostKeptBits`` is 12; otherwise
    /// the bit depth of ``base`` applies. A profile takes precedence over both.
    public var keepsBitDepth = true
    /// The maximum bit depth that ``keepsBitDepth`` keeps: 10 or 12. With 12, a track of more than 10 bits selects
    /// HEVC.
    public var mostKeptBits = 10
    /// Whether HEVC uses the smallest chroma format that holds all colour of the track; otherwise that of ``base``
    /// applies. If the codec is not fixed, a track that is not 4:2:0 selects HEVC. A profile takes precedence.
    public var keepsChromaFormat = false
    /// The regions of interest of every picture, in pixels of the track's pictures as displayed; they are scaled with
    /// the pictures. They replace the pictures' own regions; if empty, those are used.
    public var regionsOfInterest: [RegionOfInterest] = []

    /// Makes settings.
    public init(
        base: EncoderConfiguration = .init(),
        size: (width: Int, height: Int)? = nil,
        frameRate: Rational? = nil
    ) {
        self.base = base
        self.size = size
        self.frameRate = frameRate
    }

    /// - Throws: `invalidArgument` if ``mostKeptBits`` is out of range.
    func validate() throws(MediaError) {
        if [10, 12].contains(mostKeptBits) { return }
        throw MediaError(
            .invalidArgument,
            "the highest bit depth to keep is out of range",
            given: "\(mostKeptBits)",
            allowed: "10, 12"
        )
    }

    /// Returns the configuration of an encoder for a track, and the properties of the track that it cannot keep.
    func configuration(for track: VideoTrack) -> (EncoderConfiguration, [Adjustment]) {
        var result = base
        var adjustments: [Adjustment] = []
        (result.width, result.height) = outputSize(of: track)
        result.frameRate = frameRate ?? track.nominalFrameRate ?? base.frameRate
        result.isFrameRateVariable = frameRate == nil && track.isVariableFrameRate
        result.color =
            base.color ?? track.color.coded(from: track.pixelFormat, width: result.width, height: result.height)
        result.pixelAspectRatio =
            base.pixelAspectRatio
            ?? base.scaling.pixelAspectRatio(scaling: picture(of: track), toWidth: result.width, height: result.height)
        result.masteringDisplay = base.masteringDisplay ?? track.attachments.masteringDisplay
        result.contentLight = base.contentLight ?? track.attachments.contentLight
        if base.profile == nil, base.fixedCodec != .h264 {
            if keepsChromaFormat { result.chromaFormat = max(track.chromaFormat, .yuv420) }
            if keepsBitDepth, track.bitDepth > 8 {
                result.bitDepth = max(base.bitDepth, track.bitDepth > 10 ? mostKeptBits : 10)
                result.prefersBitDepth = result.fixedCodec == nil
            }
        }
        let codec = result.fixedCodec ?? .hevc
        if track.bitDepth > result.bitDepth {
            adjustments.append(Adjustment(bitDepth: track.bitDepth, becoming: result.bitDepth, in: codec))
        }
        if track.chromaFormat > result.chromaFormat {
            let name = track.chromaFormat.name
            adjustments.append(
                Adjustment(
                    property: "chroma",
                    requested: track.pixelFormatName,
                    used: result.chromaFormat.name,
                    reason: codec == .h264
                        ? "H.264 is encoded in 4:2:0 only" : "HEVC can keep \(name) on request"
                )
            )
        }
        if result.chromaFormat != .yuv420 { result.color?.chromaLocation = nil }
        return (result, adjustments)
    }

    /// Returns the source options for the pictures that the configuration needs, demanding no less than the given
    /// options.
    func demand(of source: MediaSource.Options) -> MediaSource.Options {
        var source = source
        let mayKeep = base.profile == nil && base.fixedCodec != .h264
        source.chromaFormat = keepsChromaFormat && mayKeep ? nil : base.chromaFormat
        source.maximumBitDepth = base.bitDepth > 10 || keepsBitDepth && mayKeep && mostKeptBits > 10 ? 12 : 10
        return source
    }

    private func outputSize(of track: VideoTrack) -> (Int, Int) {
        if let size { return (size.width, size.height) }
        // An odd side becomes even as well.
        if let height { return (VideoTrack.evenSide(track.width, scalingFrom: track.height, to: height & ~1), height) }
        if let width { return (width, VideoTrack.evenSide(track.height, scalingFrom: track.width, to: width & ~1)) }
        return (track.width, track.height)
    }

    private func picture(of track: VideoTrack) -> PixelBuffer.Description {
        PixelBuffer.Description(
            format: track.pixelFormat,
            width: track.width,
            height: track.height,
            pixelAspectRatio: track.pixelAspectRatio
        )
    }
}

// MARK: - Regions of interest

extension VideoSettings {
    /// Returns the regions, clipped to the track's pictures, and an adjustment for each clipped one.
    ///
    /// - Throws: `invalidArgument` if a region is empty or outside, an offset is out of range, or there are too many
    ///   regions.
    func regions(in track: VideoTrack) throws(MediaError) -> ([RegionOfInterest], [Adjustment]) {
        try regions(width: track.width, height: track.height)
    }

    func regions(width: Int, height: Int) throws(MediaError) -> ([RegionOfInterest], [Adjustment]) {
        try PixelAttachments(regionsOfInterest: regionsOfInterest).validate()
        var result: [RegionOfInterest] = []
        var adjustments: [Adjustment] = []
        for region in regionsOfInterest {
            try Self.check(offset: region.quantizerOffset)
            let columns = Self.overlap(region.x, region.width, with: width)
            let rows = Self.overlap(region.y, region.height, with: height)
            guard !columns.isEmpty, !rows.isEmpty else {
                throw MediaError(
                    .invalidArgument,
                    "the region of interest is empty or outside of the picture",
                    given: region.text,
                    allowed: "within \(width)x\(height)"
                )
            }
            var cut = region
            (cut.x, cut.y, cut.width, cut.height) = (columns.lowerBound, rows.lowerBound, columns.count, rows.count)
            result.append(cut)
            guard cut != region else { continue }
            adjustments.append(
                Adjustment(
                    property: "region of interest",
                    requested: region.text,
                    used: cut.text,
                    reason: "the picture is \(width)x\(height)"
                )
            )
        }
        return (result, adjustments)
    }

    private static func check(offset: Int) throws(MediaError) {
        if (-51...51).contains(offset) { return }
        throw MediaError(
            .invalidArgument,
            "offset of the region of interest is out of range",
            given: "\(offset)",
            allowed: "-51...51"
        )
    }

    private static func overlap(_ start: Int, _ count: Int, with length: Int) -> Range<Int> {
        let (sum, overflow) = start.addingReportingOverflow(max(count, 0))
        let lower = min(max(start, 0), length)
        return lower..<max(lower, overflow ? length : min(sum, length))
    }
}

extension RegionOfInterest {
    fileprivate var text: String { "\(width)x\(height) at \(x),\(y)" }
}
