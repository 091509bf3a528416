// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// A WebVTT file with a thumbnail for each part of a video, as players show them above the time line: the text of a cue is
/// the address of a picture, with the part of it to show as a media fragment (`#xywh=x,y,width,height`).
package struct ThumbnailTrack: Sendable, Hashable {
    /// A part of the video, and its thumbnail.
    package struct Cue: Sendable, Hashable {
        /// When the part begins and ends.
        package var (start, end): (MediaTime, MediaTime)
        /// The path of the picture, relative to the file.
        package var path: String
        /// Position and size of the thumbnail in the picture, in pixels.
        package var (x, y, width, height): (Int, Int, Int, Int)

        package init(start: MediaTime, end: MediaTime, path: String, x: Int, y: Int, width: Int, height: Int) {
            (self.start, self.end, self.path) = (start, end, path)
            (self.x, self.y, self.width, self.height) = (x, y, width, height)
        }
    }

    /// The cues, in order.
    package var cues: [Cue]

    package init(cues: [Cue]) { self.cues = cues }

    /// The file. Parts that are shorter than a millisecond, which times cannot express, are left out.
    package var text: String {
        var text = "WEBVTT\n"
        for cue in cues {
            let (start, end) = (Self.thousandths(cue.start), Self.thousandths(cue.end))
            guard start < end else { continue }
            text += "\n\(Self.clock(start)) --> \(Self.clock(end))\n"
            text += "\(PlaylistText.reference(to: cue.path))#xywh=\(cue.x),\(cue.y),\(cue.width),\(cue.height)\n"
        }
        return text
    }

    private static func thousandths(_ time: MediaTime) -> Int64 { max(time.converted(to: 1000).value, 0) }

    /// `HH:MM:SS.mmm`.
    private static func clock(_ thousandths: Int64) -> String {
        func padded(_ value: Int64, _ count: Int) -> String {
            let digits = String(value)
            return String(repeating: "0", count: max(count - digits.count, 0)) + digits
        }
        let seconds = thousandths / 1000
        let (hours, minutes, rest) = (padded(seconds / 3600, 2), padded(seconds / 60 % 60, 2), padded(seconds % 60, 2))
        return "\(hours):\(minutes):\(rest).\(padded(thousandths % 1000, 3))"
    }
}
