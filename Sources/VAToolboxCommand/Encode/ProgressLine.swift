// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import MediaTypes
import Transcoding

/// A line that shows the progress of the work, fitted to a width.
struct ProgressLine {
    let progress: TranscodeProgress
    /// The seconds since the work began.
    let elapsed: Double

    /// Returns the line in at most `width` columns; the least important parts are dropped first.
    func text(width: Int) -> String {
        var shown = fields
        while shown.count > 1, Self.line(shown).count > width {
            guard let least = shown.indices.max(by: { shown[$0].rank < shown[$1].rank }) else { break }
            shown.remove(at: least)
        }
        return String(Self.line(shown).prefix(max(width, 0)))
    }

    private struct Field {
        var text: String
        /// The importance of the part; 0 is dropped last.
        var rank: Int
    }

    private static func line(_ fields: [Field]) -> String { fields.map(\.text).joined(separator: "  ") }

    private var fields: [Field] {
        if progress.framesIn == 0, let measured = progress.measuredTime {
            return [
                Field(text: "measuring loudness", rank: 0), Field(text: Readable.clock(measured.seconds), rank: 1),
            ]
        }
        if progress.framesIn == 0, let search = progress.search {
            let quality = Readable.number(search.quality, places: 1)
            return [
                Field(text: "searching the quality", rank: 0),
                Field(text: "try \(search.attempt), quality \(quality)", rank: 1),
                Field(text: Readable.clock(search.time.seconds), rank: 2),
            ]
        }
        if let verified = progress.verifiedTime {
            return [Field(text: "verifying", rank: 0), Field(text: Readable.clock(verified.seconds), rank: 1)]
        }
        var fields: [Field] = []
        if let share { fields.append(Field(text: "\(Readable.number(share * 100, places: 0)) %", rank: 1)) }
        fields.append(Field(text: "\(Readable.count(progress.framesIn, "frame"))", rank: 0))
        if let expected = progress.expectedDuration {
            let times = "\(Readable.clock(progress.time.seconds)) of \(Readable.clock(expected.seconds))"
            fields.append(Field(text: times, rank: 5))
        } else {
            fields.append(Field(text: Readable.clock(progress.time.seconds), rank: 5))
        }
        if elapsed > 0 {
            let rate = Double(progress.framesIn) / elapsed
            fields.append(Field(text: "\(Readable.number(rate, places: rate < 10 ? 1 : 0)) fps", rank: 3))
            fields.append(Field(text: "\(Readable.number(progress.time.seconds / elapsed, places: 2))x", rank: 4))
        }
        if let bitRate { fields.append(Field(text: Readable.bitRate(bitRate), rank: 6)) }
        if let remaining { fields.append(Field(text: "\(Readable.clock(remaining)) left", rank: 2)) }
        return fields
    }

    /// The completed share of the work, 0...1.
    private var share: Double? {
        if let frames = progress.expectedFrames, frames > 0 {
            return min(Double(progress.framesIn) / Double(frames), 1)
        }
        guard let expected = progress.expectedDuration?.seconds, expected > 0 else { return nil }
        return min(progress.time.seconds / expected, 1)
    }

    /// The remaining seconds at the current speed; `nil` until it can be estimated.
    private var remaining: Double? {
        guard let share, share > 0, elapsed >= 1 else { return nil }
        return elapsed * (1 - share) / share
    }

    /// The bitrate of the output, which lags behind the input.
    private var bitRate: Double? {
        guard progress.framesOut > 0, progress.framesIn > 0 else { return nil }
        let seconds = progress.time.seconds * Double(progress.framesOut) / Double(progress.framesIn)
        return seconds > 0 ? Double(progress.bytesOut) * 8 / seconds : nil
    }
}

extension TranscodeProgress: RunProgress {
    func line(elapsed: Double, width: Int) -> String {
        ProgressLine(progress: self, elapsed: elapsed).text(width: width)
    }

    var hasBegun: Bool { framesOut > 0 }

    var members: JSON.KeyValuePairs {
        if framesIn == 0, let search {
            return [
                "phase": .string("searching"), "time": .number(search.time.seconds), "expectedDuration": .null,
                "framesIn": .integer(search.encodedPictures), "expectedFrames": .null,
                "framesOut": .integer(search.measuredPictures), "bytes": .integer(0), "written": .integer(0),
                "device": .null,
            ]
        }
        if framesIn == 0, let examinedBytes {
            return [
                "phase": .string("examining"), "time": .number(0), "expectedDuration": .null, "framesIn": .integer(0),
                "expectedFrames": .null, "framesOut": .integer(0), "bytes": .integer(0),
                "written": .integer(Int(examinedBytes)), "device": .null,
            ]
        }
        let measured = framesIn == 0 ? measuredTime : nil
        let phase = verifiedTime != nil ? "verifying" : measured != nil ? "measuring" : "encoding"
        return [
            "phase": .string(phase), "time": .number((verifiedTime ?? measured ?? time).seconds),
            "expectedDuration": JSON(expectedDuration?.seconds),
            "framesIn": .integer(framesIn), "expectedFrames": JSON(expectedFrames),
            "framesOut": .integer(framesOut), "bytes": .integer(bytesOut), "written": .integer(Int(bytesWritten)),
            "device": JSON(device),
        ]
    }
}
