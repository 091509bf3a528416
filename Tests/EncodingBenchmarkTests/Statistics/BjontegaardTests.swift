// SPDX-License-Identifier: GPL-2.0-or-later

import EncodingBenchmark
import Foundation
import MediaTypes
import Testing

/// Distances of curves, against what the Python package `bjontegaard` says of them.
@Suite struct BjontegaardTests {
    /// `scripts/verify.d/curves.py 1 40`, or a table of other curves, which `scripts/verify bench` makes and names.
    private static let path =
        ProcessInfo.processInfo.environment["VATOOLBOX_BJONTEGAARD_TABLE"]
        ?? URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("bjontegaard.json").path

    private struct Table: Decodable {
        struct Row: Decodable {
            let scale: String
            let anchor: [[Double]]
            let test: [[Double]]
            /// By method: BD-rate in per cent, BD-quality.
            let expected: [String: [Double]]
        }

        let sets: [Row]
    }

    private func points(_ pairs: [[Double]]) -> [RateQualityPoint] {
        pairs.map { RateQualityPoint(rate: $0[0], quality: $0[1]) }
    }

    @Test(arguments: BjontegaardDelta.Method.allCases)
    func agreesWithThePackage(method: BjontegaardDelta.Method) throws {
        let table = try JSONDecoder().decode(Table.self, from: Data(contentsOf: URL(fileURLWithPath: Self.path)))
        #expect(table.sets.count >= 20)
        #expect(Set(table.sets.map(\.scale)) == ["PSNR", "SSIM", "VMAF"])
        for (index, row) in table.sets.enumerated() {
            let (test, anchor) = (points(row.test), points(row.anchor))
            let expected = try #require(row.expected[method.rawValue])
            let rate = try BjontegaardDelta.rate(of: test.shuffled(), against: anchor.reversed(), method: method)
            let quality = try BjontegaardDelta.quality(of: test.reversed(), against: anchor.shuffled(), method: method)
            // A hundredth of a per cent of the value is asked for; all but a rounding is there.
            #expect(abs(rate.value - expected[0]) <= 1e-5 * max(abs(expected[0]), 1), "set \(index)")
            #expect(abs(quality.value - expected[1]) <= 1e-5 * abs(expected[1]), "set \(index)")
        }
    }

    private let curve = [(500, 31.0), (1000, 34.0), (2000, 36.5), (4000, 38.0), (8000, 39.0)]
        .map { RateQualityPoint(rate: $0.0, quality: $0.1) }

    @Test(arguments: BjontegaardDelta.Method.allCases)
    func knownDistances(method: BjontegaardDelta.Method) throws {
        #expect(abs(try BjontegaardDelta.rate(of: curve, against: curve, method: method).value) < 1e-9)
        #expect(try BjontegaardDelta.quality(of: curve, against: curve, method: method).overlap == 1)
        let dearer = curve.map { RateQualityPoint(rate: $0.rate * 1.25, quality: $0.quality) }
        #expect(abs(try BjontegaardDelta.rate(of: dearer, against: curve, method: method).value - 25) < 1e-9)
        #expect(abs(try BjontegaardDelta.rate(of: curve, against: dearer, method: method).value + 20) < 1e-9)
        #expect(try BjontegaardDelta.quality(of: dearer, against: curve, method: method).value < -0.5)
        let better = curve.map { RateQualityPoint(rate: $0.rate, quality: $0.quality + 0.75) }
        #expect(abs(try BjontegaardDelta.quality(of: better, against: curve, method: method).value - 0.75) < 1e-9)
        #expect(try BjontegaardDelta.rate(of: better, against: curve, method: method).value < -10)
    }

    @Test func straightLinesAreStraight() throws {
        let first = [1, 10, 100, 1000].map { RateQualityPoint(rate: $0, quality: 30 + 4 * log10($0)) }
        let second = [2, 20, 200, 900].map { RateQualityPoint(rate: $0, quality: 31 + 4 * log10($0)) }
        for method in BjontegaardDelta.Method.allCases {
            let delta = try BjontegaardDelta.quality(of: second, against: first, method: method)
            #expect(abs(delta.value - 1) < 1e-9)
            #expect(abs(delta.overlap - log10(450) / 3) < 1e-9)
        }
    }

    /// What an error says that refuses a curve.
    private func refusal(_ test: [RateQualityPoint], _ anchor: [RateQualityPoint]? = nil) -> String? {
        do throws(MediaError) {
            _ = try BjontegaardDelta.rate(of: test, against: anchor ?? curve)
            return nil
        } catch {
            return error.code == .invalidArgument ? error.description : nil
        }
    }

    @Test func refusesWhatIsNoCurve() throws {
        let few = try #require(refusal(Array(curve.dropLast(2))))
        #expect(few.contains("the tested curve") && few.contains("given 3") && few.contains("at least 4"))

        var falling = curve
        falling[3].quality = 36
        let text = try #require(refusal(curve, falling.reversed()))
        #expect(text.contains("the anchor"))
        #expect(text.contains("quality 36.5 at rate 2000.0, then quality 36.0 at rate 4000.0"))

        var twice = curve
        twice[1].rate = 2000
        #expect(try #require(refusal(twice)).contains("quality 34.0 at rate 2000.0, then quality 36.5 at rate 2000.0"))

        for point in [
            RateQualityPoint(rate: 0, quality: 30), RateQualityPoint(rate: 16000, quality: .infinity),
            RateQualityPoint(rate: .nan, quality: 30), RateQualityPoint(rate: -1, quality: 30),
        ] {
            let text = try #require(refusal(curve + [point]))
            #expect(text.contains("quality \(point.quality) at rate \(point.rate)"))
        }
    }

    @Test func refusesCurvesThatShareNothing() throws {
        let above = curve.map { RateQualityPoint(rate: $0.rate * 3, quality: $0.quality + 8) }
        let text = try #require(refusal(above))
        #expect(text.contains("39.0 to 47.0 against 31.0 to 39.0"))
        let faster = curve.map { RateQualityPoint(rate: $0.rate * 16, quality: $0.quality) }
        #expect(throws: MediaError.self) { try BjontegaardDelta.quality(of: faster, against: curve) }
        #expect(abs(try BjontegaardDelta.rate(of: faster, against: curve).value - 1500) < 1e-9)
    }
}
