// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import MediaTypes

/// What a ``MediaSink`` hands its samples to, after it checked them.
protocol SampleWriter: AnyObject {
    /// Writes a video sample.
    ///
    /// - Parameters:
    ///   - sample: A valid sample with data.
    ///   - duration: The sample's duration, guessed if the sample does not say.
    ///   - withParameterSets: Whether its parameter sets go in front of it.
    func write(_ sample: SampleBuffer, duration: MediaTime, withParameterSets: Bool) throws(MediaError)

    /// Writes a packet of a track that the writer was made with.
    func write(_ packet: MediaPacket) throws(MediaError)

    /// Writes what remains. The file itself is left open.
    ///
    /// - Parameter parameterSetsHaveChanged: Whether any sample had other parameter sets than the first one.
    func finish(parameterSetsHaveChanged: Bool) throws(MediaError)
}

/// Writes nothing.
final class NullWriter: SampleWriter {
    func write(_ sample: SampleBuffer, duration: MediaTime, withParameterSets: Bool) throws(MediaError) {
        _ = try sample.accessUnitLayout()
    }

    func write(_ packet: MediaPacket) throws(MediaError) {}

    func finish(parameterSetsHaveChanged: Bool) throws(MediaError) {}
}

/// Writes a bare byte stream (Annex B). The kernel takes the bytes from where the encoder put them: start codes,
/// parameter sets and NAL units are gathered by one `writev`, no copy is made.
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
