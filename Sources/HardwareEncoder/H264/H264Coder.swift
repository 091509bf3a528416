// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CLibVA
internal import GOPPlanning
internal import MediaTypes
internal import VAAPI

/// The H.264 part of an encoder: numbers planned pictures, and writes what a driver is told of each.
struct H264Coder: Sendable {
    let setup: H264Setup

    private var numbering: H264PictureNumbering
    private let sequence: VAEncSequenceParameterBufferH264
    /// SPS and PPS.
    private let sets: [[UInt8]]

    /// An access unit delimiter before pictures of any kind (H.264 7.3.2.4 with `primary_pic_type` 7).
    static let delimiter: [UInt8] = [0x09, 0xF0]

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
        sets = try stream.parameterSets()
    }

    /// Numbers the next picture in coding order.
    ///
    /// - Parameter quantizer: its quantizer, or where rate control begins.
    mutating func picture(_ planned: PlannedPicture, quantizer: Int) -> H264Picture {
        H264Picture(planned: planned, numbers: numbering.number(planned), quantizer: quantizer)
    }

    /// Everything that the driver is told of a picture, in its order: sequence, miscellaneous, picture, headers, slices.
    ///
    /// - Parameters:
    ///   - picture: the picture.
    ///   - surfaces: where it and its references lie, and where it is coded to.
    ///   - extra: NAL units that stand before its slices. A driver that takes none is not told of them.
    ///   - miscellaneous: the miscellaneous parameters.
    func parameters(
        _ picture: H264Picture,
        _ surfaces: PictureSurfaces,
        _ extra: PictureUnits,
        _ miscellaneous: ParameterList
    ) throws(MediaError) -> ParameterList {
        var list = ParameterList()
        let (device, stream) = (setup.device, setup.stream)
        if picture.isIDR { list.append(.sequenceParameters, sequence) }
        list.append(contentsOf: miscellaneous)
        list.append(.pictureParameters, VAEncPictureParameterBufferH264(picture, stream.picture, surfaces))
        let packsUnits = device.packedHeaders.contains(.rawData)
        if packsUnits, let delimiter = extra.delimiter { PackedHeader.append(unit: delimiter, .raw, to: &list) }
        if picture.isIDR {
            if device.packedHeaders.contains(.sequence) { PackedHeader.append(unit: sets[0], .sequence, to: &list) }
            if device.packedHeaders.contains(.picture) { PackedHeader.append(unit: sets[1], .picture, to: &list) }
        }
        if packsUnits {
            for message in extra.messages { PackedHeader.append(unit: message, .raw, to: &list) }
        }
        for macroblocks in device.slices {
            let header = H264SliceHeader(picture, firstMacroblock: macroblocks.lowerBound, stream.picture)
            if device.packedHeaders.contains(.slice) { try appendPacked(header, to: &list) }
            list.append(
                .sliceParameters,
                elements: [VAEncSliceParameterBufferH264(header, picture, macroblocks: macroblocks, surfaces)]
            )
        }
        return list
    }

    private func appendPacked(_ header: H264SliceHeader, to list: inout ParameterList) throws(MediaError) {
        do throws(BitstreamError) {
            let written = try header.written(sps: setup.stream.sequence, pps: setup.stream.picture)
            PackedHeader.append(sliceHeader: written.bytes, bitCount: written.bitCount, to: &list)
        } catch {
            throw MediaError(.frameFailed, "a slice header cannot be written: \(error)")
        }
    }
}

/// NAL units of a picture that stand before its slices and are no parameter sets, without start codes.
struct PictureUnits: Sendable, Hashable {
    /// The access unit delimiter.
    var delimiter: [UInt8]?
    /// SEI, in order.
    var messages: [[UInt8]] = []
}

/// Headers that the application writes (`VAEncPackedHeaderParameterBuffer` and its data).
enum PackedHeader {
    private static let startCode: [UInt8] = [0, 0, 0, 1]

    /// What a whole NAL unit is (`VAEncPackedHeaderType`).
    enum Kind {
        case sequence
        case picture
        /// Of any kind.
        case raw

        fileprivate var type: VAEncPackedHeaderType {
            switch self {
            case .sequence: VAEncPackedHeaderSequence
            case .picture: VAEncPackedHeaderPicture
            case .raw: VAEncPackedHeaderRawData
            }
        }
    }

    /// Adds a NAL unit as it stands in the stream.
    static func append(unit: [UInt8], _ kind: Kind, to list: inout ParameterList) {
        append(kind.type, startCode + unit, bitCount: unit.count * 8, hasEmulationPrevention: true, to: &list)
    }

    /// Adds the header of a NAL unit and of its slice, to which the driver adds emulation prevention and the slice's data.
    static func append(sliceHeader bytes: [UInt8], bitCount: Int, to list: inout ParameterList) {
        append(VAEncPackedHeaderSlice, startCode + bytes, bitCount: bitCount, hasEmulationPrevention: false, to: &list)
    }

    /// - Parameter bitCount: how many bits belong to the header, without the start code.
    private static func append(
        _ type: VAEncPackedHeaderType,
        _ bytes: [UInt8],
        bitCount: Int,
        hasEmulationPrevention: Bool,
        to list: inout ParameterList
    ) {
        var parameters = VAEncPackedHeaderParameterBuffer()
        parameters.type = type.rawValue
        parameters.bit_length = UInt32(clamping: startCode.count * 8 + bitCount)
        parameters.has_emulation_bytes = hasEmulationPrevention ? 1 : 0
        list.append(.packedHeaderParameters, parameters)
        list.append(.packedHeaderData, bytes: bytes)
    }
}
