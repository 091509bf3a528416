// SPDX-License-Identifier: GPL-2.0-or-later

import Synchronization
import TestSupport
import Testing

@testable import VAToolbox

@Suite struct AlarmTests {
    /// What an alarm's work holds, and how often it was done.
    private final class Work: Sendable {
        private let done = Atomic(0)
        var count: Int { done.load(ordering: .relaxed) }
        func callAsFunction() { done.add(1, ordering: .relaxed) }
    }

    @Test(arguments: [Duration.milliseconds(5), .zero, .seconds(-1)]) func itGoesOffOnce(limit: Duration) async {
        let work = Work()
        let alarm = Alarm(after: limit) { work() }
        #expect(await Patience.wait { work.count > 0 })
        // Another one, set later and as long, would come after a second time of the first.
        let later = Work()
        let second = Alarm(after: limit) { later() }
        #expect(await Patience.wait { later.count > 0 })
        #expect(work.count == 1)
        withExtendedLifetime((alarm, second)) {}
    }

    @Test func itRepeats() async {
        let work = Work()
        let alarm = Alarm(after: .milliseconds(2), repeats: true) { work() }
        #expect(await Patience.wait { work.count >= 3 })
        alarm.cancel()
    }

    /// A minute later would be too late: a program may have had thousands of sessions by then.
    @Test(arguments: [true, false]) func nothingOfItStays(isCancelled: Bool) {
        weak var held: Work?
        var alarm: Alarm?
        do {
            let work = Work()
            held = work
            alarm = Alarm(after: .seconds(36_000)) { work() }
        }
        #expect(held != nil)
        if isCancelled { alarm?.cancel() } else { alarm = nil }
        #expect(Patience.block { held == nil })
        withExtendedLifetime(alarm) {}
    }
}
