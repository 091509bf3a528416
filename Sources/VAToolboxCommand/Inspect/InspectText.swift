// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import MediaIO
import MediaTypes

/// The report for people.
extension InspectOutcome {
    /// The metadata and chapters that are shown; `--json` has all of them.
    private static let (mostTexts, mostChapters) = (24, 40)

    /// Returns the report in lines of at most `width` columns.
    func text(width: Int) -> String {
        var page = TextPage(width: width)
        page.paragraph(Readable.oneLine(input), indentation: 0)
        page.entry("format", "\(report.formatTitle) (\(report.formatName))", indentation: 2)
        if let duration = report.duration {
            page.entry("duration", Readable.preciseClock(duration.seconds) + start, indentation: 2)
        }
        if let size = report.byteCount { page.entry("size", Readable.byteCount(size), indentation: 2) }
        if let rate = report.bitRate { page.entry("bitrate", Readable.bitRate(Double(rate)), indentation: 2) }
        if !report.metadata.isEmpty {
            page.line("")
            page.line("Metadata")
            page.add(report.metadata, indentation: 2, most: Self.mostTexts)
        }
        for track in report.tracks { page.add(track, of: report) }
        if !report.chapters.isEmpty { addChapters(to: &page) }
        page.line("")
        if report.problems.isEmpty {
            page.line("No problems found in the headers, the index and the beginning.")
        } else {
            page.line("Problems")
            page.list(report.problems.map { Readable.oneLine($0.text) }, indentation: 2)
        }
        return page.text
    }

    private var start: String {
        guard let start = report.startTime?.seconds, start != 0 else { return "" }
        return ", starts at \(Readable.number(start, places: 3)) s"
    }

    private func addChapters(to page: inout TextPage) {
        page.line("")
        page.line("Chapters")
        for (number, chapter) in report.chapters.prefix(Self.mostChapters).enumerated() {
            let time = Readable.preciseClock(chapter.start.seconds)
            let title = Readable.oneLine(chapter.title ?? "")
            page.entry("\(number + 1)", "\(time) \(title)", indentation: 2, nameWidth: 5)
        }
        let hidden = report.chapters.count - Self.mostChapters
        if hidden > 0 { page.line("\(hidden) more: see --json", indentation: 2) }
    }
}

extension TextPage {
    /// The characters of a key of metadata that are shown.
    private static let longestKey = 24

    fileprivate mutating func add(_ texts: [(key: String, value: String)], indentation: Int, most: Int) {
        let shown = texts.prefix(most).map { key, value in
            (Readable.oneLine(String(key.prefix(Self.longestKey))), Readable.shortened(Readable.oneLine(value)))
        }
        let nameWidth = max(Self.usualNameWidth, (shown.map(\.0.count).max() ?? 0) + 2)
        for (name, value) in shown { entry(name, value, indentation: indentation, nameWidth: nameWidth) }
        if texts.count > most { line("\(texts.count - most) more: see --json", indentation: indentation) }
    }

    fileprivate mutating func add(_ track: TrackReport, of report: MediaReport) {
        line("")
        let name = track.isCover ? "cover picture" : track.kind.rawValue
        let language = track.language == "und" ? nil : track.language
        let marks = [language, track.title.map { "\"\(Readable.oneLine($0))\"" }].compactMap { $0 }
        let shown = track.dispositions.filter { $0 != "attached_pic" }
        paragraph(
            (["Track \(track.index): \(name)"] + marks + shown).joined(separator: ", "),
            indentation: 0
        )
        entry("codec", track.codecText, indentation: 2)
        if let video = track.video { add(video, track) }
        if let audio = track.audio { entry("audio", audio.text, indentation: 2) }
        let isOther = track.duration != nil && track.duration?.seconds != report.duration?.seconds
        if isOther, let duration = track.duration {
            entry("duration", Readable.preciseClock(duration.seconds), indentation: 2)
        }
        if let rate = track.bitRate { entry("bitrate", Readable.bitRate(Double(rate)), indentation: 2) }
        if track.kind == .attachment { add(track.metadata, indentation: 2, most: 4) }
    }

    private mutating func add(_ video: VideoProperties, _ track: TrackReport) {
        entry("picture", video.sizeText, indentation: 2)
        if !track.isCover { entry("rate", video.rateText, indentation: 2) }
        entry("colour", video.colorText, indentation: 2)
        if let light = video.lightText { entry("light", light, indentation: 2) }
        if !track.isCover, let text = video.structureText { entry("structure", text, indentation: 2) }
    }
}

