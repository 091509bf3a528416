// SPDX-License-Identifier: GPL-2.0-or-later

import CLibVA
import VAAPI

/// The parameters of H.264 IDR pictures, Main profile, constant quantisation; the driver writes the headers.
struct IntraPicture {
    var width: Int
    var height: Int
    var quantizationParameter: UInt8 = 26

    /// The size in whole macroblocks, which surfaces have.
    var codedWidth: Int { (width + 15) / 16 * 16 }
    var codedHeight: Int { (height + 15) / 16 * 16 }

    func parameters(number: Int, output: UInt32, reconstruction: UInt32) -> ParameterList {
        var list = ParameterList()
        append(to: &list, number: number, output: output, reconstruction: reconstruction)
        return list
    }

    func append(to list: inout ParameterList, number: Int, output: UInt32, reconstruction: UInt32) {
        list.append(.sequenceParameters, sequence)
        list.append(.pictureParameters, picture(output, reconstruction))
        list.append(.sliceParameters, elements: [slice(number)])
    }

    private var sequence: VAEncSequenceParameterBufferH264 {
        var sequence = VAEncSequenceParameterBufferH264()
        sequence.level_idc = 41
        sequence.intra_period = 1
        sequence.intra_idr_period = 1
        sequence.ip_period = 1
        sequence.max_num_ref_frames = 1
        sequence.picture_width_in_mbs = UInt16(codedWidth / 16)
        sequence.picture_height_in_mbs = UInt16(codedHeight / 16)
        sequence.seq_fields.bits.chroma_format_idc = 1
        sequence.seq_fields.bits.frame_mbs_only_flag = 1
        sequence.seq_fields.bits.direct_8x8_inference_flag = 1
        sequence.seq_fields.bits.log2_max_frame_num_minus4 = 4
        sequence.seq_fields.bits.log2_max_pic_order_cnt_lsb_minus4 = 4
        sequence.frame_cropping_flag = codedWidth != width || codedHeight != height ? 1 : 0
        sequence.frame_crop_right_offset = UInt32(codedWidth - width) / 2
        sequence.frame_crop_bottom_offset = UInt32(codedHeight - height) / 2
        return sequence
    }

    private func picture(_ output: UInt32, _ reconstruction: UInt32) -> VAEncPictureParameterBufferH264 {
        var picture = VAEncPictureParameterBufferH264()
        picture.CurrPic = VAPictureH264()
        picture.CurrPic.picture_id = reconstruction
        fill(&picture.ReferenceFrames)
        picture.coded_buf = output
        picture.pic_init_qp = quantizationParameter
        picture.pic_fields.bits.idr_pic_flag = 1
        picture.pic_fields.bits.reference_pic_flag = 1
        picture.pic_fields.bits.entropy_coding_mode_flag = 1
        picture.pic_fields.bits.deblocking_filter_control_present_flag = 1
        return picture
    }

    private func slice(_ number: Int) -> VAEncSliceParameterBufferH264 {
        var slice = VAEncSliceParameterBufferH264()
        slice.num_macroblocks = UInt32(codedWidth / 16 * (codedHeight / 16))
        slice.macroblock_info = VA_INVALID_ID
        slice.slice_type = 2
        slice.idr_pic_id = UInt16(number % 2)
        fill(&slice.RefPicList0)
        fill(&slice.RefPicList1)
        return slice
    }

    /// Makes every entry of a list of pictures one that refers to none.
    private func fill<List>(_ list: inout List) {
        var none = VAPictureH264()
        none.picture_id = VA_INVALID_ID
        none.flags = UInt32(VA_PICTURE_H264_INVALID)
        withUnsafeMutableBytes(of: &list) { $0.bindMemory(to: VAPictureH264.self).update(repeating: none) }
    }
}

/// A pattern that differs from place to place and from picture to picture.
struct Pattern {
    var width: Int
    var height: Int
    var seed: Int

    private func sample(_ plane: Int, _ x: Int, _ y: Int) -> UInt8 {
        // Smooth, so that a coder keeps it nearly as it is.
        UInt8(truncatingIfNeeded: 40 + seed % 7 * 8 + plane * 30 + x / 8 + y / 16)
    }

    /// Writes the pattern as NV12.
    func draw(_ bytes: UnsafeMutableRawBufferPointer, _ planes: [ImagePlane]) {
        visit(planes) { bytes[$0] = $1 }
    }

    /// Whether memory holds the pattern as NV12.
    func isHeld(by bytes: UnsafeMutableRawBufferPointer, _ planes: [ImagePlane]) -> Bool {
        var isHeld = true
        visit(planes) { if bytes[$0] != $1 { isHeld = false } }
        return isHeld
    }

    private func visit(_ planes: [ImagePlane], _ use: (Int, UInt8) -> Void) {
        for (number, plane) in planes.enumerated() {
            for y in 0..<(number == 0 ? height : height / 2) {
                for x in 0..<width { use(plane.offset + y * plane.pitch + x, sample(number, x, y)) }
            }
        }
    }
}

/// An H.264 encoder with one picture under way.
struct SmallEncoder: ~Copyable {
    let picture: IntraPicture
    let context: Context
    let output: CodedBuffer
    let input: Surface
    let reconstructions: [Surface]

    /// The entrypoint that is listed first is taken. Mesa's encoders begin at 128x128, since 24 they say so.
    init(_ display: borrowing Display, width: Int, height: Int, namesTargets: Bool = true) throws(VAError) {
        let main = Profile(rawValue: VAProfileH264Main.rawValue)
        let driver = try display.describe()
        let entrypoints = driver.profiles.first { $0.profile == main }?.entrypoints ?? []
        let least = driver.vendor.hasPrefix("Mesa") ? 128 : 0
        let config = try display.makeConfig(
            profile: main,
            entrypoint: entrypoints.first { $0.description.hasPrefix("EncSlice") } ?? Entrypoint(rawValue: 0),
            attributes: [
                ConfigAttributeValue(.renderTargetFormat, RTFormats.yuv420.rawValue),
                ConfigAttributeValue(.rateControl, RateControlModes.cqp.rawValue),
            ]
        )
        let picture = IntraPicture(width: max(width, least), height: max(height, least))
        let request = SurfaceRequest(width: picture.codedWidth, height: picture.codedHeight, format: .nv12)
        let input = try display.makeSurfaces(1, request)[0]
        let reconstructions = try display.makeSurfaces(2, request)
        let context = try Context(
            config: config,
            width: picture.codedWidth,
            height: picture.codedHeight,
            renderTargets: namesTargets ? reconstructions + [input] : []
        )
        output = try context.makeCodedBuffer(capacity: picture.codedWidth * picture.codedHeight * 2 + 4096)
        self.context = context
        self.picture = picture
        self.input = input
        self.reconstructions = reconstructions
    }

    func submit(_ number: Int) throws(VAError) {
        let reconstruction = reconstructions[number % 2].id
        try context.submit(
            input,
            into: output,
            picture.parameters(number: number, output: output.id, reconstruction: reconstruction)
        )
    }

    /// Waits for the picture and copies it.
    func collect() throws(VAError) -> [UInt8] {
        try output.withSegments { segments in segments.flatMap { Array($0.bytes) } }
    }
}
