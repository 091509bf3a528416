// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CLibVA
internal import GOPPlanning
internal import MediaTypes
internal import VAAPI

/// The part of an encoder at work that is peculiar to a codec: numbers planned pictures, and writes what a driver is told
/// of each.
protocol PictureCoder: Sendable {
    /// The stream that it codes.
    associatedtype Stream: CodedStream where Stream.Coder == Self
    /// A picture with the codec's numbers.
    associatedtype Picture: NumberedPicture

    init(_ setup: EncoderSetup<Stream>) throws(MediaError)

    var setup: EncoderSetup<Stream> { get }
    /// VPS and SPS, each behind a start code.
    var packedSequence: [UInt8] { get }
    /// PPS behind a start code.
    var packedPicture: [UInt8] { get }

    /// Changes the rate that IDR pictures tell.
    mutating func change(_ rate: RatePlan)
    /// Numbers the next picture in coding order.
    ///
    /// - Parameter quantizer: its quantizer, or where rate control begins.
    mutating func picture(_ planned: PlannedPicture, quantizer: Int) -> Picture

    /// The codec's sequence parameters.
    func appendSequence(to list: inout ParameterList)
    /// The codec's picture parameters.
    func appendPicture(_ picture: Picture, _ surfaces: PictureSurfaces, to list: inout ParameterList)
    /// The codec's parameters of one slice.
    func appendSlice(
        _ picture: Picture,
        _ blocks: Range<Int>,
        _ surfaces: PictureSurfaces,
        to list: inout ParameterList
    )
    /// The header of one slice, without emulation prevention, and how many bits of the bytes it has.
    func sliceHeader(
        _ picture: Picture,
        _ blocks: Range<Int>
    ) throws(BitstreamError) -> (bytes: [UInt8], bitCount: Int)
}

/// One picture as a codec numbers it, before it has surfaces.
protocol NumberedPicture: Sendable {
    var planned: PlannedPicture { get }
    /// The quantizer of its slices, 0...51. With a rate control, where that begins.
    var quantizer: Int { get }
    /// The pictures whose surfaces it names, by ``InputPicture/number``: what is in the decoded picture buffer.
    var keptReferences: [Int64] { get }
}

extension NumberedPicture {
    var isIDR: Bool { planned.kind == .idr }
}

/// Where the pictures lie that a picture's parameters name.
struct PictureSurfaces {
    /// The surface that the picture is reconstructed into.
    var reconstruction: VASurfaceID
    /// The surfaces of references, by ``InputPicture/number``; all that are in the decoded picture buffer.
    var references: [Int64: VASurfaceID]
    /// The buffer that it is coded into.
    var output: VABufferID
}

extension PictureCoder {
    /// Everything that the driver is told of a picture, in its order: sequence, picture, miscellaneous, headers, slices.
    /// Miscellaneous parameters are behind the picture's because iHD counts on that.
    ///
    /// - Parameters:
    ///   - picture: the picture.
    ///   - surfaces: where it and its references lie, and where it is coded to.
    ///   - extra: NAL units that stand before its slices. A driver that takes no such units is not sent them.
    ///   - miscellaneous: the miscellaneous parameters.
    func parameters(
        _ picture: Picture,
        _ surfaces: PictureSurfaces,
        _ extra: PictureUnits,
        _ miscellaneous: ParameterList
    ) throws(MediaError) -> ParameterList {
        var list = ParameterList()
        let device = setup.device
        if picture.isIDR { appendSequence(to: &list) }
        appendPicture(picture, surfaces, to: &list)
        list.append(contentsOf: miscellaneous)
        let extra = device.packedHeaders.contains(.rawData) ? extra : PictureUnits()
        if let delimiter = extra.delimiter { PackedHeader.append(PackedHeader.startCode + delimiter, .raw, to: &list) }
        if picture.isIDR {
            if device.packedHeaders.contains(.sequence) { PackedHeader.append(packedSequence, .sequence, to: &list) }
            if device.packedHeaders.contains(.picture) { PackedHeader.append(packedPicture, .picture, to: &list) }
        }
        for message in extra.messages { PackedHeader.append(PackedHeader.startCode + message, .raw, to: &list) }
        for blocks in device.slices {
            if device.packedHeaders.contains(.slice) { try appendPackedHeader(picture, blocks, to: &list) }
            appendSlice(picture, blocks, surfaces, to: &list)
        }
        return list
    }

    private func appendPackedHeader(
        _ picture: Picture,
        _ blocks: Range<Int>,
        to list: inout ParameterList
    ) throws(MediaError) {
        do throws(BitstreamError) {
            let written = try sliceHeader(picture, blocks)
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

/// Periods of the plan, as sequence parameters tell them.
struct SequencePeriods {
    /// A period that VA-API has no way to call endless. Drivers divide by it, and some keep 16 bits of it.
    static let longest: UInt32 = 65535

    /// Between I pictures.
    let intra: UInt32
    /// Between IDR pictures.
    let idr: UInt32
    /// The distance of anchors, which drivers hold against the period of I pictures.
    let anchor: UInt32

    init(_ structure: GOPStructure) {
        let interval: Int?
        switch structure.randomAccess {
        case .closed(let frames):
            interval = frames
            idr = Self.period(frames)
        case .open(let frames):
            interval = frames
            idr = Self.longest
        case .intraRefresh:
            interval = nil
            idr = Self.longest
        }
        intra = Self.period(interval)
        anchor = min(UInt32(clamping: structure.consecutiveBFrames + 1), intra)
    }

    private static func period(_ frames: Int?) -> UInt32 {
        frames.map { min(UInt32(clamping: $0), longest) } ?? longest
    }
}
