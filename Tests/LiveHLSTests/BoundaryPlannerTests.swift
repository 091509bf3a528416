// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import LiveHLS

/// Where parts and segments end, from times alone.
struct BoundaryPlannerTests {
    private static func plan(_ part: Double?, rate: Int32 = 30, packet: MediaTime? = aac) -> PartPlan {
        PartPlan(
            part: part.map { MediaTime(seconds: $0, preferredTimescale: 1000) },
            step: MediaTime(value: 1, timescale: rate),
            packets: packet.map { [$0] } ?? []
        )
    }

    private static let aac = MediaTime(value: 1024, timescale: 48000)

    private static func options(_ segment: Int, interval: Double? = nil) -> HLSOptions {
        var options = HLSOptions()
        options.segment = segment
        options.keyFrameInterval = interval.map { MediaTime(seconds: $0, preferredTimescale: 1000) }
        return options
    }

    @Test(arguments: [0.2, 0.25, 0.333, 0.5, 0.75, 1, 1.5, 2], [Int32(7), 10, 12, 15, 24, 25, 30, 50, 60, 120])
    func partsKeepTheRulesAtEveryRate(part: Double, rate: Int32) throws {
        for packet in [Self.aac, MediaTime(value: 1024, timescale: 44100), MediaTime(value: 1536, timescale: 48000)] {
            let plan = Self.plan(part, rate: rate, packet: packet)
            let announced = try #require(plan.announced)
            #expect(abs(announced.seconds - part) <= 0.5 / Double(rate) + 0.025 * part + packet.seconds)
            var planner = BoundaryPlanner(Self.options(4), plan, isSound: false, start: .zero)
            var durations: [MediaTime] = []
            var start = MediaTime.zero
            for frame in 1..<Int64(rate) * 12 {
                let isKeyFrame = frame % Int64(rate * 2) == 0
                let time = MediaTime(value: frame, timescale: rate)
                let step = try planner.add(time, isKeyFrame: isKeyFrame, isChange: false)
                for boundary in ([step.before] + step.during + [step.after]).compactMap(\.self) {
                    #expect(boundary.end - start <= announced)
                    if boundary.kind == .part { durations.append(boundary.end - start) }
                    start = boundary.next
                }
            }
            #expect(durations.allSatisfy { $0.seconds >= announced.seconds * 0.85 }, "\(durations) \(announced)")
        }
    }

    /// The times of segments for key frames in milliseconds.
    private func segments(_ options: HLSOptions, keyFrames: [Int64], until end: Int64) throws -> [Int64] {
        var planner = BoundaryPlanner(options, Self.plan(1, rate: 50), isSound: false, start: .zero)
        var found: [Int64] = []
        for time in stride(from: Int64(20), to: end, by: 20) {
            let step = try planner.add(
                MediaTime(value: time, timescale: 1000),
                isKeyFrame: keyFrames.contains(time),
                isChange: false
            )
            if let boundary = step.after, boundary.kind != .part {
                found.append(boundary.end.converted(to: 1000).value)
            }
        }
        return found
    }

    @Test func segmentsEndAtKeyFrames() throws {
        let everySecond = Array(stride(from: Int64(1000), to: 20_000, by: 1000))
        #expect(
            try segments(Self.options(4, interval: 1), keyFrames: everySecond, until: 13_000) == [4000, 8000, 12_000]
        )
        let everyThree = Array(stride(from: Int64(3000), to: 20_000, by: 3000))
        #expect(
            try segments(Self.options(4, interval: 3), keyFrames: everyThree, until: 13_000) == [
                3000, 6000, 9000, 12_000,
            ]
        )
        // The interval is learned; until then, a segment ends early.
        #expect(try segments(Self.options(4), keyFrames: everySecond, until: 13_000) == [1000, 5000, 9000])
        // A scene cut right before another key frame does not make a segment too long.
        #expect(
            try segments(Self.options(4, interval: 4), keyFrames: [3800, 7800, 11_800], until: 13_000) == [
                3800, 7800, 11_800,
            ]
        )
    }

    @Test func keyFramesThatAreTooRareAreAnError() {
        #expect {
            _ = try segments(Self.options(4), keyFrames: [5000], until: 6000)
        } throws: { error in
            (error as? MediaError)?.code == .unsupported
        }
    }

    @Test func aPauseIsFilledOrIsADiscontinuity() throws {
        func time(_ milliseconds: Int64) -> MediaTime { MediaTime(value: milliseconds, timescale: 1000) }
        var planner = BoundaryPlanner(Self.options(4), Self.plan(1, rate: 50), isSound: false, start: .zero)
        #expect(try planner.add(time(20), isKeyFrame: false, isChange: false) == BoundaryPlanner.Step())
        let filled = try planner.add(time(2500), isKeyFrame: false, isChange: false)
        #expect(filled.before?.end == time(20) || filled.before == nil)
        #expect(filled.during.count == 2)
        #expect(filled.during.allSatisfy { $0.kind == .part && $0.end < time(2500) })
        // Too long for the segment: it ends, and continues with a key frame.
        #expect(try planner.add(time(9000), isKeyFrame: false, isChange: false).isRefused)
        let step = try planner.add(time(9500), isKeyFrame: true, isChange: false)
        #expect(step.after == Boundary(kind: .discontinuity, end: time(2520), next: time(9500)))
        #expect(planner.horizon == time(9500))
    }

    @Test func soundAloneHasSegments() throws {
        let plan = PartPlan(part: MediaTime(value: 1, timescale: 1), step: Self.aac, packets: [])
        var planner = BoundaryPlanner(Self.options(4), plan, isSound: true, start: .zero)
        var kinds: [Boundary.Kind] = []
        for packet in 1..<Int64(48000 * 13 / 1024) {
            let time = MediaTime(value: packet * 1024, timescale: 48000)
            if let boundary = try planner.add(time, isKeyFrame: true, isChange: false).after {
                kinds.append(boundary.kind)
            }
        }
        #expect(kinds.prefix(8) == [.part, .part, .part, .segment, .part, .part, .part, .segment])
    }
}
