// SPDX-License-Identifier: GPL-2.0-or-later

/// The data of a picture besides its samples.
public struct PixelAttachments: Sendable, Hashable {
    /// The display on which HDR content was mastered.
    public var masteringDisplay: MasteringDisplay?
    /// The light levels of HDR content.
    public var contentLight: ContentLightLevel?
    /// The CEA-708 caption packets of this picture: `cc_data` triplets of ATSC A/53 part 4.
    public var captions: [UInt8]
    /// Areas that are coded with more or fewer bits than the rest. Where they overlap, the first one applies; parts
    /// outside the picture are ignored.
    public var regionsOfInterest: [RegionOfInterest]
    /// The field that comes first if the picture is interlaced, as a decoder states it; `nil` for a progressive picture. The
    /// counterpart of `kCVImageBufferFieldDetailKey`. Encoders ignore it.
    public var fieldOrder: FieldOrder?

    /// The maximum number of bytes in ``captions``; ATSC A/53 allows 31 triplets per picture.
    public static let maximumCaptionBytes = 4096
    /// The maximum number of ``regionsOfInterest``; drivers support far fewer.
    public static let maximumRegionsOfInterest = 1024

    /// Makes attachments; the default is none.
    public init(
        masteringDisplay: MasteringDisplay? = nil,
        contentLight: ContentLightLevel? = nil,
        captions: [UInt8] = [],
        regionsOfInterest: [RegionOfInterest] = [],
        fieldOrder: FieldOrder? = nil
    ) {
        self.masteringDisplay = masteringDisplay
        self.contentLight = contentLight
        self.captions = captions
        self.regionsOfInterest = regionsOfInterest
        self.fieldOrder = fieldOrder
    }
}

/// Which of the two fields of an interlaced picture comes first.
public enum FieldOrder: UInt8, Sendable, Hashable, CaseIterable {
    /// The field with the first row of the picture.
    case topFirst
    /// The field with the second row.
    case bottomFirst
}

extension PixelAttachments {
    /// Removes captions beyond ``maximumCaptionBytes``, in whole triplets.
    package mutating func limitCaptions() {
        guard captions.count > Self.maximumCaptionBytes else { return }
        captions.removeLast(captions.count - (Self.maximumCaptionBytes - Self.maximumCaptionBytes % 3))
    }

    /// Checks the number of entries.
    ///
    /// - Throws: `invalidArgument` if there are more entries than any encoder supports.
    package func validate() throws(MediaError) {
        let counts = [
            ("caption bytes", captions.count, Self.maximumCaptionBytes),
            ("regions of interest", regionsOfInterest.count, Self.maximumRegionsOfInterest),
        ]
        for (name, count, most) in counts where count > most {
            throw MediaError(.invalidArgument, "too many \(name)", given: "\(count)", allowed: "at most \(most)")
        }
    }
}

/// Mastering display colour volume (SMPTE ST 2086; H.264 D.2.29, HEVC D.2.28), in the units of the SEI message.
public struct MasteringDisplay: Sendable, Hashable {
    /// A chromaticity in units of 0.00002, each 0...50000.
    public struct Chromaticity: Sendable, Hashable {
        /// The x coordinate.
        public var x: UInt16
        /// The y coordinate.
        public var y: UInt16

        /// Makes a chromaticity.
        public init(x: UInt16, y: UInt16) {
            self.x = x
            self.y = y
        }
    }

    /// The red primary.
    public var red: Chromaticity
    /// The green primary.
    public var green: Chromaticity
    /// The blue primary.
    public var blue: Chromaticity
    /// The white point.
    public var whitePoint: Chromaticity
    /// The highest luminance, in units of 0.0001 candela per square metre.
    public var maximumLuminance: UInt32
    /// The lowest luminance, in units of 0.0001 candela per square metre.
    public var minimumLuminance: UInt32

    /// Makes a mastering display description.
    public init(
        red: Chromaticity,
        green: Chromaticity,
        blue: Chromaticity,
        whitePoint: Chromaticity,
        maximumLuminance: UInt32,
        minimumLuminance: UInt32
    ) {
        self.red = red
        self.green = green
        self.blue = blue
        self.whitePoint = whitePoint
        self.maximumLuminance = maximumLuminance
        self.minimumLuminance = minimumLuminance
    }
}

/// Content light level information (CTA-861.3; H.264 D.2.31, HEVC D.2.35), in candela per square metre.
public struct ContentLightLevel: Sendable, Hashable {
    /// MaxCLL, the light level of the brightest pixel; 0 if not known.
    public var maximumContentLightLevel: UInt16
    /// MaxFALL, the highest average light level of a frame; 0 if not known.
    public var maximumFrameAverageLightLevel: UInt16

    /// Makes light levels.
    public init(maximumContentLightLevel: UInt16, maximumFrameAverageLightLevel: UInt16) {
        self.maximumContentLightLevel = maximumContentLightLevel
        self.maximumFrameAverageLightLevel = maximumFrameAverageLightLevel
    }
}

/// An area of a picture whose quantizer differs from the rest.
public struct RegionOfInterest: Sendable, Hashable {
    /// The left edge in luma samples.
    public var x: Int
    /// The upper edge in luma samples.
    public var y: Int
    /// The width in luma samples.
    public var width: Int
    /// The height in luma samples.
    public var height: Int
    /// The value added to the quantizer, -51...51; negative values improve quality.
    public var quantizerOffset: Int

    /// Makes a region of interest.
    public init(x: Int, y: Int, width: Int, height: Int, quantizerOffset: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
        self.quantizerOffset = quantizerOffset
    }
}
