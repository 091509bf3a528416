// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import MediaTypes

/// Writes the samples that a ``MediaSink`` has checked.
protocol SampleWriter: AnyObject {
    /// Writes a video sample.
    ///
    /// - Parameters:
    ///   - sample: A valid sample with data.
    ///   - duration: The sample's duration, estimated if the sample has none.
    ///   - withParameterSets: Whether to insert its parameter sets before it.
    func write(_ sample: SampleBuffer, duration: MediaTime, withParameterSets: Bool) throws(MediaError)

    /// Writes a packet of one of the writer's copied tracks.
    func write(_ packet: MediaPacket) throws(MediaError)

    /// Writes remaining data. The file stays open.
    ///
    /// - Parameter parameterSetsHaveChanged: Whether any sample had other parameter sets than the first one.
    func finish(parameterSetsHaveChanged: Bool) throws(MediaError)
}

/// A writer that discards all samples.
final class NullWriter: SampleWriter {
    func write(_ sample: SampleBuffer, duration: MediaTime, withParameterSets: Bool) throws(MediaError) {
        _ = try sample.accessUnitLayout()
    }

    func write(_ packet: MediaPacket) throws(MediaError) {}

    func finish(parameterSetsHaveChanged: Bool) throws(MediaError) {}
}

/// Writes a raw byte stream (Annex B). The kernel reads the bytes from the encoder's memory: one `writev` gathers start
/// codes, parameter sets and NAL units without a copy.
final class ByteStreamWriter: SampleWriter {
    private let file: OutputFile
    private let startCode = CodedData([0, 0, 0, 1])
    private var parameterSets = CodedData([])
    private var describedBy: FormatDescription?
    private var pieces: [iovec] = []

    init(file: OutputFile) {
        self.file = file
    }

    func write(_ sample: SampleBuffer, duration: MediaTime, withParameterSets: Bool) throws(MediaError) {
        let layout = try sample.accessUnitLayout()
        if withParameterSets { describe(sample.formatDescription) }
        try startCode.withUnsafeBytes { (startCode) throws(MediaError) in
            try parameterSets.withUnsafeBytes { (parameterSets) throws(MediaError) in
                try sample.data.withUnsafeBytes { (data) throws(MediaError) in
                    pieces.removeAll(keepingCapacity: true)
                    for (index, unit) in layout.units.enumerated() {
                        if withParameterSets, index == layout.parameterSetIndex { append(parameterSets) }
                        append(startCode)
                        append(UnsafeRawBufferPointer(rebasing: data[unit]))
                    }
                    try file.write(&pieces)
                }
            }
        }
    }

    func write(_ packet: MediaPacket) throws(MediaError) {}

    func finish(parameterSetsHaveChanged: Bool) throws(MediaError) {}

    private func append(_ bytes: UnsafeRawBufferPointer) {
        pieces.append(iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count))
    }

    private func describe(_ description: FormatDescription) {
        guard describedBy !== description else { return }
        describedBy = description
        parameterSets = CodedData(description.parameterSets.flatMap { [0, 0, 0, 1] + $0 })
    }
}

/// Writes the packets of one copied video track as a raw byte stream (Annex B).
final class PacketByteStreamWriter: SampleWriter {
    private let file: OutputFile
    private var rewriter: NALUnitRewriter

    /// - Throws: `unsupported` if the track has no NAL units; `malformedData` if its header cannot be parsed.
    init(file: OutputFile, track: MediaTrack, format: ContainerFormat) throws(MediaError) {
        self.file = file
        let carriage = ParameterSetCarriage(format, isStreamed: !file.isSeekable)
        guard let rewriter = try NALUnitRewriter(track, format: format, carriage: carriage) else {
            throw MediaError(.unsupported, "the track has no NAL units", given: track.codecName)
        }
        self.rewriter = rewriter
    }

    func write(_ sample: SampleBuffer, duration: MediaTime, withParameterSets: Bool) throws(MediaError) {}

    func write(_ packet: MediaPacket) throws(MediaError) {
        do throws(MediaError) {
            if let data = try rewriter.rewrite(packet) { try file.write(data) }
        } catch  where error.code == .malformedData {
            throw error.about(packet)
        }
    }

    func finish(parameterSetsHaveChanged: Bool) throws(MediaError) {}
}
