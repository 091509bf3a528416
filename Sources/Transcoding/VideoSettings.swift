// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
public import MediaTypes

/// What to encode a track to; what is not said is taken from the track.
public struct VideoSettings: Sendable {
    /// Everything but what the track decides: size, timing, colour, pixel aspect and HDR metadata.
    public var base: EncoderConfiguration
    /// The size of the output in pixels; `nil` for the track's.
    public var size: (width: Int, height: Int)?
    /// A constant frame rate; `nil` for the track's timing as it is.
    public var frameRate: Rational?

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

    /// The configuration of an encoder for that track, and what of the track it cannot keep.
    func configuration(for track: VideoTrack) -> (EncoderConfiguration, [Adjustment]) {
        var result = base
        var adjustments: [Adjustment] = []
        result.width = size?.width ?? track.width
        result.height = size?.height ?? track.height
        result.frameRate = frameRate ?? track.nominalFrameRate ?? base.frameRate
        result.isFrameRateVariable = frameRate == nil && track.isVariableFrameRate
        result.color =
            base.color ?? track.color.coded(from: track.pixelFormat, width: result.width, height: result.height)
        result.pixelAspectRatio =
            base.pixelAspectRatio
            ?? base.scaling.pixelAspectRatio(scaling: picture(of: track), toWidth: result.width, height: result.height)
        result.masteringDisplay = base.masteringDisplay ?? track.attachments.masteringDisplay
        result.contentLight = base.contentLight ?? track.attachments.contentLight
        if track.bitDepth > result.bitDepth {
            adjustments.append(
                Adjustment(
                    property: "bit depth",
                    requested: "\(track.bitDepth)",
                    used: "\(result.bitDepth)",
                    reason: "the profile has \(result.bitDepth) bits; high10 keeps ten"
                )
            )
        }
        if !track.fitsChroma420 {
            adjustments.append(
                Adjustment(
                    property: "chroma",
                    requested: track.pixelFormatName,
                    used: "4:2:0",
                    reason: "the encoders have 4:2:0 only"
                )
            )
        }
        return (result, adjustments)
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
