// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

@testable import EncodingBenchmark

@Suite struct ReportPageTests {
    private static let hostile = "<script>alert(\"1\")</script>&'\u{7}.y4m"

    @Test func markupEscapesWhatIsNoMarkup() {
        let inner: Markup = "<b>\(Self.hostile)</b>"
        #expect(inner.text == "<b>&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39; .y4m</b>")
        #expect(("\(inner)\([inner])\(1)\(0.5)" as Markup).text == inner.text + inner.text + "10.50")
    }

    @Test func namesDoNotBecomeElements() throws {
        var encoder = SampleReport.hardware(Self.hostile, .upload)
        encoder.driver = Self.hostile
        encoder.settings = [Self.hostile: Self.hostile]
        encoder.isReferenceDriver = true
        var report = SampleReport.make([SampleReport.medium, .init(encoder: encoder)], clip: Self.hostile)
        report.program = Self.hostile
        report.startedAt = Self.hostile
        report.clips[0].source = Self.hostile
        report.clips[0].color = Self.hostile
        report.remarks = [.init(.note, Self.hostile, subject: Self.hostile)]
        report.runs[3].result = .absent(Self.hostile)
        report.environment.variables = [Self.hostile: Self.hostile]
        report.environment.gaps = [Self.hostile]
        report.density = [
            BenchmarkReport.Density(
                clip: Self.hostile,
                encoder: Self.hostile,
                point: .quality(23),
                streams: 2,
                isLeastEstimate: false,
                limit: Self.hostile,
                trials: []
            )
        ]
        let html = report.html
        #expect(!html.contains("<script>alert"))
        #expect(!html.contains("alert(\"1\")"))
        #expect(!html.unicodeScalars.contains("\u{7}"))
        #expect(html.components(separatedBy: "<script").count == 2)
        #expect(html.contains("&lt;script&gt;alert"))
    }

    /// Tags are closed in the order in which they were opened, and attributes stand in quotes.
    @Test func thePageIsWellFormed() throws {
        let html = SampleReport.make([SampleReport.medium, .init(encoder: SampleReport.software("slow"), gain: 0.5)])
            .html
        var open: [Substring] = []
        let void: Set<Substring> = ["meta", "link"]
        let tags = try Regex("<(/?)([a-zA-Z0-9]+)((?: [a-zA-Z0-9-]+(?:=\"[^\"<>]*\")?)*)(/?)>")
        let body = html.replacing(try Regex("(?s)<style>.*?</style>|<script>.*?</script>|<!DOCTYPE html>"), with: "")
        #expect(body.replacing(tags, with: "").contains { "<>".contains($0) } == false)
        for match in body.matches(of: tags) {
            let (isEnd, name) = (match.output[1].substring == "/", try #require(match.output[2].substring))
            if isEnd {
                #expect(open.popLast() == name)
            } else if match.output[4].substring != "/", !void.contains(name) {
                open.append(name)
            }
        }
        #expect(open.isEmpty)
    }

    @Test func figuresStandOnThePage() throws {
        let html = SampleReport.make([SampleReport.medium, .init(encoder: SampleReport.software("slow"), speed: 0.5)])
            .html
        for text in [
            "x264 medium", "x264 slow", "A CPU", "99.8", "49.9", "PSNR Y over bit rate", "no ffmpeg with libvmaf",
        ] {
            #expect(html.contains(text), "\(text)")
        }
        #expect(!html.contains("class=\"banner\""))
        #expect(!html.contains("http://") && !html.contains("https://") && !html.contains("url("))
        let charts = html.components(separatedBy: "role=\"img\"").count - 1
        #expect(charts >= 4)
        #expect(html.components(separatedBy: "Show as table").count - 1 == charts)
        #expect(html.components(separatedBy: "<desc ").count - 1 == charts)
    }

    @Test func identifiersAreUnique() throws {
        let html = SampleReport.make([SampleReport.medium, .init(encoder: SampleReport.software("slow"))]).html
        let identifiers = html.matches(of: try Regex(" id=\"([^\"]*)\"")).compactMap { $0.output[1].substring }
        #expect(Set(identifiers).count == identifiers.count)
        for match in html.matches(of: try Regex("(?:href=\"#|aria-labelledby=\")([^\"]*)\"")) {
            for name in try #require(match.output[1].substring).split(separator: " ") {
                #expect(identifiers.contains(name), "\(name)")
            }
        }
    }

    @Test func aReportWithoutRunsIsAPageToo() {
        var report = SampleReport.make()
        report.runs = []
        report.isComplete = false
        #expect(report.html.contains("stopped before its plan was complete"))
        report.clips = []
        report.encoders = []
        #expect(report.html.hasSuffix("</html>\n"))
        #expect(!report.text(width: 80).isEmpty)
    }

    /// A terminal shows something even if there is nothing to tell or to warn of.
    @Test func aReportWithoutResultsSaysSo() {
        var report = SampleReport.make()
        (report.runs, report.clips, report.encoders, report.remarks) = ([], [], [], [])
        report.environment.gaps = []
        #expect(report.text(width: 80) == "The report contains no results.\n")
    }

    // MARK: - Axes

    @Test(arguments: [
        [0.0, 1], [33.1, 38.9], [5, 5], [0, 0], [-24.3, 127], [1e-4, 3e-4], [1e6, 3e9], [-1e-9, 0],
    ])
    func linearAxesHoldTheirValues(values: [Double]) {
        let axis = ChartAxis("x", values)
        #expect(values.allSatisfy(axis.range.contains))
        #expect((2...12).contains(axis.ticks.count))
        #expect(axis.ticks.allSatisfy { (-1e-6...1 + 1e-6).contains(axis.place(of: $0)) })
        #expect(Set(axis.ticks.map(axis.label)).count == axis.ticks.count)
    }

    @Test(arguments: [[1.0, 10], [95, 102], [0.3, 3000], [500_000, 4_000_000], [7, 7]])
    func logarithmicAxesHoldTheirValues(values: [Double]) {
        let axis = ChartAxis("x", values, scale: .logarithmic)
        #expect(values.allSatisfy(axis.range.contains))
        #expect((1...7).contains(axis.ticks.count))
        #expect(Set(axis.ticks.map(axis.label)).count == axis.ticks.count)
        #expect(axis.place(of: 0) == 0)
    }

    @Test func nothingToDrawIsNoTrap() {
        #expect(ChartAxis("x", []).ticks.count > 1)
        #expect(ChartAxis("x", [], scale: .logarithmic).place(of: .nan).isFinite)
        #expect(ChartAxis("x", [.nan, .infinity, 3]).place(of: .infinity) == 1)
    }

    @Test func seriesAreToldApartWithoutColour() {
        let looks = (0..<35).map { index in
            let style = SeriesStyle(index: index)
            return "\(style.marker(x: 0, y: 0).text) \(style.dashes)"
        }
        #expect(Set(looks).count == looks.count)
        #expect(Set((0..<60).map { SeriesStyle(index: $0).letter }).count == 60)
    }

    // MARK: - Terminal

    @Test func tablesStayWithinTheirWidth() {
        let report = SampleReport.make([SampleReport.medium, .init(encoder: SampleReport.software("slow"), gain: 0.5)])
        for width in [60, 80, 100, 200] {
            let lines = report.text(width: width).split(separator: "\n")
            for line in lines where !line.contains("omitted columns") { #expect(line.count <= width) }
        }
        #expect(report.text(width: 60).contains("omitted columns"))
        #expect(!report.text(width: 400).contains("omitted columns"))
    }
}
