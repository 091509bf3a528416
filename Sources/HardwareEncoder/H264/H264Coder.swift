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
    private var sequence: VAEncSequenceParameterBufferH264
    /// SPS and PPS, each behind a start code.
    private let sets: [[UInt8]]

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
        sets = try stream.parameterSets().map { PackedHeader.startCode + $0 }
    }

    /// Changes the rate that IDR pictures tell.
    mutating func change(_ rate: RatePlan) { sequence.bits_per_second = UInt32(clamping: rate.target?.peak ?? 0) }

    /// Numbers the next picture in coding order.
    ///
    /// - Parameter quantizer: its quantizer, or where rate control begins.
    mutating func picture(_ planned: PlannedPicture, quantizer: Int) -> H264Picture {
        H264Picture(planned: planned, numbers: numbering.number(planned), quantizer: quantizer)
    }

    /// Everything that the driver is told of a picture, in its order: sequence, picture, miscellaneous, headers, slices.
    /// Miscellaneous parameters are behind the picture's because iHD counts on that.
    ///
    /// - Parameters:
    ///   - picture: the picture.
    ///   - surfaces: where it and its references lie, and where it is coded to.
    ///   - extra: NAL units that stand before its slices. A driver that takes no such units is not sent them.
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
        var set = stream.picture
        // Who writes no headers is free to count quantizers from that of each picture.
        if device.packedHeaders.isEmpty, device.quirks.ignoresSliceQuantizers {
            set.picInitQpMinus26 = Int32(clamping: picture.quantizer - 26)
        }
        list.append(.pictureParameters, VAEncPictureParameterBufferH264(picture, set, surfaces))
        list.append(contentsOf: miscellaneous)
        let extra = device.packedHeaders.contains(.rawData) ? extra : PictureUnits()
        if let delimiter = extra.delimiter { PackedHeader.append(PackedHeader.startCode + delimiter, .raw, to: &list) }
        if picture.isIDR {
            if device.packedHeaders.contains(.sequence) { PackedHeader.append(sets[0], .sequence, to: &list) }
            if device.packedHeaders.contains(.picture) { PackedHeader.append(sets[1], .picture, to: &list) }
        }
        for message in extra.messages { PackedHeader.append(PackedHeader.startCode + message, .raw, to: &list) }
        for macroblocks in device.slices {
            let header = H264SliceHeader(picture, firstMacroblock: macroblocks.lowerBound, set)
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
            PackedHeader.append(
                PackedHeader.startCode + written.bytes,
                .slice,
                bitCount: PackedHeader.startCode.count * 8 + written.bitCount,
                hasEmulationPrevention: false,
                to: &list
            )
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
    /// What a packed header is (`VAEncPackedHeaderType`).
    enum Kind {
        case sequence
        case picture
        case slice
        /// Whole NAL units of any kind.
        case raw

        var type: VAEncPackedHeaderType {
            switch self {
            case .sequence: VAEncPackedHeaderSequence
            case .picture: VAEncPackedHeaderPicture
            case .slice: VAEncPackedHeaderSlice
            case .raw: VAEncPackedHeaderRawData
            }
        }
    }

    static let startCode: [UInt8] = [0, 0, 0, 1]

    /// Adds a header.
    ///
    /// - Parameters:
    ///   - bytes: from the start code on.
    ///   - bitCount: how many bits of them belong to it; `nil` for all.
    ///   - hasEmulationPrevention: whether the bytes are those of the stream; if not, the driver adds what is missing.
    static func append(
        _ bytes: [UInt8],
        _ kind: Kind,
        bitCount: Int? = nil,
        hasEmulationPrevention: Bool = true,
        to list: inout ParameterList
    ) {
        var parameters = VAEncPackedHeaderParameterBuffer()
        parameters.type = kind.type.rawValue
        parameters.bit_length = UInt32(clamping: bitCount ?? bytes.count * 8)
        parameters.has_emulation_bytes = hasEmulationPrevention ? 1 : 0
        list.append(.packedHeaderParameters, parameters)
        list.append(.packedHeaderData, bytes: bytes)
    }
}
