// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import Capture
import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import LiveSessions

/// Mixes that cannot be made.
@Suite(.timeLimit(.minutes(60))) struct SoundMixTests {
    /// A microphone that waits until it is stopped, and counts how many of it there are.
    private final class Microphone: SoundDevice {
        let format = AudioFormat(sampleType: .int16, sampleRate: 48000, layout: .mono)
        let stop: StopSignal
        let present: Present

        init(_ stop: StopSignal, _ present: Present) {
            (self.stop, self.present) = (stop, present)
            present.count.withLock { $0.open += 1 }
        }

        deinit { present.count.withLock { $0.closed += 1 } }

        func read() throws(MediaError) -> CapturedSound {
            try stop.wait(for: [], until: 10)
            return CapturedSound(AudioBuffer(format: format, frameCount: 480), arrival: MonotonicClock.now)
        }
    }

    /// A microphone that is gone as soon as it was opened.
    private final class Unplugged: SoundDevice {
        let format = AudioFormat(sampleType: .int16, sampleRate: 48000, layout: .mono)

        init(_ stop: StopSignal) {}

        func read() throws(MediaError) -> CapturedSound { throw MediaError(.unavailable, "it is unplugged") }
    }

    private final class Present: Sendable {
        let count = Mutex((open: 0, closed: 0))

        var part: SoundMix.Part {
            SoundMix.Part(name: "good") { [self] stop throws(MediaError) in Microphone(stop, self) }
        }
    }

    /// Runs what blocks on a thread of its own, as the reader of a session does: its devices need the cooperative pool.
    private func refusal(_ body: @escaping @Sendable () throws(MediaError) -> Void) async -> MediaError? {
        do throws(MediaError) {
            try await PlainThread.result(name: "test-mix", body)
            return nil
        } catch {
            return error
        }
    }

    private func read(_ parts: [SoundMix.Part]) throws -> LiveInput.Reader {
        let input = LiveInput.mix(parts)
        return try LiveInput.Reader(name: "test", options: input.options, open: input.open)
    }

    @Test func aDeviceThatCannotBeOpenedEndsTheOthers() async throws {
        let present = Present()
        let broken = SoundMix.Part(name: "broken") { stop throws(MediaError) in
            while present.count.withLock({ $0.open == 0 }) { try stop.wait(for: [], until: 1) }
            throw MediaError(.inputOutput, "it is broken")
        }
        let reader = try read([present.part, broken])
        guard case .failed(let error) = await reader.next() else {
            Issue.record("it has not failed")
            return
        }
        #expect(error.message == "it is broken")
        #expect(await Patience.wait { present.count.withLock { $0 == (1, 1) } })
    }

    @Test func stoppingWhileADeviceIsOpenedEndsTheOthers() async throws {
        let present = Present()
        let slow = SoundMix.Part(name: "slow") { stop throws(MediaError) in
            try stop.wait(for: [], until: nil)
            return Microphone(stop, present)
        }
        let reader = try read([present.part, slow])
        #expect(await Patience.wait { present.count.withLock { $0 == (1, 0) } })
        reader.stop()
        #expect(await Patience.wait { present.count.withLock { $0 == (1, 1) } })
    }

    @Test func aDeviceThatIsGoneIsToldUntilItIsBack() async throws {
        let present = Present()
        let openings = Mutex(0)
        let fickle = SoundMix.Part(name: "fickle") { stop throws(MediaError) in
            let count = openings.withLock { openings in
                openings += 1
                return openings
            }
            return count == 1 ? Unplugged(stop) : Microphone(stop, present)
        }
        let reader = try read([present.part, fickle])
        var told: [String] = []
        while told.count < 2, let event = await reader.next() {
            switch event {
            case .item(.lost(let name, let error)): told.append("\(name): \(error.message)")
            case .item(.back(let name)): told.append("\(name) is back")
            case .failed(let error): throw error
            case .opened, .gone, .item: continue
            }
        }
        #expect(told == ["fickle: it is unplugged", "fickle is back"])
    }

    @Test func stoppingAMixEndsItsDevices() async throws {
        let present = Present()
        let reader = try read([present.part, present.part])
        guard case .opened(let contents) = await reader.next(), case .item(.sound(let buffer)) = await reader.next()
        else {
            Issue.record("there is no sound")
            return
        }
        #expect(buffer.format == contents.sound)
        reader.stop()
        #expect(await Patience.wait { present.count.withLock { $0 == (2, 2) } })
    }
}
