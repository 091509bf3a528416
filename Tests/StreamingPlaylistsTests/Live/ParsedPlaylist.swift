// SPDX-License-Identifier: GPL-2.0-or-later

/// A media playlist as a player reads it. The reader is naive and independent of the writer: it knows lines and
/// attributes, and fails for everything else.
struct ParsedPlaylist: Equatable {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    struct Part: Equatable {
        var uri: String
        var range: String?
        var microseconds: Int
        var isIndependent = false
        var isMissing = false
    }

    struct Segment: Equatable {
        var uri = ""
        var microseconds = 0
        var map: String?
        var isDiscontinuity = false
        var isMissing = false
        var date: String?
        var parts: [Part] = []
        var discontinuityNumber = 0

        /// What never changes while the segment is listed.
        var lasting: Segment {
            var segment = self
            segment.parts = []
            return segment
        }
    }

    /// The lines before the first segment whose values never change.
    var constants: [String] = []
    var version = 0
    var firstNumber = 0
    var discontinuityNumber = 0
    var skipped: Int?
    var segments: [Segment] = []
    var open: Segment?
    var hints: [String] = []
    var reports: [String] = []
    var isEnded = false

    var lastNumber: Int { firstNumber + segments.count - 1 }
    var microseconds: Int {
        segments.reduce(0) { $0 + $1.microseconds } + (open?.parts.reduce(0) { $0 + $1.microseconds } ?? 0)
    }
    func segment(_ number: Int) -> Segment? {
        segments.indices.contains(number - firstNumber) ? segments[number - firstNumber] : nil
    }

    /// Reads a text; a delta update takes what it skips from an earlier playlist.
    init(_ text: String, after earlier: ParsedPlaylist? = nil) throws {
        guard text.hasPrefix("#EXTM3U\n"), text.hasSuffix("\n"), !text.contains("\n\n"), !text.contains("\r") else {
            throw Failure(description: "no playlist: \(text.prefix(100))")
        }
        var map: String?
        var (segment, isTouched) = (Segment(), false)
        for line in text.split(separator: "\n").dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            let (tag, value) = (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
            switch tag {
            case "#EXT-X-VERSION": version = try Self.number(value)
            case "#EXT-X-MEDIA-SEQUENCE": firstNumber = try Self.number(value)
            case "#EXT-X-DISCONTINUITY-SEQUENCE": discontinuityNumber = try Self.number(value)
            case "#EXT-X-TARGETDURATION", "#EXT-X-SERVER-CONTROL", "#EXT-X-PART-INF", "#EXT-X-PLAYLIST-TYPE",
                "#EXT-X-INDEPENDENT-SEGMENTS":
                constants.append(String(line))
            case "#EXT-X-SKIP":
                let count = try Self.number(try Self.attributes(value)["SKIPPED-SEGMENTS"] ?? "")
                skipped = count
                for number in firstNumber..<(firstNumber + count) {
                    guard let known = earlier?.segment(number) else {
                        throw Failure(description: "segment \(number) is skipped but unknown")
                    }
                    segments.append(known.lasting)
                    map = known.map
                }
            case "#EXT-X-PRELOAD-HINT": hints.append(value)
            case "#EXT-X-RENDITION-REPORT": reports.append(value)
            case "#EXT-X-ENDLIST": isEnded = true
            case "#EXT-X-DISCONTINUITY": (segment.isDiscontinuity, isTouched) = (true, true)
            case "#EXT-X-GAP": (segment.isMissing, isTouched) = (true, true)
            case "#EXT-X-PROGRAM-DATE-TIME": (segment.date, isTouched) = (value, true)
            case "#EXT-X-MAP":
                map = value
                isTouched = true
            case "#EXT-X-PART":
                segment.parts.append(try Self.part(value))
                segment.map = map
            case "#EXTINF":
                segment.microseconds = try Self.decimal(String(value.dropLast()))
                isTouched = true
            default:
                guard !line.hasPrefix("#") else { throw Failure(description: "unknown: \(line)") }
                segment.uri = String(line)
                segment.map = map
                segments.append(segment)
                (segment, isTouched) = (Segment(), false)
            }
        }
        if !segment.parts.isEmpty {
            open = segment
        } else if isTouched {
            throw Failure(description: "tags without a segment at the end")
        }
        var number = discontinuityNumber
        for index in segments.indices {
            if segments[index].isDiscontinuity { number += 1 }
            segments[index].discontinuityNumber = number
        }
        if let isDiscontinuity = open?.isDiscontinuity {
            open?.discontinuityNumber = number + (isDiscontinuity ? 1 : 0)
        }
    }

    private static func part(_ value: String) throws -> Part {
        let found = try attributes(value)
        guard let uri = found["URI"], let duration = found["DURATION"] else {
            throw Failure(description: "no part: \(value)")
        }
        return Part(
            uri: uri,
            range: found["BYTERANGE"],
            microseconds: try decimal(duration),
            isIndependent: found["INDEPENDENT"] == "YES",
            isMissing: found["GAP"] == "YES"
        )
    }

    static func attributes(_ text: String) throws -> [String: String] {
        var (found, rest): ([String: String], Substring) = ([:], text[...])
        while !rest.isEmpty {
            guard let equals = rest.firstIndex(of: "=") else { throw Failure(description: "no attribute: \(rest)") }
            let name = String(rest[..<equals])
            rest = rest[rest.index(after: equals)...]
            let isQuoted = rest.first == "\""
            if isQuoted { rest = rest.dropFirst() }
            guard let end = isQuoted ? rest.firstIndex(of: "\"") : rest.firstIndex(of: ",") ?? rest.endIndex else {
                throw Failure(description: "no end of a quoted string: \(rest)")
            }
            found[name] = String(rest[..<end])
            rest = rest[end...].drop { $0 == "\"" || $0 == "," }
        }
        return found
    }

    static func number(_ text: String) throws -> Int {
        guard let number = Int(text), number >= 0 else { throw Failure(description: "no number: \(text)") }
        return number
    }

    /// Returns millionths of a decimal number with at most six places.
    static func decimal(_ text: String) throws -> Int {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, (3...6).contains(parts[1].count), let whole = Int(parts[0]),
            let fraction = Int(parts[1] + String(repeating: "0", count: 6 - parts[1].count))
        else { throw Failure(description: "no decimal number: \(text)") }
        return whole * 1_000_000 + fraction
    }
}
