// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CLibVA
internal import GOPPlanning
internal import MediaTypes
internal import VAAPI

/// The H.264 part of an encoder: numbers planned pictures and writes their parameters for the driver.
struct H264Coder: PictureCoder {
    let setup: H264Setup
    let packedSequence: [UInt8]
    let packedPicture: [UInt8]

    private var numbering: H264PictureNumbering
    private var sequence: VAEncSequenceParameterBufferH264

    init(_ setup: H264Setup) throws(MediaError) {
        self.setup = setup
        let stream = setup.stream
        numbering = try H264PictureNumbering(
            setup.device.structure,
            log2MaxFrameNum: H264Stream.frameNumberBits,
            log2MaxPictureOrderCountLsb: H264Stream.frameNumberBits
        )
        sequence = VAEncSequenceParameterBufferH264(
            stream.sequence,
            setup.device.structure,
            bitsPerSecond: setup.device.rate.target?.peak ?? 0
        )
        let sets = try stream.parameterSets().map { PackedHeader.startCode + $0 }
        (packedSequence, packedPicture) = (sets[0], sets[1])
    }

    mutating func change(_ rate: RatePlan) { sequence.bits_per_second = UInt32(clamping: rate.target?.peak ?? 0) }

    mutating func picture(_ planned: PlannedPicture, quantizer: Int) -> H264Picture {
        H264Picture(planned: planned, numbers: numbering.number(planned), quantizer: quantizer)
    }

    func appendSequence(to list: inout ParameterList) { list.append(.sequenceParameters, sequence) }

    func appendPicture(_ picture: H264Picture, _ surfaces: PictureSurfaces, to list: inout ParameterList) {
        list.append(.pictureParameters, VAEncPictureParameterBufferH264(picture, set(for: picture), surfaces))
    }

    func appendSlice(
        _ picture: H264Picture,
        _ blocks: Range<Int>,
        _ surfaces: PictureSurfaces,
        to list: inout ParameterList
    ) {
        let header = H264SliceHeader(picture, firstMacroblock: blocks.lowerBound, set(for: picture))
        list.append(
            .sliceParameters,
            elements: [VAEncSliceParameterBufferH264(header, picture, macroblocks: blocks, surfaces)]
        )
    }

    func sliceHeader(
        _ picture: H264Picture,
        _ blocks: Range<Int>
    ) throws(BitstreamError) -> (bytes: [UInt8], bitCount: Int) {
        let stream = setup.stream
        return try H264SliceHeader(picture, firstMacroblock: blocks.lowerBound, set(for: picture))
            .written(sps: stream.sequence, pps: stream.picture)
    }

    /// Returns the picture parameter set that corresponds to the picture parameters.
    private func set(for picture: H264Picture) -> H264PictureParameterSet {
        var set = setup.stream.picture
        // A driver that writes the headers may relate slice quantizers to that of each picture.
        if setup.device.packedHeaders.isEmpty, setup.device.quirks.ignoresSliceQuantizers {
            set.picInitQpMinus26 = Int32(clamping: picture.quantizer - 26)
        }
        return set
    }
}
