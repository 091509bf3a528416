// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import Testing

@testable import EncodingBenchmark

@Suite struct ReportFileTests {
    // MARK: - JSON

    @Test func whatIsWrittenIsReadAgain() throws {
        var report = SampleReport.make([SampleReport.medium, .init(encoder: SampleReport.software("slow"), gain: 0.5)])
        report.remarks = [.init(.caution, "a \"quoted\" remark", subject: "x264 slow")]
        report.runs[5].result = .absent("it crashed")
        report.density = [
            BenchmarkReport.Density(
                clip: SampleReport.clip,
                encoder: "x264 slow",
                point: .quality(23),
                streams: 2,
                isLeastEstimate: true,
                trials: []
            )
        ]
        #expect(try BenchmarkReport(json: try report.json(), name: "a") == report)
    }

    @Test func derivedFiguresStandBesideTheData() throws {
        let json = try SampleReport.make().json()
        let document = try #require(try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any])
        #expect(document["format"] as? Int == 1)
        let derived = try #require(document["derived"] as? [String: Any])
        let points = try #require(derived["points"] as? [[String: Any]])
        #expect(points.count == 4)
        let speed = try #require((points[0]["figures"] as? [String: [String: Any]])?["framesPerSecond"])
        #expect(try abs(#require(speed["median"] as? Double) - 100 / 1.002) < 1e-9)
        #expect(speed["count"] as? Int == 3)
    }

    @Test func otherFormatsAreRefusedByName() throws {
        let json = String(decoding: try SampleReport.make().json(), as: UTF8.self)
        let next = json.replacingOccurrences(of: "\"format\" : 1", with: "\"format\" : 2")
        let error = #expect(throws: MediaError.self) { try BenchmarkReport(json: Array(next.utf8), name: "b.json") }
        #expect(error?.code == .malformedData)
        #expect(error?.message.contains("b.json") == true)
        #expect(error?.given == "format 2")
    }

    @Test(arguments: [
        ("[]", "not a benchmark report"), ("{\"format\":1}", "not a benchmark report"), ("", "not a benchmark report"),
        ("{\"format\":\"1\"}", "not a benchmark report"),
    ])
    func whatIsNoReportIsRefused(text: String, reason: String) {
        let error = #expect(throws: MediaError.self) { try BenchmarkReport(json: Array(text.utf8), name: "c") }
        #expect(error?.message.contains(reason) == true)
    }

    @Test func dataThatCannotBeIsRefused() throws {
        func refusal(_ change: (inout BenchmarkReport) -> Void) throws -> MediaError? {
            var report = SampleReport.make()
            change(&report)
            let json = try report.json()
            return #expect(throws: MediaError.self) { try BenchmarkReport(json: json, name: "d") }
        }
        func measurement(_ change: (inout BenchmarkReport.Measurement) -> Void) throws -> MediaError? {
            try refusal { report in
                guard var value = report.runs[0].result.value else { return }
                change(&value)
                report.runs[0].result = .value(value)
            }
        }
        #expect(try refusal { $0.runs[0].clip = "other" }?.given == "other")
        #expect(try refusal { $0.runs[0].encoder = "other" }?.given == "other")
        #expect(try refusal { $0.clips += $0.clips }?.message.contains("the same id") == true)
        #expect(try refusal { $0.clips[0].frameRate = "0/0" }?.given == "0/0")
        #expect(try measurement { $0.bytes = -1 }?.given == "a count of -1")
        #expect(try measurement { $0.framesOut = .max } != nil)
        #expect(try measurement { $0.wallTime = 1e300 } != nil)
        #expect(try measurement { $0.latency.histogram.edges = [1] }?.given?.contains("histogram") == true)
        #expect(try measurement { $0.latency.histogram.edges.reverse() } != nil)
        #expect(try measurement { $0.windows = [-1] } != nil)
    }

    @Test func numbersThatJSONDoesNotHaveAreRefused() throws {
        var report = SampleReport.make()
        report.duration = .infinity
        let error = #expect(throws: MediaError.self) { try report.json() }
        #expect(error?.code == .invalidArgument)
    }

    // MARK: - CSV

    @Test func everyRunHasARow() throws {
        var report = SampleReport.make()
        report.runs[0].result = .absent("first, it \"failed\"\nand then")
        let lines = report.csv.components(separatedBy: "\r\n")
        #expect(lines.count == report.runs.count + 2)
        let heads = lines[0].components(separatedBy: ",")
        #expect(Set(heads).count == heads.count)
        #expect(lines[1].hasSuffix(",\"first, it \"\"failed\"\"\nand then\""))
        let row = lines[report.runs.count].components(separatedBy: ",")
        #expect(row.count == heads.count)
        func value(_ name: String) throws -> String { row[try #require(heads.firstIndex(of: name))] }
        #expect(try value("encoder") == "x264 medium")
        #expect(try value("point") == "4M")
        #expect(try value("asked_bit_per_s") == "4000000")
        #expect(try value("repetition") == "3")
        #expect(try Double(value("bitRate_bit_per_s")) == 4_000_000)
        #expect(try Double(value("copiesPerFrame_per_frame")) == 0.5)
        #expect(try value("vmaf_score") == "")
    }

    @Test func spreadsheetsFindNoFormula() {
        let report = SampleReport.make(clip: "=HYPERLINK(\"http://x\"),1")
        let row = report.csv.components(separatedBy: "\r\n")[1]
        #expect(row.hasPrefix("\"'=HYPERLINK(\"\"http://x\"\"),1\","))
    }

    // MARK: - Files

    @Test func filesReplaceThoseThatAreThere() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let report = SampleReport.make()
        let html = folder.appendingPathComponent("report.html")
        try Data("old".utf8).write(to: html)
        let paths = try report.write(toFolder: folder.path)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == paths.count)
        #expect(try BenchmarkReport(path: folder.path + "/report.json") == report)
        #expect(try String(contentsOf: html, encoding: .utf8) == report.html)
        #expect(throws: MediaError.self) { try report.write(toFolder: folder.path + "/none") }
    }
}
