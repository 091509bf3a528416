// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import Glibc
import MediaTypes
import Testing

@testable import Capture

@Suite(.blocks) struct ToneSourceTests {
    /// Beeps begin at whole seconds, last 100 ms and have their frequency and level.
    @Test func beepsAreAtWholeSeconds() async throws {
        try await PlainThread.result(name: "capture") { () throws(MediaError) in
            try mediaError {
                var request = ToneSource.Request()
                (request.frequency, request.level, request.sampleRate, request.channelCount) = (500, -6, 8000, 1)
                let source = try ToneSource(request, stop: StopSignal())
                var beep: [Float] = []
                var start = 0.0
                var previousEnd: MediaTime?
                // The first beep may have begun before the source.
                var hasBeenSilent = false
                while true {
                    let sound = try source.read()
                    #expect(sound.arrival <= MonotonicClock.now)
                    let first = sound.arrival - sound.buffer.duration
                    if let previousEnd {
                        #expect(abs((first - previousEnd).seconds - Double(sound.lostFrames) / 8000) < 1e-6)
                    }
                    previousEnd = sound.arrival
                    let samples = sound.buffer.floats
                    if samples.allSatisfy({ $0 == 0 }) {
                        hasBeenSilent = true
                        if !beep.isEmpty { break }
                    } else if hasBeenSilent {
                        if beep.isEmpty { start = first.seconds + Double(samples.firstIndex { $0 != 0 } ?? 0) / 8000 }
                        beep += samples.drop { beep.isEmpty && $0 == 0 }
                    }
                }
                // The sample at the whole second itself is zero.
                #expect(abs(start - start.rounded()) < 0.0002, "\(start)")
                let length = (beep.lastIndex { $0 != 0 } ?? 0) + 2
                #expect(abs(length - 800) <= 1)
                #expect(abs((beep.max() ?? 0) - 0.501) < 0.001)
                let crossings = zip(beep, beep.dropFirst()).filter { $0 < -0.001 && $1 > -0.001 }.count
                #expect((49...51).contains(crossings))
            }
        }
    }

    /// A reader that is late by more than a second is told what it has lost.
    @Test func lateReadersLoseSound() async throws {
        try await PlainThread.result(name: "capture") { () throws(MediaError) in
            try mediaError {
                let source = try ToneSource(stop: StopSignal())
                let before = try source.read()
                let begin = MonotonicClock.now.seconds
                while MonotonicClock.now.seconds < begin + 1.2 { usleep(10_000) }
                let after = try source.read()
                #expect(after.lostFrames > 48000)
                let elapsed = (after.arrival - before.arrival).seconds
                #expect(abs(elapsed - Double(after.lostFrames + after.buffer.frameCount) / 48000) < 1e-6)
            }
        }
    }

    @Test func stopEndsIt() throws {
        let stop = try StopSignal()
        let source = try ToneSource(stop: stop)
        stop.stop()
        let error = #expect(throws: MediaError.self) { try source.read() }
        #expect(error?.code == .cancelled)
    }

    @Test func valuesAreChecked() throws {
        let stop = try StopSignal()
        for change in [
            { $0.frequency = 24001 }, { $0.frequency = .nan }, { $0.level = 1 }, { $0.sampleRate = 0 },
            { $0.channelCount = 9 },
        ] as [(inout ToneSource.Request) -> Void] {
            var request = ToneSource.Request()
            change(&request)
            let error = #expect(throws: MediaError.self) { try ToneSource(request, stop: stop) }
            #expect(error?.code == .invalidArgument)
        }
    }
}
