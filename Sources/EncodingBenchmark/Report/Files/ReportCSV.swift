// SPDX-License-Identifier: GPL-2.0-or-later

extension BenchmarkReport {
    /// The report as CSV (RFC 4180) with one row per run, including warm-ups, after a header row, with numbers in base
    /// units.
    ///
    /// Texts that a spreadsheet would interpret as a formula are preceded by an apostrophe.
    public var csv: String {
        let clips = Dictionary(clips.map { ($0.id, $0) }) { first, _ in first }
        let encoders = Dictionary(encoders.map { ($0.id, $0) }) { first, _ in first }
        let heads = Self.csvSubjectColumns + Metric.all.map { "\($0.id)_\($0.baseUnit)" } + ["deviations", "failure"]
        let rows = runs.compactMap { run -> [String]? in
            guard let clip = clips[run.clip], let encoder = encoders[run.encoder] else { return nil }
            let context = RunContext(clip: clip, point: run.point)
            let figures = Metric.all.map { metric in
                run.result.value.flatMap { metric.value($0, context) }.map { "\($0)" } ?? ""
            }
            let deviations = run.result.value?.deviations.joined(separator: "; ") ?? ""
            return Self.csvSubject(run, clip, encoder) + figures
                + [Self.csvText(deviations), Self.csvText(run.result.absence ?? "")]
        }
        return ([heads] + rows).map { $0.joined(separator: ",") + "\r\n" }.joined()
    }

    private static let csvSubjectColumns = [
        "clip", "width", "height", "frame_rate", "frames", "encoder", "kind", "codec", "device", "driver", "entrypoint",
        "preset", "transfer", "fake_node", "reference_driver", "mode", "point", "asked_bit_per_s", "repetition",
        "started_after_s",
    ]

    private static func csvSubject(_ run: Run, _ clip: Clip, _ encoder: Encoder) -> [String] {
        [
            csvText(clip.id), "\(clip.width)", "\(clip.height)", csvText(clip.frameRate), "\(clip.frameCount)",
            csvText(encoder.id), encoder.kind.rawValue, csvText(encoder.codec), csvText(encoder.device ?? ""),
            csvText(encoder.driver ?? ""), csvText(encoder.entrypoint ?? ""), csvText(encoder.preset ?? ""),
            encoder.transfer.rawValue, "\(encoder.isFakeNode)", "\(encoder.isReferenceDriver)", run.mode.text,
            csvText(run.point.text), run.point.bitsPerSecond.map { "\($0)" } ?? "", "\(run.repetition)",
            "\(run.startedAfter)",
        ]
    }

    private static func csvText(_ text: String) -> String {
        let isFormula = text.first.map { "=+-@\t\r".contains($0) } == true
        let safe = isFormula ? "'" + text : text
        let needsQuotes = safe.unicodeScalars.contains { ",\"\r\n".unicodeScalars.contains($0) }
        guard needsQuotes else { return safe }
        let pieces = safe.split(separator: "\"", omittingEmptySubsequences: false)
        return "\"" + pieces.joined(separator: "\"\"") + "\""
    }
}
