// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import MediaTypes
import StreamingPlaylists
import Transcoding

extension StreamReport {
    /// Returns the closing lines for people.
    func summary(width: Int) -> String {
        var page = TextPage(width: width)
        let counts = [
            Readable.count(variants.count, "variant"), Readable.count(audio.count, "audio rendition"),
            Readable.count(variants.first?.segmentCount ?? 0, "segment") + " each",
        ]
        page.entry("playlist", "\(path), \(counts.joined(separator: ", ")), target duration \(targetDuration) s")
        for rendition in variants + audio {
            let rates = rendition.bitRates
            page.entry(
                "",
                "\(rendition.path), \(rendition.codec), \(Readable.bitRate(Double(rates.average))) on average, "
                    + "peak \(Readable.bitRate(Double(rates.peak)))"
            )
        }
        if let dashPath { page.entry("dash", dashPath) }
        return page.text
    }

    /// The document for programs.
    var document: JSON {
        .object([
            "path": .string(path),
            "dashPath": JSON(dashPath),
            "targetDuration": .integer(targetDuration),
            "variants": .array(variants.map(\.document)),
            "audio": .array(audio.map(\.document)),
        ])
    }
}

extension StreamReport.Rendition {
    fileprivate var document: JSON {
        .object([
            "path": .string(path),
            "codec": .string(codec),
            "segments": .integer(segmentCount),
            "bytes": .integer(byteCount),
            "duration": JSON(duration.seconds),
            "averageBitRate": .integer(bitRates.average),
            "peakBitRate": .integer(bitRates.peak),
        ])
    }
}
