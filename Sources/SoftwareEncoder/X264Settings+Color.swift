// SPDX-License-Identifier: GPL-2.0-or-later

internal import CX264
internal import MediaTypes

// What the stream says about its colours.

extension X264Settings {
    /// The code points of H.273 that x264 writes; it drops others without a word.
    private static let writtenPrimaries: ClosedRange<UInt8> = 0...12
    private static let writtenTransfers: ClosedRange<UInt8> = 0...18
    private static let writtenMatrices: ClosedRange<UInt8> = 0...14

    /// The colour that the stream will tell.
    var writtenColor: ColorDescription {
        var color = configuration.color ?? .unspecified
        if !Self.writtenPrimaries.contains(color.primaries.rawValue) { color.primaries = .unspecified }
        if !Self.writtenTransfers.contains(color.transfer.rawValue) { color.transfer = .unspecified }
        if !Self.writtenMatrices.contains(color.matrix.rawValue) { color.matrix = .unspecified }
        return color
    }

    mutating func setColor() throws(MediaError) {
        guard let asked = configuration.color else { return }
        let color = writtenColor
        guard asked.matrix != .rgb else {
            throw MediaError(
                .invalidArgument,
                "4:2:0 video has no RGB matrix",
                given: "matrix 0",
                allowed: "1...\(Self.writtenMatrices.upperBound)"
            )
        }
        if let location = asked.chromaLocation, location.rawValue > 5 {
            throw MediaError(
                .invalidArgument,
                "chroma location is out of range",
                given: "\(location.rawValue)",
                allowed: "0...5"
            )
        }
        reportColor("primaries", asked.primaries.rawValue, color.primaries.rawValue)
        reportColor("transfer", asked.transfer.rawValue, color.transfer.rawValue)
        reportColor("matrix", asked.matrix.rawValue, color.matrix.rawValue)
        parameters.vui.i_colorprim = Int32(color.primaries.rawValue)
        parameters.vui.i_transfer = Int32(color.transfer.rawValue)
        parameters.vui.i_colmatrix = Int32(color.matrix.rawValue)
        parameters.vui.b_fullrange = color.range == .full ? 1 : 0
        if let location = color.chromaLocation { parameters.vui.i_chroma_loc = Int32(location.rawValue) }
    }

    private mutating func reportColor(_ property: String, _ asked: UInt8, _ written: UInt8) {
        guard asked != written else { return }
        adjust("colour \(property)", from: "\(asked)", to: "unspecified", "x264 does not know the code point")
    }

    mutating func setMetadata() {
        if let display = configuration.masteringDisplay {
            parameters.mastering_display.b_mastering_display = 1
            parameters.mastering_display.i_red_x = Int32(display.red.x)
            parameters.mastering_display.i_red_y = Int32(display.red.y)
            parameters.mastering_display.i_green_x = Int32(display.green.x)
            parameters.mastering_display.i_green_y = Int32(display.green.y)
            parameters.mastering_display.i_blue_x = Int32(display.blue.x)
            parameters.mastering_display.i_blue_y = Int32(display.blue.y)
            parameters.mastering_display.i_white_x = Int32(display.whitePoint.x)
            parameters.mastering_display.i_white_y = Int32(display.whitePoint.y)
            parameters.mastering_display.i_display_max = Int64(display.maximumLuminance)
            parameters.mastering_display.i_display_min = Int64(display.minimumLuminance)
        }
        if let light = configuration.contentLight {
            parameters.content_light_level.b_cll = 1
            parameters.content_light_level.i_max_cll = Int32(light.maximumContentLightLevel)
            parameters.content_light_level.i_max_fall = Int32(light.maximumFrameAverageLightLevel)
        }
    }
}
