// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// Ends tracks of MP4 and QuickTime before the end of their last sample, by their edit lists (ISO/IEC 14496-12 8.6.6).
///
/// libavformat's muxer can skip the beginning of a track in this way, but lets each track end with its last sample. The
/// last samples of a part of a file may be needed only to decode others, and the last packet of audio may be longer than
/// the audio.
enum EditLists {
    /// A number in a file, and where it is.
    struct Field: Equatable {
        var offset: Int
        var byteCount: Int
        var value: UInt64
    }

    /// Shortens the edit lists of a complete file.
    ///
    /// - Parameter ends: The end of each stream of the muxer; `nil` leaves its track as it is.
    /// - Throws: `inputOutput` if the file cannot be read or written; `malformedData` if it has no index.
    static func end(tracks ends: [MediaTime?], in file: OutputFile) throws(MediaError) {
        guard let movie = try SampleEntry.firstBox("moov", in: file) else {
            throw MediaError(.malformedData, "the output file has no index", given: file.path)
        }
        let bytes = try file.read(Int(clamping: movie.upperBound - movie.lowerBound), at: movie.lowerBound)
        for field in changes(in: bytes[...], ends: ends) {
            _ = try file.seek(to: movie.lowerBound + Int64(field.offset), from: SEEK_SET)
            try file.write((0..<field.byteCount).reversed().map { UInt8(truncatingIfNeeded: field.value >> (8 * $0)) })
        }
        _ = try file.seek(to: 0, from: SEEK_END)
    }

    /// Returns the numbers of a movie box that have to be replaced, with their new values.
    static func changes(in movie: ArraySlice<UInt8>, ends: [MediaTime?]) -> [Field] {
        let boxes = SampleEntry.boxes(in: movie)
        // `timescale` and `duration` follow the version and two times: 8.2.2.
        guard let header = boxes.first(where: { $0.type == "mvhd" })?.contents,
            let timescale = number(header, isLong(header) ? 20 : 12, 4)?.value, timescale > 0,
            let movieDuration = number(header, isLong(header) ? 24 : 16, isLong(header) ? 8 : 4)
        else { return [] }
        var (fields, durations): ([Field], [UInt64]) = ([], [])
        for track in boxes where track.type == "trak" {
            let inside = SampleEntry.boxes(in: track.contents)
            // After the version and two times, the track's number, a reserved number and the duration: 8.3.2. libavformat
            // writes no track for a stream without packets, but numbers tracks as streams, from 1.
            guard let header = inside.first(where: { $0.type == "tkhd" })?.contents,
                let identifier = number(header, isLong(header) ? 20 : 12, 4)?.value,
                var duration = number(header, isLong(header) ? 28 : 20, isLong(header) ? 8 : 4)
            else { continue }
            let isStream = identifier > 0 && identifier <= UInt64(ends.count)
            let end = isStream ? ends[Int(identifier) - 1] : nil
            let limit = end.flatMap { $0.isValid ? $0.converted(to: Int32(clamping: timescale)).value : nil }
            if let limit, limit >= 0, UInt64(limit) < duration.value, let last = lastDuration(in: inside) {
                let excess = min(duration.value - UInt64(limit), last.value)
                duration.value -= excess
                fields += [duration, Field(offset: last.offset, byteCount: last.byteCount, value: last.value - excess)]
            }
            durations.append(duration.value)
        }
        if !fields.isEmpty, let longest = durations.max(), longest < movieDuration.value {
            fields.append(Field(offset: movieDuration.offset, byteCount: movieDuration.byteCount, value: longest))
        }
        return fields
    }

    /// Returns `segment_duration` of a track's last edit; `nil` if it has none.
    private static func lastDuration(in track: [(type: String, contents: ArraySlice<UInt8>)]) -> Field? {
        guard let edits = track.first(where: { $0.type == "edts" })?.contents,
            let list = SampleEntry.boxes(in: edits).first(where: { $0.type == "elst" })?.contents,
            let count = number(list, 4, 4)?.value, count > 0, count < 1 << 20
        else { return nil }
        let size = isLong(list) ? 20 : 12
        return number(list, 8 + (Int(count) - 1) * size, isLong(list) ? 8 : 4)
    }

    /// Whether a box has version 1, with durations of 64 bits.
    private static func isLong(_ box: ArraySlice<UInt8>) -> Bool { box.first == 1 }

    private static func number(_ box: ArraySlice<UInt8>, _ position: Int, _ byteCount: Int) -> Field? {
        guard position + byteCount <= box.count else { return nil }
        let start = box.startIndex + position
        let value = SampleEntry.bigEndian(box[start..<start + byteCount])
        return Field(offset: start, byteCount: byteCount, value: value)
    }
}
