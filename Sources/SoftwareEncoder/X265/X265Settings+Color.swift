// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CX265
internal import MediaTypes

// The colour description, pixel aspect ratio and mastering display in the stream.

extension X265Settings {
    mutating func setColor() throws(MediaError) {
        let known = WrittenCodePoints(primaries: 0...12, transfers: 0...18, matrices: 0...14, excepted: [3])
        if let color = try writtenColor(known) {
            let codes = [color.primaries.rawValue, color.transfer.rawValue, color.matrix.rawValue]
            let isDescribed = codes != [2, 2, 2]
            parameters.vui.bEnableVideoSignalTypePresentFlag = isDescribed || color.range == .full ? 1 : 0
            parameters.vui.bEnableVideoFullRangeFlag = color.range == .full ? 1 : 0
            parameters.vui.bEnableColorDescriptionPresentFlag = isDescribed ? 1 : 0
            parameters.vui.colorPrimaries = Int32(color.primaries.rawValue)
            parameters.vui.transferCharacteristics = Int32(color.transfer.rawValue)
            parameters.vui.matrixCoeffs = Int32(color.matrix.rawValue)
            if let location = color.chromaLocation {
                parameters.vui.bEnableChromaLocInfoPresentFlag = 1
                parameters.vui.chromaSampleLocTypeTopField = Int32(location.rawValue)
                parameters.vui.chromaSampleLocTypeBottomField = Int32(location.rawValue)
            }
        }
        setPixelAspectRatio()
    }

    /// Sets the pixel aspect ratio. Its terms have 16 bits: larger ones are halved until they fit.
    private mutating func setPixelAspectRatio() {
        guard let ratio = configuration.pixelAspectRatio?.reduced else { return }
        var (width, height) = (Int(ratio.numerator), Int(ratio.denominator))
        while width > 65535 || height > 65535 { (width, height) = (width / 2, height / 2) }
        guard let ratio = PositiveRatio(max(width, 1), max(height, 1)) else { return }
        let written = VideoSignal.AspectRatio(ratio)
        parameters.vui.aspectRatioIdc = Int32(clamping: written.aspectRatioIdc)
        parameters.vui.sarWidth = Int32(clamping: written.sarWidth)
        parameters.vui.sarHeight = Int32(clamping: written.sarHeight)
    }

    mutating func setMetadata() {
        guard let light = configuration.contentLight else { return }
        parameters.maxCLL = light.maximumContentLightLevel
        parameters.maxFALL = light.maximumFrameAverageLightLevel
    }

    /// The mastering display in the format that x265 parses; `nil` if there is none.
    var masteringDisplay: String? {
        guard let display = configuration.masteringDisplay else { return nil }
        func point(_ name: String, _ value: MasteringDisplay.Chromaticity) -> String {
            "\(name)(\(value.x),\(value.y))"
        }
        return point("G", display.green) + point("B", display.blue) + point("R", display.red)
            + point("WP", display.whitePoint) + "L(\(display.maximumLuminance),\(display.minimumLuminance))"
    }
}
