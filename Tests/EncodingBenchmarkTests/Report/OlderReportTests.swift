// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import Testing

@testable import EncodingBenchmark

/// Reports that were written before a key was added to them.
@Suite struct OlderReportTests {
    /// Made by `vatoolbox bench --quick --encoders x264:veryfast,x264:medium` of version 0.1.0; then the second encoder and every
    /// key that has a default were taken out by hand.
    private static let stored = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("older.json").path

    @Test func aStoredOneIsReadShownAndCompared() throws {
        let report = try BenchmarkReport(path: Self.stored)
        #expect(report.program == "vatoolbox 0.1.0" && report.runs.count == 4)
        #expect(report.plan.name == "quick" && report.plan.frames == 60)
        #expect(report.plan.bitDepth == 8 && report.plan.pictureMemory == BenchmarkPlan().pictureMemory)
        #expect(report.remarks.isEmpty && report.density.isEmpty && report.environment.gaps.isEmpty)
        #expect(report.clips[0].pictureCount == nil && !report.encoders[0].isReferenceDriver)
        #expect(report.runs.allSatisfy { $0.result.value?.deviations == [] })
        #expect(report.text(width: 200).contains("x264 veryfast"))
        #expect(report.html.contains("x264 veryfast"))
        #expect(try BenchmarkReport(json: try report.json(), name: "again") == report)
        let comparison = ReportComparison(report, report)
        #expect(comparison.obstacles.isEmpty && !comparison.rows.isEmpty && !comparison.hasRegressions)
    }

    /// A report with something of everything, as JSON without the derived figures.
    private func document(_ report: BenchmarkReport) throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: Data(try report.json()))
        var document = try #require(value as? [String: Any])
        document["derived"] = nil
        return document
    }

    /// The report of a document of which a key, whose path has names and indices, was taken out.
    private func report(_ document: [String: Any], without path: String) throws -> BenchmarkReport {
        func removed(_ value: Any, _ path: ArraySlice<Substring>) throws -> Any {
            let (name, rest) = (try #require(path.first), path.dropFirst())
            if let index = Int(name) {
                var list = try #require(value as? [Any])
                list[index] = try removed(list[index], rest)
                return list
            }
            var object = try #require(value as? [String: Any])
            let inner = try #require(object[String(name)], "no \(name) in \(path)")
            object[String(name)] = rest.isEmpty ? nil : try removed(inner, rest)
            return object
        }
        let rest = try removed(document, path.split(separator: ".")[...])
        return try BenchmarkReport(json: [UInt8](try JSONSerialization.data(withJSONObject: rest)), name: path)
    }

    @Test(arguments: [
        "density", "remarks", "environment.containment", "environment.variables", "environment.gaps",
        "environment.gpus.0.firmware", "environment.gpus.0.isFake", "encoders.0.isFakeNode",
        "encoders.0.isReferenceDriver", "runs.0.result.value.deviations", "plan.name", "plan.clips", "plan.sizes",
        "plan.frameRate", "plan.frames", "plan.bitDepth", "plan.pictureMemory", "plan.encoders", "plan.modes",
        "plan.repeats", "plan.warmups", "plan.density.mode", "plan.density.rateShare", "plan.density.latencyBound",
        "plan.density.seconds", "plan.density.maximumStreams", "plan.density.confirmations",
    ])
    func aKeyThatIsNotThereHasItsDefault(_ path: String) throws {
        var sample = SampleReport.make()
        sample.plan.density = DensityPlan()
        #expect(try report(try document(sample), without: path) == sample)
    }

    @Test func everyKeyOfAPlanMayBeAbsent() throws {
        var sample = SampleReport.make()
        sample.plan.density = DensityPlan()
        sample.plan.price = 1
        let whole = try document(sample)
        let plan = try #require(whole["plan"] as? [String: Any])
        #expect(plan.count >= 14)
        for key in plan.keys { _ = try report(whole, without: "plan.\(key)") }
        for key in try #require(plan["density"] as? [String: Any]).keys {
            _ = try report(whole, without: "plan.density.\(key)")
        }
    }

    @Test(arguments: ["runs", "clips.0.digest", "runs.0.result.value.bytes", "environment.processor"])
    func whatHasNoDefaultIsMissed(_ path: String) throws {
        let whole = try document(SampleReport.make())
        let error = #expect(throws: MediaError.self) { try report(whole, without: path) }
        let name = try #require(path.split(separator: ".").last)
        #expect(error?.code == .malformedData && error?.given?.contains("no \(name) in") == true)
    }
}
