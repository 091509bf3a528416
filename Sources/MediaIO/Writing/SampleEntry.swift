// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import Glibc
internal import MediaTypes

/// The sample entry of a video track in MP4 and QuickTime (ISO/IEC 14496-12 8.5.2), which defines where parameter sets
/// are stored.
///
/// `avc1` and `hvc1`: all of them are in the sample entry, whether or not samples repeat them, as Apple requires.
/// `avc3` and `hev1`: samples may contain them as well (ISO/IEC 14496-15 5.4.2, 8.4.1).
enum SampleEntry {
    /// Returns the four-character type of the box.
    static func type(of codec: VideoCodec, inBand: Bool) -> String {
        switch codec {
        case .h264: inBand ? "avc3" : "avc1"
        case .hevc: inBand ? "hev1" : "hvc1"
        }
    }

    /// Returns a four-character code as FFmpeg stores it: the first character in the lowest byte.
    static func tag(_ type: String) -> UInt32 {
        type.utf8.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Changes `avc1` to `avc3` and `hvc1` to `hev1` in a complete file, and clears `array_completeness` of the
    /// latter's parameter sets (ISO/IEC 14496-15 8.3.3.1.3).
    ///
    /// libavformat's muxer writes the type before the first sample, when a later change of parameter sets is unknown.
    ///
    /// - Throws: `inputOutput` if the file cannot be read or written; `malformedData` if it has no sample entry.
    static func allowInBandParameterSets(in file: OutputFile) throws(MediaError) {
        guard let movie = try firstBox("moov", in: file) else {
            throw MediaError(.malformedData, "the output file has no index", given: file.path)
        }
        let bytes = try file.read(Int(clamping: movie.upperBound - movie.lowerBound), at: movie.lowerBound)
        for (offset, bytes) in replacements(in: bytes[...]) {
            _ = try file.seek(to: movie.lowerBound + Int64(offset), from: SEEK_SET)
            try file.write(bytes)
        }
        _ = try file.seek(to: 0, from: SEEK_END)
    }

    /// Returns the changes to the contents of a movie box: the types of video sample entries, and the completeness of
    /// their parameter sets.
    static func replacements(in movie: ArraySlice<UInt8>) -> [(offset: Int, bytes: [UInt8])] {
        let path = ["trak", "mdia", "minf", "stbl", "stsd"]
        let descriptions = path.reduce([movie]) { parents, type in
            parents.flatMap { boxes(in: $0).filter { $0.type == type }.map(\.contents) }
        }
        // The version, flags and number of entries precede the entries: 8.5.2.2.
        return descriptions.flatMap { boxes(in: $0.dropFirst(8)) }.flatMap { entry -> [(offset: Int, bytes: [UInt8])] in
            guard let codec = VideoCodec.allCases.first(where: { type(of: $0, inBand: false) == entry.type }) else {
                return []
            }
            let change = (entry.contents.startIndex - 4, Array(type(of: codec, inBand: true).utf8))
            return [change] + incompleteArrays(in: entry.contents)
        }
    }

    /// The number of bytes of a visual sample entry before its boxes (ISO/IEC 14496-12 12.1.3.2).
    private static let visualEntrySize = 78

    /// Returns the first bytes of those arrays of a sample entry's `hvcC` (ISO/IEC 14496-15 8.3.3.1.2) that are marked
    /// as complete, with this mark cleared.
    private static func incompleteArrays(in entry: ArraySlice<UInt8>) -> [(offset: Int, bytes: [UInt8])] {
        guard let record = boxes(in: entry.dropFirst(visualEntrySize)).first(where: { $0.type == "hvcC" })?.contents,
            record.count > 22
        else { return [] }
        var found: [(offset: Int, bytes: [UInt8])] = []
        var rest = record.dropFirst(22)
        for _ in 0..<(rest.popFirst() ?? 0) {
            guard rest.count >= 3 else { break }
            let start = rest.startIndex
            if rest[start] & 0x80 != 0 { found.append((start, [rest[start] & 0x7F])) }
            let count = bigEndian(rest[(start + 1)..<(start + 3)])
            rest = rest.dropFirst(3)
            for _ in 0..<count where rest.count >= 2 { rest = rest.dropFirst(2 + Int(bigEndian(rest.prefix(2)))) }
        }
        return found
    }

    /// Returns the boxes in a sequence of bytes, up to the first one that exceeds it.
    static func boxes(in bytes: ArraySlice<UInt8>) -> [(type: String, contents: ArraySlice<UInt8>)] {
        var found: [(type: String, contents: ArraySlice<UInt8>)] = []
        var rest = bytes
        while rest.count >= 8 {
            let size = Int(bigEndian(rest.prefix(4)))
            guard size >= 8, size <= rest.count else { break }
            let start = rest.startIndex
            found.append((string(rest[(start + 4)..<(start + 8)]), rest[(start + 8)..<(start + size)]))
            rest = rest.dropFirst(size)
        }
        return found
    }

    /// Returns the range of the contents of the first box of a type at the top level of a file.
    static func firstBox(_ wanted: String, in file: OutputFile) throws(MediaError) -> Range<Int64>? {
        var position: Int64 = 0
        while true {
            let header = try file.read(16, at: position)
            guard header.count >= 8 else { return nil }
            let short = bigEndian(header[0..<4])
            let isLong = short == 1 && header.count == 16
            let size = Int64(clamping: isLong ? bigEndian(header[8..<16]) : short)
            let headerSize: Int64 = isLong ? 16 : 8
            guard size >= headerSize else { return nil }
            if string(header[4..<8]) == wanted { return position + headerSize..<position + size }
            position += size
        }
    }

    static func bigEndian(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func string(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }
}
