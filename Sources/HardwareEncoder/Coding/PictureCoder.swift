// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CLibVA
internal import GOPPlanning
internal import MediaTypes
internal import VAAPI

/// The codec-specific part of an active encoder: numbers planned pictures and writes their parameters for the driver.
protocol PictureCoder: Sendable {
    /// The stream that it encodes.
    associatedtype Stream: CodedStream where Stream.Coder == Self
    /// A picture with the codec's numbers.
    associatedtype Picture: NumberedPicture

    init(_ setup: EncoderSetup<Stream>) throws(MediaError)

    var setup: EncoderSetup<Stream> { get }
    /// VPS and SPS, each with a start code.
    var packedSequence: [UInt8] { get }
    /// PPS with a start code.
    var packedPicture: [UInt8] { get }

    /// Changes the rate that IDR pictures signal.
    mutating func change(_ rate: RatePlan)
    /// Numbers the next picture in coding order.
    ///
    /// - Parameter quantizer: The quantizer of the picture, or the initial one of the rate control.
    mutating func picture(_ planned: PlannedPicture, quantizer: Int) -> Picture

    /// Appends the sequence parameters.
    func appendSequence(to list: inout ParameterList)
    /// Appends the picture parameters.
    func appendPicture(_ picture: Picture, _ surfaces: PictureSurfaces, to list: inout ParameterList)
    /// Appends the parameters of one slice.
    func appendSlice(
        _ picture: Picture,
        _ blocks: Range<Int>,
        _ surfaces: PictureSurfaces,
        to list: inout ParameterList
    )
    /// Returns the header of one slice without emulation prevention, and its length in bits.
    func sliceHeader(
        _ picture: Picture,
        _ blocks: Range<Int>
    ) throws(BitstreamError) -> (bytes: [UInt8], bitCount: Int)
}

/// A picture with codec-specific numbers, before surfaces are assigned.
protocol NumberedPicture: Sendable {
    var planned: PlannedPicture { get }
    /// The quantizer of its slices, 0...51; with rate control, the initial quantizer.
    var quantizer: Int { get }
    /// The reference pictures in the decoded picture buffer, by ``InputPicture/number``. Its parameters name their
    /// surfaces.
    var keptReferences: [Int64] { get }
}

extension NumberedPicture {
    var isIDR: Bool { planned.kind == .idr }
}

/// The surfaces and the buffer that a picture's parameters refer to.
struct PictureSurfaces {
    /// The surface that the picture is reconstructed into.
    var reconstruction: VASurfaceID
    /// The surfaces of all references in the decoded picture buffer, by ``InputPicture/number``.
    var references: [Int64: VASurfaceID]
    /// The coded buffer.
    var output: VABufferID
}

extension PictureCoder {
    /// Returns all parameters of a picture in the driver's order: sequence, picture, miscellaneous, headers, slices.
    /// Miscellaneous parameters follow the picture parameters because iHD relies on this order.
    ///
    /// - Parameters:
    ///   - picture: The picture.
    ///   - surfaces: The surfaces of the picture and its references, and its coded buffer.
    ///   - extra: NAL units before the slices. They are only sent to a driver that accepts them.
    ///   - miscellaneous: The miscellaneous parameters.
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

/// The periods of the plan, as in sequence parameters.
struct SequencePeriods {
    /// The substitute for an endless period, which VA-API cannot express. Drivers divide by it, and some store only 16
    /// bits.
    static let longest: UInt32 = 65535

    /// The period of I pictures.
    let intra: UInt32
    /// The period of IDR pictures.
    let idr: UInt32
    /// The distance of anchor pictures, which drivers relate to the period of I pictures.
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
