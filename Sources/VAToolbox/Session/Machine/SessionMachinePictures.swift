// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes

// MARK: - The first picture

extension SessionMachine {
    /// The configuration, with what it leaves open taken from the picture if that is the first one.
    ///
    /// It is what the picture becomes when it is converted to 4:2:0; what no stream can say counts as not said.
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

    /// What the configuration leaves to the first picture is fixed by it; the encoder, which has no frame yet, is made
    /// anew if that changes anything.
    mutating func adoptPictureDescription(of buffer: PixelBuffer) {
        let adopted = configuration(adopting: buffer)
        configuration.color = configuration.color ?? .unspecified
        configuration.pixelAspectRatio = configuration.pixelAspectRatio ?? .one
        if adopted != configuration { refresh(because: .firstPicture) }
        configuration = adopted
    }
}
