// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
internal import MediaTypes

/// Changes the framing of a copied H.264 or HEVC track to that of the output: start codes or length prefixes, and what
/// belongs to them, access unit delimiters and repeated parameter sets. All other NAL units stay as they are.
///
/// In a byte stream and a transport stream, every access unit begins with a delimiter (ISO/IEC 13818-1 2.14.1), and key
/// frames have parameter sets. With length prefixes, neither is needed: if they came from start codes, delimiters and
/// sets that repeat those of the header are left out. ``ParameterSetCarriage`` decides when sets are carried.
struct NALUnitRewriter {
    let codec: VideoCodec
    /// The framing of the input.
    let source: NALUnitFraming
    /// The framing of the output.
    let target: NALUnitFraming
    /// The parameter sets of the header.
    let header: ParameterSetList
    /// Whether any packet had other parameter sets than the header.
    private(set) var haveChanged = false

    private let carriage: ParameterSetCarriage
    private var current: ParameterSetList

    /// Makes a rewriter; `nil` for a track that has no NAL units.
    ///
    /// - Throws: `malformedData` if the header of the track cannot be parsed.
    init?(_ track: MediaTrack, format: ContainerFormat, carriage: ParameterSetCarriage) throws(MediaError) {
        guard track.kind == .video, let codec = VideoCodec(rawValue: track.codecName), format != .null else {
            return nil
        }
        let (source, header) = try Self.configuration(of: track, codec)
        self.init(codec: codec, source: source, header: header, format: format, carriage: carriage)
        guard target == .annexB || source != .annexB || !header.units.isEmpty else {
            throw MediaError(
                .malformedData,
                "the stream has no parameter sets",
                given: "track \(track.index) (\(track.codecName))",
                allowed: "a stream with SPS and PPS near its start"
            )
        }
    }

    /// Makes a rewriter.
    ///
    /// - Parameters:
    ///   - source: The framing of the input.
    ///   - header: The parameter sets of the input's header.
    init(
        codec: VideoCodec,
        source: NALUnitFraming,
        header: ParameterSetList,
        format: ContainerFormat,
        carriage: ParameterSetCarriage
    ) {
        (self.codec, self.source, self.header, self.carriage) = (codec, source, header, carriage)
        switch (format.framing, source) {
        case (.annexB, _): target = .annexB
        // The size of length prefixes is part of the header, which is kept.
        case (.lengthPrefixed, .lengthPrefixed): target = source
        case (.lengthPrefixed, .annexB): target = .lengthPrefixed(.four)
        }
        current = header
    }

    /// Returns the framing of a track's packets, and the parameter sets of its header.
    ///
    /// - Throws: `malformedData` if the header cannot be parsed.
    static func configuration(
        of track: MediaTrack,
        _ codec: VideoCodec
    ) throws(MediaError) -> (NALUnitFraming, ParameterSetList) {
        do throws(BitstreamError) {
            return try parse(track.configuration, codec)
        } catch {
            throw MediaError(
                .malformedData,
                "the parameter sets of a track cannot be read: \(error)",
                given: "track \(track.index) (\(track.codecName))"
            )
        }
    }

    private static func parse(
        _ record: [UInt8],
        _ codec: VideoCodec
    ) throws(BitstreamError) -> (NALUnitFraming, ParameterSetList) {
        let hasStartCode = record.withUnsafeBytes { NALUnitFraming.hasStartCode($0) }
        guard !record.isEmpty, !hasStartCode else {
            let units = try NALUnitFraming.annexB.nalUnits(in: record).map { Array(record[$0]) }
            return (.annexB, ParameterSetList(units, codec: codec))
        }
        switch codec {
        case .h264:
            let parsed = try AVCDecoderConfigurationRecord(bytes: record)
            let units = parsed.sequenceParameterSets + (parsed.high?.sequenceParameterSetExtensions ?? [])
            let list = ParameterSetList(units + parsed.pictureParameterSets, codec: codec)
            return (.lengthPrefixed(parsed.lengthSize), list)
        case .hevc:
            let parsed = try HEVCDecoderConfigurationRecord(bytes: record)
            return (
                .lengthPrefixed(parsed.lengthSize), ParameterSetList(parsed.arrays.flatMap(\.nalUnits), codec: codec)
            )
        }
    }

