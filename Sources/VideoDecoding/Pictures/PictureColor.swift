// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
package import MediaTypes

/// Converts FFmpeg's colour fields and side data to the types of this package.
package enum PictureColor {
    /// Returns the colour description of a decoded frame; what the frame does not specify stays unspecified.
    ///
    /// FFmpeg's enumerations of primaries, transfer characteristics and matrix coefficients are the code points of
    /// H.273.
    package static func description(of reference: FrameReference) -> ColorDescription {
        let frame = reference.frame.pointee
        let layout = PictureLayout(rawFormat: frame.format)
        var color = ColorDescription(
            primaries: .init(rawValue: UInt8(clamping: frame.color_primaries.rawValue)),
            transfer: .init(rawValue: UInt8(clamping: frame.color_trc.rawValue)),
            matrix: .init(rawValue: UInt8(clamping: frame.colorspace.rawValue)),
            range: range(frame.color_range),
            chromaLocation: chromaLocation(frame.chroma_location)
        )
        if layout?.isFullRangeYCbCr == true { color.range = .full }
        if layout?.isRGB == true {
            color.matrix = .rgb
            color.chromaLocation = nil
            if color.range == .unspecified { color.range = .full }
        }
        return color
    }

    private static func range(_ range: AVColorRange) -> ColorDescription.Range {
        switch range {
        case AVCOL_RANGE_MPEG: .limited
        case AVCOL_RANGE_JPEG: .full
        default: .unspecified
        }
    }

    private static func chromaLocation(_ location: AVChromaLocation) -> ColorDescription.ChromaLocation? {
        // AVCHROMA_LOC_LEFT (1) to AVCHROMA_LOC_BOTTOM (6) are the code points of H.264 E.2.1 plus one.
        (1...6).contains(location.rawValue) ? .init(rawValue: UInt8(clamping: location.rawValue - 1)) : nil
    }
}

// MARK: - HDR metadata and captions

extension PictureColor {
    /// Converts `AVMasteringDisplayMetadata` to the units of the SEI message; `nil` unless it is complete.
    package static func masteringDisplay(_ data: UnsafeRawBufferPointer) -> MasteringDisplay? {
        guard data.count >= MemoryLayout<AVMasteringDisplayMetadata>.size else { return nil }
        let metadata = data.loadUnaligned(as: AVMasteringDisplayMetadata.self)
        guard metadata.has_primaries != 0, metadata.has_luminance != 0 else { return nil }
        func point(_ value: (AVRational, AVRational)) -> MasteringDisplay.Chromaticity {
            .init(
                x: UInt16(clamping: count(value.0, unitsPerOne: 50000)),
                y: UInt16(clamping: count(value.1, unitsPerOne: 50000))
            )
        }
        return MasteringDisplay(
            red: point(metadata.display_primaries.0),
            green: point(metadata.display_primaries.1),
            blue: point(metadata.display_primaries.2),
            whitePoint: point(metadata.white_point),
            maximumLuminance: UInt32(clamping: count(metadata.max_luminance, unitsPerOne: 10000)),
            minimumLuminance: UInt32(clamping: count(metadata.min_luminance, unitsPerOne: 10000))
        )
    }

    /// Converts `AVContentLightMetadata`.
    package static func contentLight(_ data: UnsafeRawBufferPointer) -> ContentLightLevel? {
        guard data.count >= MemoryLayout<AVContentLightMetadata>.size else { return nil }
        let metadata = data.loadUnaligned(as: AVContentLightMetadata.self)
        return ContentLightLevel(
            maximumContentLightLevel: UInt16(clamping: metadata.MaxCLL),
            maximumFrameAverageLightLevel: UInt16(clamping: metadata.MaxFALL)
        )
    }

    private static func count(_ value: AVRational, unitsPerOne: Int64) -> Int64 {
        MediaTime.rational(Int64(value.num) * unitsPerOne, numerator: 1, denominator: Int64(value.den))
            .converted(to: 1).value
    }

    /// Returns the HDR metadata, captions and field order of one frame, completed by those of the stream.
    package static func attachments(of frame: FrameReference, stream: PixelAttachments) -> PixelAttachments {
        var attachments = stream
        if let data = frame.sideData(AV_FRAME_DATA_MASTERING_DISPLAY_METADATA.rawValue),
            let display = masteringDisplay(data)
        {
            attachments.masteringDisplay = display
        }
        if let data = frame.sideData(AV_FRAME_DATA_CONTENT_LIGHT_LEVEL.rawValue), let light = contentLight(data) {
            attachments.contentLight = light
        }
        if let data = frame.sideData(AV_FRAME_DATA_A53_CC.rawValue) { attachments.captions = Array(data) }
        if ffmpeg_is_interlaced(frame.frame) != 0 {
            attachments.fieldOrder = ffmpeg_is_top_field_first(frame.frame) != 0 ? .topFirst : .bottomFirst
        }
        // libavcodec joins the captions of all messages; no encoder or helper process takes that many.
        attachments.limitCaptions()
        return attachments
    }

    /// Returns the elements of a display matrix.
    package static func displayMatrix(_ data: UnsafeRawBufferPointer) -> [Int32] {
        (0..<data.count / 4).map { data.loadUnaligned(fromByteOffset: $0 * 4, as: Int32.self) }
    }
}
