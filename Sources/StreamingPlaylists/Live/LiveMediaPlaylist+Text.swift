// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

extension LiveMediaPlaylist {
    /// The playlist as text.
    ///
    /// - Parameters:
    ///   - reports: How far the other playlists of the presentation are, one for each.
    ///   - skipping: What is left out, for a client that has the playlist of up to half a skip boundary ago. If
    ///     nothing can be, or the playlist has ended, the whole playlist is returned.
    public func text(reports: [Report] = [], skipping: DeltaUpdate? = nil) -> String {
        let skipped = skipping == nil ? 0 : skippableCount
        var lines = header(version: version(skipped, skipping))
        if skipped > 0 {
            var attributes = [PlaylistAttribute("SKIPPED-SEGMENTS", skipped)]
            // Required by 4.4.5.2 in a response to v2; this playlist has no date ranges.
            if skipping == .segmentsAndDateRanges {
                attributes.append(PlaylistAttribute("RECENTLY-REMOVED-DATERANGES", quoted: ""))
            }
            lines.append(PlaylistText.tag("EXT-X-SKIP", attributes))
        }
        for (index, segment) in segments.enumerated().dropFirst(skipped) {
            if index > 0, let text = segment.text {
                lines.append(text)
            } else {
                lines += Self.lines(segment, hasMap: segment.hasOwnMap || index == 0)
            }
        }
        if let open, open.partCount > 0 {
            lines += Self.lines(open, hasMap: open.hasOwnMap || segments.isEmpty)
        }
        if isEnded { lines.append("#EXT-X-ENDLIST") } else { lines += hintLines + reports.map(\.line) }
        return lines.joined(separator: "\n") + "\n"
    }

    /// rfc8216bis 8.
    private func version(_ skipped: Int, _ skipping: DeltaUpdate?) -> Int {
        guard skipped > 0 else { return options.version }
        return skipping == .segmentsAndDateRanges ? 10 : 9
    }

    private func header(version: Int) -> [String] {
        var lines = ["#EXTM3U", "#EXT-X-VERSION:\(version)", "#EXT-X-TARGETDURATION:\(options.targetDuration)"]
        let control = options.serverControl
        if !control.isEmpty { lines.append(PlaylistText.tag("EXT-X-SERVER-CONTROL", control)) }
        if let partTarget = options.partTarget {
            let attribute = PlaylistAttribute("PART-TARGET", partTarget.playlistText)
            lines.append(PlaylistText.tag("EXT-X-PART-INF", [attribute]))
        }
        lines.append("#EXT-X-MEDIA-SEQUENCE:\(firstNumber)")
        // Rule 8.17 of Apple's authoring specification: always, as a discontinuity may come.
        lines.append("#EXT-X-DISCONTINUITY-SEQUENCE:\(discontinuityNumber)")
        if options.window == .event { lines.append("#EXT-X-PLAYLIST-TYPE:EVENT") }
        if options.isIndependent { lines.append("#EXT-X-INDEPENDENT-SEGMENTS") }
        return lines
    }

    /// rfc8216bis 6.2.5.1: the number of segments that are further from the end of the last one than the skip boundary.
    private var skippableCount: Int {
        guard let boundary = options.boundary, !isEnded, let end = segments.last?.end else { return 0 }
        return segments.firstIndex { end - $0.end <= boundary } ?? 0
    }

    /// - Parameter hasMap: Whether the initialization section is named although there is no discontinuity.
    static func lines(_ segment: Segment, hasMap: Bool) -> [String] {
        var lines = segment.isDiscontinuity ? ["#EXT-X-DISCONTINUITY"] : []
        if let map = segment.initialization, hasMap || segment.isDiscontinuity {
            lines.append(PlaylistText.tag("EXT-X-MAP", attributes(map)))
        }
        lines.append("#EXT-X-PROGRAM-DATE-TIME:\(segment.date)")
        // Times are rounded, not durations, so that sums of durations are exact to a microsecond.
        var (time, written) = (segment.start, segment.start.microseconds())
        for part in segment.parts {
            time = time + part.duration
            let end = time.microseconds()
            lines.append(line(part, PlaylistText.decimal(end - written, places: 6)))
            written = end
        }
        guard !segment.path.isEmpty else { return lines }
        if segment.isMissing { lines.append("#EXT-X-GAP") }
        let duration = segment.end.microseconds() - segment.start.microseconds()
        lines.append("#EXTINF:\(PlaylistText.decimal(duration, places: 6)),")
        lines.append(PlaylistText.reference(to: segment.path))
        return lines
    }

    private static func attributes(_ resource: PlaylistResource) -> [PlaylistAttribute] {
        var attributes = [PlaylistAttribute("URI", quoted: PlaylistText.reference(to: resource.path))]
        if let bytes = resource.bytes {
            attributes.append(PlaylistAttribute("BYTERANGE", quoted: PlaylistText.range(bytes)))
        }
        return attributes
    }

    private static func line(_ part: Part, _ duration: String) -> String {
        var attributes = [PlaylistAttribute("DURATION", duration)] + attributes(part.resource)
        if part.isIndependent { attributes.append(PlaylistAttribute("INDEPENDENT", "YES")) }
        if part.isMissing { attributes.append(PlaylistAttribute("GAP", "YES")) }
        return PlaylistText.tag("EXT-X-PART", attributes)
    }

    private var hintLines: [String] {
        var lines: [String] = []
        // The initialization section of a segment that is about to begin. It comes first, because some readers keep
        // only the last hint.
        if let open, open.partCount == 0, open.hasOwnMap, let map = open.initialization {
            var attributes = [
                PlaylistAttribute("TYPE", "MAP"),
                PlaylistAttribute("URI", quoted: PlaylistText.reference(to: map.path)),
            ]
            if let bytes = map.bytes {
                attributes.append(PlaylistAttribute("BYTERANGE-START", bytes.lowerBound))
                attributes.append(PlaylistAttribute("BYTERANGE-LENGTH", bytes.count))
            }
            lines.append(PlaylistText.tag("EXT-X-PRELOAD-HINT", attributes))
        }
        if let hint {
            var attributes = [
                PlaylistAttribute("TYPE", "PART"),
                PlaylistAttribute("URI", quoted: PlaylistText.reference(to: hint.path)),
            ]
            if let first = hint.firstByte { attributes.append(PlaylistAttribute("BYTERANGE-START", first)) }
            lines.append(PlaylistText.tag("EXT-X-PRELOAD-HINT", attributes))
        }
        return lines
    }
}

extension LiveMediaPlaylist.Report {
    fileprivate var line: String {
        var attributes = [
            PlaylistAttribute("URI", quoted: PlaylistText.reference(to: path)), PlaylistAttribute("LAST-MSN", number),
        ]
        if let part { attributes.append(PlaylistAttribute("LAST-PART", part)) }
        return PlaylistText.tag("EXT-X-RENDITION-REPORT", attributes)
    }
}
