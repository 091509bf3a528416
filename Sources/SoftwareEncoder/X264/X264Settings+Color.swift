// SPDX-License-Identifier: GPL-2.0-or-later

internal import CX264
internal import MediaTypes

// The colour description in the stream.

extension X264Settings {
    mutating func setColor() throws(MediaError) {
        let known = WrittenCodePoints(primaries: 0...12, transfers: 0...18, matrices: 0...14)
        guard let color = try writtenColor(known) else { return }
        parameters.vui.i_colorprim = Int32(color.primaries.rawValue)
        parameters.vui.i_transfer = Int32(color.transfer.rawValue)
        parameters.vui.i_colmatrix = Int32(color.matrix.rawValue)
        parameters.vui.b_fullrange = color.range == .full ? 1 : 0
        if let location = color.chromaLocation { parameters.vui.i_chroma_loc = Int32(location.rawValue) }
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
