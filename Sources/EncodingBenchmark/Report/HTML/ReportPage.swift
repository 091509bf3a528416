// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// A report as a self-contained HTML file: it requires no network and no other file, and a script only for sorting.
struct ReportPage: Sendable {
    let report: BenchmarkReport
    let figures: DerivedFigures
    let encoders: [String: BenchmarkReport.Encoder]
    private let styles: [String: SeriesStyle]

    init(_ report: BenchmarkReport) {
        self.report = report
        figures = DerivedFigures(report)
        encoders = Dictionary(report.encoders.map { ($0.id, $0) }) { first, _ in first }
        styles = Dictionary(report.encoders.enumerated().map { ($1.id, SeriesStyle(index: $0)) }) { first, _ in first }
    }

    /// Returns the style of an encoder in all charts.
    func style(of encoder: String) -> SeriesStyle { styles[encoder] ?? SeriesStyle(index: 0) }

    /// Returns the name of an encoder with its letter and shape.
    func tag(_ encoder: String) -> Markup {
        let style = style(of: encoder)
        return """
            <span class="tag \(style.colorClass)"><svg class="swatch" viewBox="0 0 40 14" aria-hidden="true">\
            <path class="l" d="M1 7H39" stroke-dasharray="\(style.dashes)"/>\(style.marker(x: 20, y: 7))</svg>\
            <b>\(style.letter)</b> <span class="id">\(encoder)</span></span>
            """
    }

    /// The complete document.
    var html: Markup {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
        script-src 'unsafe-inline'; img-src data:">
        <link rel="icon" href="data:,">
        <title>Encoding benchmark of \(report.startedAt)</title>
        <style>\(PageStyle.sheet)</style>
        </head>
        <body>
        \(header)
        <main>
        \(banners)
        \(overview)
        \(report.clips.map(section))
        \(densitySection)
        \(comparisonSection)
        \(pointSection)
        \(warningSection)
        \(encoderSection)
        \(environmentSection)
        \(readingSection)
        </main>
        <footer>\(report.program) · format \(report.format) · started \(report.startedAt)</footer>
        <script>\(PageScript.source)</script>
        </body>
        </html>

        """
    }

    private var header: Markup {
        let clips = report.clips.enumerated().map { index, clip -> Markup in
            "<a href=\"#clip-\(index)\">\(clip.id)</a>"
        }
        let gpus = report.environment.gpus.map { $0.name ?? $0.driver ?? $0.node }
        let machine = ([report.environment.processor.model] + gpus).joined(separator: " · ")
        let scope = [
            Readable.count(report.clips.count, "clip"), Readable.count(report.encoders.count, "encoder"),
            Readable.count(report.runs.count { !$0.isWarmUp }, "run"),
            "\(Readable.count(report.plan.repeats, "repeat")) of each point",
            "took \(Readable.clock(report.duration))",
        ]
        let density: Markup = report.density.isEmpty ? "" : "<a href=\"#density\">Streams</a>"
        return """
            <header><h1>Encoding benchmark</h1>
            <p class="machine">\(machine)</p><p class="scope">\(scope.joined(separator: " · "))</p>
            <nav aria-label="Parts of the report"><a href="#overview">At a glance</a>\(clips)\(density)\
            <a href="#curves">Against x264 and x265</a><a href="#points">All figures</a><a href="#environment">Machine</a>\
            <a href="#reading">How to read it</a></nav></header>
            """
    }

    private var banners: Markup {
        let banners = figures.warnings.filter { $0.weight == .banner }
        let messages = banners.reduce(into: [String]()) { if !$0.contains($1.message) { $0.append($1.message) } }
        return Markup(
            messages.map { message -> Markup in
                let subjects = banners.filter { $0.message == message }.compactMap(\.subject)
                return """
                    <section class="banner" role="alert"><p class="big">\(message)</p>\
                    <p>It concerns: \(subjects.joined(separator: ", "))</p></section>
                    """
            }
        )
    }
}

extension BenchmarkReport {
    /// The report as an HTML page for phones and desktops, in light and dark mode, that loads no other files.
    public var html: String { ReportPage(self).html.text }
}
