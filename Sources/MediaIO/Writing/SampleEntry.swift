// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import Glibc
internal import MediaTypes

/// The sample entry of a video track in MP4 and QuickTime (ISO/IEC 14496-12 8.5.2), which says where parameter sets are.
///
/// `avc1` and `hvc1`: all of them in the sample entry, whether or not samples repeat them; what Apple asks for. `avc3` and
/// `hev1`: in the samples as well (ISO/IEC 14496-15 5.4.2, 8.4.1).
enum SampleEntry {
    /// The type of the box.
    static func type(of codec: VideoCodec, inBand: Bool) -> String {
        switch codec {
        case .h264: inBand ? "avc3" : "avc1"
        case .hevc: inBand ? "hev1" : "hvc1"
        }
    }

    /// A four-character code as FFmpeg keeps it: the first character in the lowest byte.
    static func tag(_ type: String) -> UInt32 {
        type.utf8.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Turns `avc1` into `avc3` and `hvc1` into `hev1` in a file that is complete, with `array_completeness` of the latter's
    /// parameter sets 0 (ISO/IEC 14496-15 8.3.3.1.3).
    ///
    /// libavformat's muxer settles the type before the first sample, and cannot know then that parameter sets will change.
    ///
    /// - Throws: `inputOutput` if the file cannot be read or written; `malformedData` if it has no sample entry.
    static func allowInBandParameterSets(in file: OutputFile) throws(MediaError) {
        guard let movie = try firstBox("moov", in: file) else {
            throw MediaError(.malformedData, "the written file has no index", given: file.path)
        }
        let bytes = try file.read(Int(clamping: movie.upperBound - movie.lowerBound), at: movie.lowerBound)
        for (offset, bytes) in replacements(in: bytes[...]) {
            _ = try file.seek(to: movie.lowerBound + Int64(offset), from: SEEK_SET)
            try file.write(bytes)
        }
        _ = try file.seek(to: 0, from: SEEK_END)
    }

    /// What changes in the contents of a movie box, and where: types of video sample entries, and what they say of sets.
    static func replacements(in movie: ArraySlice<UInt8>) -> [(offset: Int, bytes: [UInt8])] {
        let path = ["trak", "mdia", "minf", "stbl", "stsd"]
        let descriptions = path.reduce([movie]) { parents, type in
            parents.flatMap { boxes(in: $0).filter { $0.type == type }.map(\.contents) }
        }
        // Version, flags and the number of entries come before the entries: 8.5.2.2.
        return descriptions.flatMap { boxes(in: $0.dropFirst(8)) }.flatMap { entry -> [(offset: Int, bytes: [UInt8])] in
            guard let codec = VideoCodec.allCases.first(where: { type(of: $0, inBand: false) == entry.type }) else {
                return []
            }
            let change = (entry.contents.startIndex - 4, Array(type(of: codec, inBand: true).utf8))
            return [change] + incompleteArrays(in: entry.contents)
        }
    }

    /// The bytes of a visual sample entry before its boxes (ISO/IEC 14496-12 12.1.3.2).
    private static let visualEntrySize = 78

    /// The first bytes of the arrays of a sample entry's `hvcC` (ISO/IEC 14496-15 8.3.3.1.2) that are told to be complete,
    /// as they are without that.
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

    /// The boxes in a run of bytes, up to the first one that does not fit.
    private static func boxes(in bytes: ArraySlice<UInt8>) -> [(type: String, contents: ArraySlice<UInt8>)] {
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

    /// The contents of the first box of a type at the top level of a file.
    private static func firstBox(_ wanted: String, in file: OutputFile) throws(MediaError) -> Range<Int64>? {
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

    private static func bigEndian(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func string(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }
}