extension TrackReport {
    fileprivate var codecText: String {
        var parts = [codec ?? codecTag.map { "unknown (\($0))" } ?? "unknown"]
        if let profile { parts.append("profile \(profile)") }
        if let level { parts.append("level \(level)") }
        return parts.joined(separator: ", ")
    }
}

extension VideoProperties {
    fileprivate var sizeText: String {
        guard size.width > 0, size.height > 0 else { return "size not stated" }
        var parts = [size.text]
        if let codedSize, codedSize != size { parts.append("coded as \(codedSize.text)") }
        if let ratio = sampleAspectRatio, ratio != .one {
            parts.append("samples \(ratio.numerator):\(ratio.denominator)")
        }
        if orientation.isMirrored { parts.append("mirrored") }
        if orientation.rotation != 0 { parts.append("turned by \(orientation.rotation) degrees clockwise") }
        if displaySize != size { parts.append("shown as \(displaySize.text)") }
        return parts.joined(separator: ", ")
    }

    fileprivate var rateText: String {
        let kind = isVariableFrameRate ? "variable" : "constant"
        let scan = fieldOrder.map { $0 == .topFirst ? "interlaced, top field first" : "interlaced, bottom field first" }
        guard let frameRate else { return "unknown frame rate, \(scan ?? "progressive")" }
        let number = Readable.number(frameRate.doubleValue, places: 3)
        let exact = frameRate.denominator == 1 ? "\(frameRate.numerator)" : "\(number) (\(frameRate))"
        return "\(exact) frames/s, \(kind), \(scan ?? "progressive")"
    }

    fileprivate var colorText: String {
        var parts: [String] = []
        if let bitDepth { parts.append("\(bitDepth) bits") }
        if let chroma { parts.append(chroma) }
        parts.append(dynamicRange.name + (dynamicRange.profile.map { " profile \($0)" } ?? ""))
        let named = [
            ("primaries", primaries), ("transfer", transfer), ("matrix", matrix), ("range", range),
        ].compactMap { name, value in value.map { "\(name) \($0)" } }
        return (parts + (named.isEmpty ? ["colour not stated"] : named)).joined(separator: ", ")
    }

    fileprivate var lightText: String? {
        var parts: [String] = []
        if let display = masteringDisplay {
            let least = Readable.number(Double(display.minimumLuminance) / 10000, places: 4)
            let most = Readable.number(Double(display.maximumLuminance) / 10000, places: 0)
            parts.append("mastered at \(least) to \(most) cd/m²")
        }
        if let light = contentLight {
            parts.append("MaxCLL \(light.maximumContentLightLevel), MaxFALL \(light.maximumFrameAverageLightLevel)")
        }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    fileprivate var structureText: String? {
        var parts: [String] = []
        if let bFrames {
            parts.append(bFrames == 0 ? "no B-frames" : "up to \(Readable.count(bFrames, "B-frame")) in a row")
        }
        if let keyFrames {
            let place = "in the first \(Readable.count(keyFrames.pictures, "picture"))"
            if let interval = keyFrames.longestInterval {
                parts.append("key frames at most \(Readable.number(interval, places: 2)) s apart \(place)")
            } else {
                parts.append("\(Readable.count(keyFrames.count, "key frame")) \(place)")
            }
        }
        if hasCaptions { parts.append("closed captions") }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}

extension VideoProperties.Size {
    fileprivate var text: String { "\(width)x\(height)" }
}

extension AudioProperties {
    fileprivate var text: String {
        var parts = ["\(sampleRate) Hz", Readable.count(channels, "channel") + (layout.map { " (\($0))" } ?? "")]
        if let bitDepth { parts.append("\(bitDepth) bits") }
        if priming > 0 { parts.append("\(priming) samples of priming") }
        return parts.joined(separator: ", ")
    }
}

extension Readable {
    /// Returns a time in clock format with milliseconds: `0:07.040`, `1:02:03.000`.
    static func preciseClock(_ seconds: Double) -> String {
        guard seconds.isFinite, let thousandths = Int64(exactly: (seconds.magnitude * 1000).rounded()) else {
            return "-"
        }
        let rest = String(thousandths % 1000 + 1000).dropFirst()
        return (seconds < 0 && thousandths > 0 ? "-" : "") + clock(Double(thousandths / 1000)) + ".\(rest)"
    }
}
