// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes

// MARK: - The first picture

extension SessionMachine {
    /// Returns the configuration, with its open properties taken from the picture if it is the first one.
    ///
    /// The properties are those of the picture after conversion to 4:2:0. Values that no stream can signal count as
    /// unspecified.
    func configuration(adopting buffer: PixelBuffer) -> EncoderConfiguration {
        guard statistics.acceptedFrames == 0, waiting.isEmpty else { return configuration }
        var result = configuration
        if result.color == nil {
            var color = buffer.color.coded(from: buffer.format, width: result.width, height: result.height)
            let isPlaced = result.chromaFormat == .yuv420
            if let location = color.chromaLocation, !isPlaced || location.rawValue > 5 { color.chromaLocation = nil }
            result.color = color
        }
        let picture = buffer.pictureDescription
        if result.pixelAspectRatio == nil {
            result.pixelAspectRatio = result.scaling.pixelAspectRatio(
                scaling: picture,
                toWidth: result.width,
                height: result.height
            )
        }
        result.masteringDisplay = result.masteringDisplay ?? picture.attachments.masteringDisplay
        result.contentLight = result.contentLight ?? picture.attachments.contentLight
        return result
    }

    /// Fixes the open properties of the configuration with the first picture. The encoder, which has no frame yet, is
    /// replaced if this changes anything.
    mutating func adoptPictureDescription(of buffer: PixelBuffer) {
        let adopted = configuration(adopting: buffer)
        configuration.color = configuration.color ?? .unspecified
        configuration.pixelAspectRatio = configuration.pixelAspectRatio ?? .one
        if adopted != configuration { refresh(because: .firstPicture) }
        configuration = adopted
    }
}
