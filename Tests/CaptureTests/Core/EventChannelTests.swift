// SPDX-License-Identifier: GPL-2.0-or-later

import Synchronization
import TestSupport
import Testing

@testable import Capture

/// Tasks that wait for events and are cancelled.
@Suite(.timeLimit(.minutes(60))) struct EventChannelTests {
    @Test func aCancelledTaskTakesNoEvent() async {
        let channel = EventChannel<Int>(limit: 10, waitsForSpace: false)
        _ = channel.send(1, isDroppable: false)
        let canTake = Mutex(false)
        let task = Task {
            while !canTake.withLock({ $0 }) { await Task.yield() }
            return await channel.next()
        }
        task.cancel()
        canTake.withLock { $0 = true }
        #expect(await task.value == nil)
        #expect(await channel.next() == 1)
    }

    @Test func waitingEventsOutliveTheEnd() async {
        let channel = EventChannel<Int>(limit: 10, waitsForSpace: false)
        _ = channel.send(1, isDroppable: true)
        channel.finish()
        _ = channel.send(2, isDroppable: true)
        #expect(await channel.next() == 1)
        #expect(await channel.next() == nil)
    }

    /// Tasks are cancelled at any moment of their waits; together they get every event once, in order.
    @Test func cancellationAtAnyMomentLosesNothing() async {
        let channel = EventChannel<Int>(limit: 1, waitsForSpace: false)
        let sender = Task.detached {
            for number in 0..<2000 {
                _ = channel.send(number, isDroppable: false)
                if number % 3 == 0 { await Task.yield() }
            }
        }
        var (received, random) = ([Int](), SplitMix(1))
        while received.count < 2000 {
            let task = Task.detached {
                var taken: [Int] = []
                while let number = await channel.next() {
                    taken.append(number)
                    if number == 1999 { break }
                }
                return taken
            }
            for _ in 0..<random.below(20) { await Task.yield() }
            task.cancel()
            received += await task.value
        }
        await sender.value
        #expect(received == Array(0..<2000))
    }
}
