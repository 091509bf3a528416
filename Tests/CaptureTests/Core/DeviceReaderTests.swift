// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import Capture

/// Devices that deliver, vanish, and fail.
@Suite(.timeLimit(.minutes(60))) struct DeviceReaderTests {
    private typealias Reader = DeviceReader<String, Int>

    /// Reads all events of a reader as words.
    private func words(_ reader: Reader, until last: String? = nil) async -> [String] {
        var words: [String] = []
        while let event = await reader.next() {
            switch event {
            case .opened(let name): words.append("opened \(name)")
            case .item(let number): words.append("\(number)")
            case .gone(let error): words.append("gone: \(error.message)")
            case .failed(let error): words.append("failed: \(error.message)")
            }
            if words.last == last { break }
        }
        return words
    }

    /// A device that delivers numbers up to a count and then does something.
    private func counting(to count: Int, then end: @escaping @Sendable () throws(MediaError) -> Int?) -> Reader.Open {
        { _ throws(MediaError) in
            var number = 0
            return (
                "it",
                { () throws(MediaError) in
                    guard number < count else { return try end() }
                    number += 1
                    return number
                }
            )
        }
    }

    @Test func aFileIsReadToItsEnd() async throws {
        var options = Reader.Options()
        (options.waiting, options.waitsForConsumer) = (2, true)
        let reader = try Reader(name: "test", options: options, open: counting(to: 100) { nil })
        #expect(await words(reader) == ["opened it"] + (1...100).map { "\($0)" })
        #expect(reader.dropped == 0)
    }

    @Test func aDeviceThatIsGoneIsOpenedAgain() async throws {
        let open = counting(to: 1) { () throws(MediaError) in throw MediaError(.unavailable, "unplugged") }
        let count = Mutex(0)
        let reader = try Reader(name: "test") { stop throws(MediaError) in
            let attempt = count.withLock { count in
                count += 1
                return count
            }
            switch attempt {
            case 1: return try open(stop)
            case 2: throw MediaError(.unavailable, "still unplugged")
            default: return ("it", { () throws(MediaError) in try stop.wait(for: [], until: nil).first.map(Int.init) })
            }
        }
        var words: [String] = []
        while words.count(where: { $0.hasPrefix("opened") }) < 2, let event = await reader.next() {
            switch event {
            case .opened: words.append("opened")
            case .item(let number): words.append("\(number)")
            case .gone(let error): words.append(error.message)
            case .failed(let error): words.append("failed \(error.message)")
            }
        }
        reader.stop()
        #expect(words == ["opened", "1", "unplugged", "opened"])
        #expect(count.withLock { $0 } == 3)
    }

    @Test func aDeviceThatIsNotThereAtTheStartCanBeWaitedFor() async throws {
        let count = Mutex(0)
        var options = Reader.Options()
        options.waitsAtStart = true
        let reader = try Reader(name: "test", options: options) { _ throws(MediaError) in
            let attempt = count.withLock { count in
                count += 1
                return count
            }
            guard attempt > 2 else { throw MediaError(.inputOutput, "no connection") }
            return ("it", { () throws(MediaError) in nil })
        }
        #expect(await words(reader) == ["gone: no connection", "opened it"])
        let refused = try Reader(name: "test", options: options) { _ throws(MediaError) in
            throw MediaError(.invalidArgument, "no such protocol")
        }
        #expect(await words(refused) == ["failed: no such protocol"])
    }

    /// What a device holds, such as the node of a camera, is free before the device is opened again.
    @Test func aDeviceThatIsGoneIsReleasedFirst() async throws {
        final class Device: Sendable {
            let count: @Sendable (Int) -> Void
            init(_ count: @escaping @Sendable (Int) -> Void) {
                self.count = count
                count(1)
            }
            deinit { count(-1) }
            func read() throws(MediaError) -> Int? { throw MediaError(.unavailable, "unplugged") }
        }
        let state = Mutex((open: 0, atOpening: [Int]()))
        let reader = try Reader(name: "test") { _ throws(MediaError) in
            state.withLock { $0.atOpening.append($0.open) }
            let device = Device { change in state.withLock { $0.open += change } }
            return ("it", { () throws(MediaError) in try device.read() })
        }
        _ = await words(reader, until: "gone: unplugged")
        _ = await words(reader, until: "gone: unplugged")
        reader.stop()
        #expect(state.withLock { $0.atOpening.prefix(2) } == [0, 0])
    }

    /// A task that is cancelled waits no longer, and the next one gets every event.
    @Test func cancellingAConsumerLosesNothing() async throws {
        let isReleased = Mutex(false)
        let reader = try Reader(name: "test") { stop throws(MediaError) in
            while !isReleased.withLock({ $0 }) { try stop.wait(for: [], until: 1) }
            return ("it", { () throws(MediaError) in nil })
        }
        let waiting = Task { await self.words(reader) }
        waiting.cancel()
        #expect(await waiting.value.isEmpty)
        isReleased.withLock { $0 = true }
        #expect(await words(reader) == ["opened it"])
    }

    @Test func otherFailuresAreFinal() async throws {
        let failing = counting(to: 1) { () throws(MediaError) in throw MediaError(.inputOutput, "broken") }
        #expect(await words(try Reader(name: "test", open: failing)) == ["opened it", "1", "failed: broken"])
        let missing = try Reader(name: "test") { _ throws(MediaError) in throw MediaError(.unavailable, "missing") }
        #expect(await words(missing) == ["failed: missing"])
    }

    /// A name server may tell something wrong for a while, but a device that was never there may have a wrong name.
    @Test func anAddressThatIsRefusedIsTriedAgainOnlyIfItWasThere() async throws {
        let open = counting(to: 1) { () throws(MediaError) in throw MediaError(.unavailable, "gone") }
        let refusal = MediaError(.invalidArgument, "not public", isPermanent: false)
        let attempts = Mutex(0)
        let reader = try Reader(name: "test") { stop throws(MediaError) in
            let attempt = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            guard attempt == 1 || attempt > 3 else { throw refusal }
            return try open(stop)
        }
        #expect(await words(reader, until: "gone: gone") == ["opened it", "1", "gone: gone"])
        #expect(await words(reader, until: "1") == ["opened it", "1"])
        reader.stop()
        var options = Reader.Options()
        options.waitsAtStart = true
        let never = try Reader(name: "test", options: options) { _ throws(MediaError) in throw refusal }
        #expect(await words(never) == ["failed: not public"])
    }

    @Test(arguments: [MediaError.Code.cancelled, .invalidArgument, .unsupported])
    func whatCannotSucceedIsNotTriedAgain(code: MediaError.Code) async throws {
        let open = counting(to: 1) { () throws(MediaError) in throw MediaError(.unavailable, "unplugged") }
        let attempts = Mutex(0)
        let reader = try Reader(name: "test") { stop throws(MediaError) in
            let attempt = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            switch attempt {
            case 1: return try open(stop)
            case 2: throw MediaError(.busy, "not yet")
            default: throw MediaError(code, "refused")
            }
        }
        #expect(await words(reader) == ["opened it", "1", "gone: unplugged", "failed: refused"])
        #expect(attempts.withLock { $0 } == 3)
    }

    @Test func aSlowConsumerGetsTheLatest() async throws {
        let reader = try Reader(
            name: "test",
            open: counting(to: 1000) { () throws(MediaError) in
                throw MediaError(.inputOutput, "the end")
            }
        )
        #expect(await Patience.wait { reader.dropped == 997 })
        #expect(await words(reader) == ["opened it", "998", "999", "1000", "failed: the end"])
    }

    @Test func stoppingEndsEveryWait() async throws {
        let reader = try Reader(name: "test") { stop throws(MediaError) in
            (
                "it",
                { () throws(MediaError) in
                    try stop.wait(for: [], until: nil)
                    return 1
                }
            )
        }
        guard case .opened = await reader.next() else {
            Issue.record("it was not opened")
            return
        }
        async let next = reader.next()
        reader.stop()
        #expect(await next == nil)
    }

    @Test func stoppingAFullReaderEndsItsThread() async throws {
        var options = Reader.Options()
        (options.waiting, options.waitsForConsumer) = (1, true)
        let hasEnded = Mutex(false)
        final class Sentinel: Sendable {
            let onEnd: @Sendable () -> Void
            init(_ onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }
            deinit { onEnd() }
        }
        let reader = try Reader(name: "test", options: options) { _ throws(MediaError) in
            let sentinel = Sentinel { hasEnded.withLock { $0 = true } }
            return ("it", { () throws(MediaError) in withExtendedLifetime(sentinel) { 1 } })
        }
        _ = await reader.next()
        reader.stop()
        #expect(await Patience.wait { hasEnded.withLock { $0 } })
    }
}

extension Optional where Wrapped == DeviceReader<String, Int>.Event {
    fileprivate static func == (left: Self, right: _OptionalNilComparisonType) -> Bool {
        if case .none = left { true } else { false }
    }
}
