// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CLibVA
internal import GOPPlanning
internal import MediaTypes
internal import VAAPI

/// The HEVC part of an encoder: numbers planned pictures and writes their parameters for the driver.
struct HEVCCoder: PictureCoder {
    let setup: HEVCSetup
    let packedSequence: [UInt8]
    let packedPicture: [UInt8]

    private var numbering: HEVCPictureNumbering
    private var sequence: VAEncSequenceParameterBufferHEVC

    init(_ setup: HEVCSetup) throws(MediaError) {
        self.setup = setup
        let stream = setup.stream
        numbering = try HEVCPictureNumbering(
            setup.device.structure,
            generalizedList1Limit: stream.tools.generalizedList1Limit,
            log2MaxPictureOrderCountLsb: HEVCStream.orderCountBits
        )
        sequence = VAEncSequenceParameterBufferHEVC(
            stream.sequence,
            setup.device.structure,
            bitsPerSecond: setup.device.rate.target?.peak ?? 0
        )
        let sets = try stream.parameterSets().map { PackedHeader.startCode + $0 }
        (packedSequence, packedPicture) = (sets[0] + sets[1], sets[2])
    }

    mutating func change(_ rate: RatePlan) { sequence.bits_per_second = UInt32(clamping: rate.target?.peak ?? 0) }

    mutating func picture(_ planned: PlannedPicture, quantizer: Int) -> HEVCPicture {
        HEVCPicture(planned: planned, numbers: numbering.number(planned), quantizer: quantizer)
    }

    func appendSequence(to list: inout ParameterList) { list.append(.sequenceParameters, sequence) }

    func appendPicture(_ picture: HEVCPicture, _ surfaces: PictureSurfaces, to list: inout ParameterList) {
        let header = header(picture, setup.device.slices[0])
        list.append(
            .pictureParameters,
            VAEncPictureParameterBufferHEVC(picture, header, setup.stream.sequence, set(for: picture), surfaces)
        )
    }

    func appendSlice(
        _ picture: HEVCPicture,
        _ blocks: Range<Int>,
        _ surfaces: PictureSurfaces,
        to list: inout ParameterList
    ) {
        let isLast = blocks == setup.device.slices.last
        let header = header(picture, blocks)
        list.append(
            .sliceParameters,
            elements: [VAEncSliceParameterBufferHEVC(header, picture, count: blocks.count, isLast: isLast, surfaces)]
        )
    }

    func sliceHeader(
        _ picture: HEVCPicture,
        _ blocks: Range<Int>
    ) throws(BitstreamError) -> (bytes: [UInt8], bitCount: Int) {
        try header(picture, blocks).written(sps: setup.stream.sequence, pps: set(for: picture))
    }

    private func header(_ picture: HEVCPicture, _ blocks: Range<Int>) -> HEVCSliceSegmentHeader {
        HEVCSliceSegmentHeader(picture, firstBlock: blocks.lowerBound, setup.stream.sequence, set(for: picture))
    }

    /// Returns the picture parameter set that corresponds to the picture parameters.
    private func set(for picture: HEVCPicture) -> HEVCPictureParameterSet {
        var set = setup.stream.picture
        // A driver that writes the headers may relate slice quantizers to that of each picture.
        if setup.device.packedHeaders.isEmpty, setup.device.quirks.ignoresSliceQuantizers {
            set.initQpMinus26 = Int32(clamping: picture.quantizer - 26)
        }
        return set
    }
}