    /// Returns the data of a packet for the output; `nil` if it stays as it is.
    ///
    /// - Parameters:
    ///   - bytes: The data of the packet.
    ///   - isKeyFrame: Whether decoding can begin at it.
    /// - Throws: `malformedData` if NAL units cannot be found in it.
    mutating func rewrite(_ bytes: UnsafeRawBufferPointer, isKeyFrame: Bool) throws(MediaError) -> [UInt8]? {
        do throws(BitstreamError) {
            return try rewritten(bytes, isKeyFrame)
        } catch {
            // It can be copied as it is, damaged as it is.
            if source == target, target != .annexB { return nil }
            throw MediaError(.malformedData, "the NAL units of a packet cannot be parsed: \(error)")
        }
    }

    /// Returns the data of a packet for the output; `nil` if it stays as it is.
    mutating func rewrite(_ packet: MediaPacket) throws(MediaError) -> [UInt8]? {
        let properties = packet.packet.pointee
        return try rewrite(
            UnsafeRawBufferPointer(start: properties.data, count: Int(properties.size)),
            isKeyFrame: properties.flags & AV_PKT_FLAG_KEY != 0
        )
    }

    private mutating func rewritten(
        _ bytes: UnsafeRawBufferPointer,
        _ isKeyFrame: Bool
    ) throws(BitstreamError) -> [UInt8]? {
        let units = try source.nalUnits(in: bytes)
        var (delimiter, sets, pictures): (Range<Int>?, [[UInt8]], [Range<Int>]) = (nil, [], [])
        var others: [Range<Int>] = []
        for unit in units {
            let kind = try codec.nalUnitHeader(of: bytes[unit])
            if kind.isParameterSet {
                sets.append(Array(bytes[unit]))
            } else if !kind.isAccessUnitDelimiter {
                pictures.append(unit)
            }
            if kind.isAccessUnitDelimiter { delimiter = unit } else { others.append(unit) }
        }
        for set in sets { current.add(set) }
        if current != header { haveChanged = true }
        let isCarried = carriage.isCarried(byKeyFrame: isKeyFrame, haveChanged: haveChanged)
        let missing = isCarried ? current.units.filter { !sets.contains($0) } : []
        if source == target, target != .annexB, missing.isEmpty { return nil }
        var output: [ArraySlice<UInt8>] = []
        func append(_ ranges: [Range<Int>]) { for range in ranges { output.append(Array(bytes[range])[...]) } }
        switch target {
        case .annexB:
            if let delimiter {
                append([delimiter])
            } else if let first = others.first {
                output.append(codec.accessUnitDelimiter(before: bytes[first])[...])
            }
        case .lengthPrefixed where source != .annexB: if let delimiter { append([delimiter]) }
        case .lengthPrefixed: break
        }
        output += missing.map { $0[...] }
        let omitsSets = target != .annexB && source == .annexB && !isCarried && !haveChanged
        append(omitsSets ? pictures : others)
        return try target.join(output)
    }
}

extension NALUnitRewriter {
    /// Describes the track in the header of the output: the configuration record with parameter sets, and the type of
    /// the sample entry.
    func describe(
        _ parameters: UnsafeMutablePointer<AVCodecParameters>,
        in format: ContainerFormat
    ) throws(MediaError) {
        guard target != .annexB else {
            // The sets are in the stream.
            try parameters.setExtradata([])
            return
        }
        let inBandEntry = SampleEntry.tag(SampleEntry.type(of: codec, inBand: true))
        let isInBand = carriage.isInBand || parameters.pointee.codec_tag == inBandEntry
        parameters.pointee.codec_tag = format.sampleEntry(of: codec, inBand: isInBand)
        guard source == .annexB else {
            guard isInBand, codec == .hevc else { return }
            let record = UnsafeBufferPointer(
                start: parameters.pointee.extradata,
                count: Int(parameters.pointee.extradata_size)
            )
            guard var parsed = try? HEVCDecoderConfigurationRecord(bytes: Array(record)) else { return }
            for index in parsed.arrays.indices { parsed.arrays[index].isComplete = false }
            if let bytes = try? parsed.bytes() { try parameters.setExtradata(bytes) }
            return
        }
        let description = FormatDescription(
            codec: codec,
            width: Int(parameters.pointee.width),
            height: Int(parameters.pointee.height),
            parameterSets: header.units
        )
        try parameters.setExtradata(description.decoderConfigurationRecord(inBand: isInBand))
    }
}

extension MediaTrack {
    /// The configuration of the decoder, FFmpeg's `extradata`.
    var configuration: [UInt8] {
        Array(
            UnsafeBufferPointer(start: parameters.pointee.extradata, count: Int(parameters.pointee.extradata_size))
        )
    }
}
