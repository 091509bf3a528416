// SPDX-License-Identifier: GPL-2.0-or-later

import Streaming
import Testing

/// The bitrate on simulated links.
@Suite struct AdaptiveBitRateTests {
    /// A link with a rate, and an encoder that follows the strategy after a tenth of a second.
    private struct Link {
        var strategy = AdaptiveBitRate()
        var capacity: Double
        var ceiling = 4_000_000
        private(set) var now = 0.0
        /// The bits that wait, and the rate of the encoder.
        private(set) var queue = 0.0
        private(set) var rate: Double
        private(set) var oldestAge = 0.0
        private var delivered: [Double] = []
        private static let audio = 128_000.0
        private static let step = 0.05

        init(capacity: Double, ceiling: Int = 4_000_000) {
            (self.capacity, self.ceiling, rate) = (capacity, ceiling, Double(ceiling))
        }

        /// How long data waits.
        var age: Double { queue / max(capacity, 1) }

        mutating func run(seconds: Double, _ check: (Link) -> Void = { _ in }) {
            let end = now + seconds
            while now < end {
                now += Self.step
                let arriving = (rate + Self.audio) * Self.step
                let leaving = min(queue + arriving, capacity * Self.step)
                queue += arriving - leaving
                delivered.append(leaving)
                if delivered.count > 20 { delivered.removeFirst() }
                oldestAge = max(oldestAge, age)
                let measured = delivered.reduce(0, +) / (Double(delivered.count) * Self.step)
                let report = LinkReport(
                    time: now,
                    isConnected: true,
                    queueAge: age,
                    deliveredRate: measured,
                    otherRate: Self.audio,
                    ceiling: ceiling
                )
                rate = Double(strategy.videoBitRate(for: report))
                check(self)
            }
        }
    }

    @Test func aLinkThatSufficesKeepsTheCeiling() {
        var link = Link(capacity: 5_000_000)
        link.run(seconds: 60) { #expect($0.rate == 4_000_000) }
    }

    @Test(arguments: [0.75, 0.5, 0.25]) func aSlowerLinkIsFollowed(share: Double) {
        var link = Link(capacity: 4_500_000)
        link.run(seconds: 10)
        link.capacity *= share
        link.run(seconds: 3)
        #expect(link.rate + 128_000 < link.capacity)
        #expect(link.oldestAge < 1.6)
        link.run(seconds: 3)
        #expect(link.age < 0.3)
        // It stays near what the link carries, and tries to rise now and then.
        var (sum, count, oldest) = (0.0, 0, 0.0)
        link.run(seconds: 120) {
            sum += $0.rate
            count += 1
            oldest = max(oldest, $0.age)
        }
        #expect(sum / Double(count) > link.capacity * 0.6)
        #expect(oldest < 1)
    }

    @Test func itComesBackToTheCeiling() {
        var link = Link(capacity: 4_500_000)
        link.run(seconds: 10)
        link.capacity /= 2
        link.run(seconds: 90)
        link.capacity *= 2
        link.run(seconds: 60)
        #expect(link.rate >= 0.95 * 4_000_000)
    }

    @Test func theCeilingOfTheMomentIsNeverExceeded() {
        var link = Link(capacity: 2_000_000)
        link.run(seconds: 20)
        link.ceiling = 1_000_000
        link.run(seconds: 20) { #expect($0.rate <= 1_000_000) }
        link.ceiling = 3_000_000
        link.capacity = 10_000_000
        link.run(seconds: 90) { #expect($0.rate <= 3_000_000) }
        #expect(link.rate == 3_000_000)
    }

    @Test func itNeverFallsBelowItsFloor() {
        var link = Link(capacity: 10_000)
        link.run(seconds: 30) { #expect($0.rate >= 400_000) }
    }

    /// A key frame that takes half a second is no congestion, because the queue empties after it.
    @Test func burstsAreNoCongestion() {
        var strategy = AdaptiveBitRate()
        for step in 0..<600 {
            let time = Double(step) * 0.1
            let sinceKeyFrame = time.truncatingRemainder(dividingBy: 2)
            let report = LinkReport(
                time: time,
                isConnected: true,
                queueAge: max(0.5 - sinceKeyFrame, 0),
                deliveredRate: 1_000_000,
                ceiling: 2_000_000
            )
            #expect(strategy.videoBitRate(for: report) == 2_000_000)
        }
    }

    /// A receiver that skips late packets hides a slow link from the queue.
    @Test func packetsThatAreSentAgainAreCongestion() {
        var strategy = AdaptiveBitRate()
        func rate(_ time: Double, _ share: Double) -> Int {
            strategy.videoBitRate(
                for: LinkReport(
                    time: time,
                    isConnected: true,
                    queueAge: 0,
                    deliveredRate: 3_000_000,
                    repeatedShare: share,
                    ceiling: 3_000_000
                )
            )
        }
        #expect(rate(1, 0.05) == 3_000_000)
        #expect(rate(2, 0.5) < 1_600_000)
        #expect(rate(3, 0.5) < 800_000)
    }

    @Test func withoutAConnectionNothingChanges() {
        var strategy = AdaptiveBitRate()
        let report = LinkReport(time: 1, isConnected: false, queueAge: 10, deliveredRate: 0, ceiling: 1_000_000)
        #expect(strategy.videoBitRate(for: report) == 1_000_000)
    }
}
