// SPDX-License-Identifier: GPL-2.0-or-later

internal import CVideo4Linux
internal import MediaTypes

/// The pictures that a driver has agreed to deliver.
struct NegotiatedPicture: Sendable, Hashable {
    var width: Int
    var height: Int
    var color: ColorDescription
    /// Which field comes first; `nil` for progressive pictures.
    var fieldOrder: FieldOrder?
    /// The planes of an uncompressed picture.
    var layout: CameraLayout?

    /// Checks that the picture fits into the driver's buffers.
    func check(_ lengths: [Int], path: String) throws(MediaError) {
        guard let layout else { return }
        guard lengths.count >= layout.byteCounts.count, zip(lengths, layout.byteCounts).allSatisfy({ $0 >= $1 }) else {
            throw MediaError(
                .inputOutput,
                "the buffers of the camera are too small for its pictures: \(path)",
                given: "\(lengths)",
                allowed: "\(layout.byteCounts)"
            )
        }
    }

    /// The order of fields of `V4L2_FIELD_*`; `nil` inside for progressive pictures.
    ///
    /// - Returns: `nil` for fields that are not woven into one picture.
    static func fieldOrder(_ field: UInt32, height: Int) -> FieldOrder?? {
        switch v4l2_field(field) {
        case V4L2_FIELD_ANY, V4L2_FIELD_NONE: .some(nil)
        case V4L2_FIELD_INTERLACED_TB: .topFirst
        case V4L2_FIELD_INTERLACED_BT: .bottomFirst
        // By the video standard: the bottom field comes first with 525 lines.
        case V4L2_FIELD_INTERLACED: height == 480 || height == 486 ? .bottomFirst : .topFirst
        default: nil
        }
    }
}

extension VideoNode {
    /// Sets the format and the size of a mode.
    ///
    /// - Throws: `busy` if another program captures; `unsupported` if the driver sets another format.
    func negotiate(_ mode: V4L2Camera.Mode, type: UInt32) throws(MediaError) -> NegotiatedPicture {
        var format = video_format()
        var order: FieldOrder??
        for field in [V4L2_FIELD_ANY, V4L2_FIELD_INTERLACED] where order == nil {
            format = video_format()
            (format.type, format.pixel_format, format.field) = (type, mode.code.rawValue, field.rawValue)
            (format.width, format.height) = (UInt32(clamping: mode.width), UInt32(clamping: mode.height))
            try check(
                video_set_format(descriptor, &format),
                "VIDIOC_S_FMT",
                "the camera refuses \(mode.code) \(mode.width)x\(mode.height)",
                code: .unsupported
            )
            order = NegotiatedPicture.fieldOrder(format.field, height: Int(format.height))
        }
        guard let order else {
            throw MediaError(.unsupported, "the camera delivers single fields", given: "field order \(format.field)")
        }
        let (width, height) = (Int(format.width), Int(format.height))
        let code = V4L2Camera.FormatCode(rawValue: format.pixel_format)
        let sizes = 1...PixelBuffer.maximumDimension
        guard code == mode.code, sizes.contains(width), sizes.contains(height) else {
            throw MediaError(
                .unsupported,
                "the camera has set another format than it offers",
                given: "\(mode.code) \(mode.width)x\(mode.height)",
                allowed: "\(code) \(width)x\(height)",
                call: "VIDIOC_S_FMT"
            )
        }
        let color = CameraColor(
            colorspace: format.colorspace,
            encoding: format.ycbcr_encoding,
            quantization: format.quantization,
            transfer: format.transfer
        )
        let rows = [format.bytes_per_row.0, format.bytes_per_row.1, format.bytes_per_row.2]
        return NegotiatedPicture(
            width: width,
            height: height,
            color: color.description,
            fieldOrder: order,
            layout: CameraLayout(code, width: width, height: height, bytesPerRow: rows.map { Int($0) })
        )
    }

    /// Sets the frame rate, if the driver lets it be set.
    ///
    /// - Returns: The frame rate that the driver states; `nil` if it states none.
    func setRate(_ wanted: Rational?, type: UInt32) throws(MediaError) -> Rational? {
        var interval = v4l2_fract()
        var isSettable: Int32 = 0
        guard video_get_interval(descriptor, type, &interval, &isSettable) == 0 else { return nil }
        if let wanted, isSettable != 0 {
            interval = wanted.interval
            try check(
                video_set_interval(descriptor, type, &interval),
                "VIDIOC_S_PARM",
                "the camera refuses \(wanted) fps",
                code: .unsupported
            )
        }
        return Rational(interval: interval)
    }
}
