// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
package import MediaTypes

/// Makes samples of the packets of one H.264 or HEVC stream: parameter sets are taken out of the data, and stand in the
/// format descriptions of the samples.
struct PacketSampler {
    /// The format of the next sample, unless it brings its own parameter sets.
    private(set) var format: FormatDescription

    private let codec: VideoCodec
    private let framing: NALUnitFraming
    private var sets: ParameterSetList
    private let properties: ContainerProperties?
    private var isFirst = true
    private var hasFormatChanged = false

    /// What the container states about the pictures. The stream's own colour and HDR metadata take precedence.
    struct ContainerProperties {
        var color: ColorDescription
        /// `nil` if it states none.
        var pixelAspectRatio: Rational?
        var attachments: PixelAttachments
    }

    /// - Parameter properties: What the container states; `nil` leaves that to the parameter sets.
    /// - Throws: `malformedData` if there are no parameter sets, or they cannot be read.
    init(_ track: MediaTrack, _ codec: VideoCodec, _ properties: ContainerProperties? = nil) throws(MediaError) {
        self.codec = codec
        self.properties = properties
        (framing, sets) = try NALUnitRewriter.configuration(of: track, codec)
        format = try FormatDescription(codec: codec, parameterSets: sets.units).completed(by: properties)
    }

    /// Returns the sample of a packet; `nil` if it has no picture.
    ///
    /// - Throws: An error if its NAL units cannot be found.
    mutating func sample(of packet: MediaPacket) throws(BitstreamError) -> SampleBuffer? {
        let bytes = UnsafeRawBufferPointer(start: packet.packet.pointee.data, count: packet.byteCount)
        var (units, haveSets, isKeyFrame, hasPicture): ([Range<Int>], Bool, Bool, Bool) = ([], false, false, false)
        for unit in try framing.nalUnits(in: bytes) {
            let header = try codec.nalUnitHeader(of: bytes[unit])
            if header.isParameterSet {
                sets.add(Array(bytes[unit]))
                haveSets = true
                continue
            }
            units.append(unit)
            if header.isVideoCodingLayer { (hasPicture, isKeyFrame) = (true, isKeyFrame || header.isIDR) }
        }
        if haveSets, sets.units != format.parameterSets { changeFormat() }
        guard hasPicture else { return nil }
        defer { isFirst = false }
        let hasChanged = isFirst || hasFormatChanged
        hasFormatChanged = false
        return SampleBuffer(
            data: data(packet, bytes, units),
            presentationTime: packet.presentationTime,
            decodeTime: packet.decodeTime,
            duration: packet.duration,
            isKeyFrame: isKeyFrame,
            formatDescription: format,
            formatDescriptionChanged: hasChanged
        )
    }

    /// Sets that cannot be parsed are left to the decoder.
    private mutating func changeFormat() {
        let parsed = try? FormatDescription(codec: codec, parameterSets: sets.units).completed(by: properties)
        format = parsed ?? format.with(parameterSets: sets.units)
        hasFormatChanged = true
    }

    /// The units with prefixes of four bytes; a packet that has these is passed on without a copy.
    private func data(_ packet: MediaPacket, _ bytes: UnsafeRawBufferPointer, _ units: [Range<Int>]) -> CodedData {
        let size = units.reduce(0) { $0 + 4 + $1.count }
        if framing == .lengthPrefixed(.four), size == bytes.count, let base = bytes.baseAddress {
            return CodedData(noCopy: UnsafeMutableRawPointer(mutating: base), count: size) { _ in
                withExtendedLifetime(packet) {}
            }
        }
        return CodedData(capacity: size) { memory in
            var position = 0
            for unit in units {
                memory.storeBytes(of: UInt32(clamping: unit.count).bigEndian, toByteOffset: position, as: UInt32.self)
                let target = UnsafeMutableRawBufferPointer(rebasing: memory[(position + 4)...])
                target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[unit]))
                position += 4 + unit.count
            }
            return position
        }
    }
}

extension FormatDescription {
    /// Returns the description with what only the container states.
    fileprivate func completed(by container: PacketSampler.ContainerProperties?) -> FormatDescription {
        guard let container else { return self }
        var color = color
        if color.primaries == .unspecified { color.primaries = container.color.primaries }
        if color.transfer == .unspecified { color.transfer = container.color.transfer }
        if color.matrix == .unspecified { color.matrix = container.color.matrix }
        if color.range == .unspecified { color.range = container.color.range }
        return FormatDescription(
            codec: codec,
            width: width,
            height: height,
            parameterSets: parameterSets,
            color: color,
            pixelAspectRatio: container.pixelAspectRatio ?? pixelAspectRatio,
            attachments: container.attachments
        )
    }
}

extension MediaPacket {
    /// The decode time; invalid if the input does not specify it.
    package var decodeTime: MediaTime {
        let time = packet.pointee.dts
        guard time != ffmpeg_no_pts else { return .invalid }
        return .rational(time, numerator: Int64(track.timeBase.num), denominator: Int64(track.timeBase.den))
    }
}
