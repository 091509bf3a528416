// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import MediaTypes
import TestSupport
import Testing

@testable import Capture

/// A device whose clock is wrong by some parts per million, without a real clock.
private struct SimulatedDevice {
    let sampleRate: Int
    /// The device's frames per second of the true time.
    let truth: Double
    /// The true time of its first frame.
    let start: Double
    let frames: Int
    var position = 0
    var lost = 0

    init(sampleRate: Int, ppm: Double, start: Double, frames: Int) {
        (self.sampleRate, self.start, self.frames) = (sampleRate, start, frames)
        truth = Double(sampleRate) * (1 + ppm / 1e6)
    }

    /// When the next buffer is complete.
    var end: Double { start + Double(position + frames) / truth }

    /// The next buffer: what it has at a true time.
    mutating func read(late: Double, _ value: (_ from: Double, _ to: Double) -> Float) -> CapturedSound {
        let format = AudioFormat(sampleType: .float32, sampleRate: sampleRate, layout: .mono)
        let arrival = end + late
        let buffer = AudioBuffer(format: format, frameCount: frames) { _, memory in
            let samples = memory.bindMemory(to: Float.self)
            let level = value(start + Double(position) / truth, end)
            guard level != 0 else { return }
            for frame in samples.indices {
                let time = start + Double(position + frame) / truth
                samples[frame] = value(time, time + 1 / truth)
            }
        }
        position += frames
        defer { lost = 0 }
        let time = MediaTime(value: Int64(arrival * 1e9), timescale: 1_000_000_000)
        return CapturedSound(buffer, arrival: time, lostFrames: lost)
    }
}

@Suite(.blocks) struct SoundMixerTests {
    private func time(_ seconds: Double) -> MediaTime {
        MediaTime(value: Int64(seconds * 1e9), timescale: 1_000_000_000)
    }

    /// Whether a click begins in a range of time: at whole multiples of a period.
    private func click(_ period: Double, _ level: Float) -> (Double, Double) -> Float {
        { from, to in (to / period).rounded(.down) > (from / period).rounded(.down) ? level : 0 }
    }

    /// Two devices that are wrong by 200 ppm in both directions, for two hours: the clicks of both stay at their times,
    /// and the output has no gap.
    @Test func driftingClocksStayTogether() async throws {
        try await PlainThread.result(name: "capture") { () throws(MediaError) in
            try mediaError {
                let rate = 1000
                let mixer = try SoundMixer(gains: [0, 0], sampleRate: rate, layout: .mono)
                var devices = [
                    SimulatedDevice(sampleRate: rate, ppm: 200, start: 1000.013, frames: 80),
                    SimulatedDevice(sampleRate: rate, ppm: -200, start: 1000.020, frames: 80),
                ]
                // Both click every ten seconds, the second one five seconds later.
                let values = [click(10, 0.5), { [click = click(10, -0.5)] in click($0 - 5, $1 - 5) }]
                var random = SplitMix(5)
                var (largest, count, gaps) = (0.0, 0, 0)
                var next: Int64?
                var lastClick = [-1.0, -1.0]
                while devices.contains(where: { $0.end < 8200 }) {
                    let index = devices[0].end < devices[1].end ? 0 : 1
                    let late = 0.001 + Double(random.below(4000)) / 1e6
                    let sound = devices[index].read(late: late, values[index])
                    try mixer.append(sound, from: index, now: sound.arrival)
                    while let buffer = try mixer.take(now: sound.arrival) {
                        let start = buffer.presentationTime.value
                        if let next, next != start { gaps += 1 }
                        next = start + Int64(buffer.frameCount)
                        let samples = buffer.floats
                        guard samples.contains(where: { abs($0) > 0.2 }) else { continue }
                        for (frame, sample) in samples.enumerated() where abs(sample) > 0.2 {
                            let heard = Double(start + Int64(frame)) / Double(rate)
                            let device = sample > 0 ? 0 : 1
                            guard heard - lastClick[device] > 1 else { continue }
                            lastClick[device] = heard
                            let offset = heard - Double(device) * 5
                            largest = max(largest, abs(offset - (offset / 10).rounded() * 10))
                            count += 1
                        }
                    }
                }
                #expect(gaps == 0)
                #expect(abs(count - 1440) <= 3)
                #expect(largest < 0.01, "\(largest)")
            }
        }
    }

    /// Sound that is not changed comes through exactly, at its time; the sum is limited.
    @Test(arguments: [(0.5, 0.25, 0.75), (0.8, 0.7, 1), (-0.9, -0.9, -1)] as [(Float, Float, Float)])
    func samplesAreAdded(first: Float, second: Float, sum: Float) throws {
        let mixer = try SoundMixer(gains: [0, 0], layout: .mono)
        var devices = [0, 1].map { _ in SimulatedDevice(sampleRate: 48000, ppm: 0, start: 10, frames: 1024) }
        var samples: [Float] = []
        for _ in 0..<20 {
            for (index, level) in [first, second].enumerated() {
                let sound = devices[index].read(late: 0) { _, _ in level }
                try mixer.append(sound, from: index, now: sound.arrival)
            }
            while let buffer = try mixer.take(now: time(devices[0].end)) {
                if samples.isEmpty { #expect(abs(buffer.presentationTime.seconds - 10) < 1e-4) }
                samples += buffer.floats
            }
        }
        let isRight = samples.allSatisfy { $0 == sum }
        #expect(isRight)
        #expect(samples.count >= 48000 * 4 / 10)
    }

    @Test func gainIsInDecibels() throws {
        let mixer = try SoundMixer(gains: [-6], layout: .stereo)
        var device = SimulatedDevice(sampleRate: 48000, ppm: 0, start: 10, frames: 1024)
        let sound = device.read(late: 0) { _, _ in 0.5 }
        try mixer.append(sound, from: 0, now: sound.arrival)
        try mixer.end(0)
        let buffer = try #require(try mixer.take(now: sound.arrival))
        #expect(buffer.frameCount == 1024)
        // Mono is at -3 dB in both channels.
        let isRight = buffer.floats.allSatisfy { abs($0 - 0.5 * 0.501187 * 0.707107) < 1e-5 }
        #expect(isRight)
        #expect(try mixer.take(now: time(100)) == nil)
    }

    /// An input that falls silent is waited for for 200 ms, and is in place when it is back. Nothing of what it has
    /// delivered before is lost.
    @Test(arguments: [0.1, 0.5, 30], [true, false])
    func silentInputsDoNotBlock(silence: Double, isCounted: Bool) throws {
        let mixer = try SoundMixer(gains: [0, 0], layout: .mono)
        var devices = [
            SimulatedDevice(sampleRate: 48000, ppm: 0, start: 10, frames: 960),
            SimulatedDevice(sampleRate: 48000, ppm: 0, start: 10, frames: 960),
        ]
        var levels: [Int: Int] = [:]
        var (largestLag, samples, hasReopened) = (0.0, 0, false)
        while devices[0].end < 14 + silence {
            let index = devices[0].end <= devices[1].end ? 0 : 1
            let now = devices[index].end
            let sound = devices[index].read(late: 0) { _, _ in index == 0 ? 0.25 : 0.5 }
            try mixer.append(sound, from: index, now: time(now))
            while let buffer = try mixer.take(now: time(now)) {
                for sample in buffer.floats { levels[Int((sample * 100).rounded()), default: 0] += 1 }
                samples += buffer.frameCount
            }
            largestLag = max(largestLag, now - 10 - Double(samples) / 48000)
            if index == 1, devices[1].end > 12, !hasReopened, devices[1].lost == 0,
                devices[1].position < 48000 * 2 + 960
            {
                if isCounted {
                    devices[1].lost = Int(silence * 48000)
                    devices[1].position += devices[1].lost
                } else {
                    // The device is opened again.
                    devices[1] = SimulatedDevice(sampleRate: 48000, ppm: 0, start: now + silence, frames: 960)
                    hasReopened = true
                }
            }
        }
        #expect(largestLag < 0.25)
        // The silence is as long as it was, but for the rest of a packet.
        let silent = Double(levels[25] ?? 0) / 48000
        // The clock notices a gap that is too short for a pause, and not counted, only after two seconds.
        if isCounted || silence > 0.2 { #expect(abs(silent - silence) < 0.002, "\(silent)") }
        #expect((levels[75] ?? 0) + (levels[25] ?? 0) == samples)
    }

    /// With no input at all, the output goes on as silence, and ends with the last input.
    @Test func theOutputGoesOn() throws {
        let mixer = try SoundMixer(gains: [0, 0])
        #expect(try mixer.take(now: time(5)) == nil)
        var device = SimulatedDevice(sampleRate: 48000, ppm: 0, start: 10, frames: 960)
        let sound = device.read(late: 0) { _, _ in 0.5 }
        try mixer.append(sound, from: 0, now: sound.arrival)
        try mixer.append(sound, from: 7, now: sound.arrival)
        #expect(try mixer.take(now: time(10.02)) == nil)
        var seconds = 0.0
        while let buffer = try mixer.take(now: time(20)) { seconds += buffer.duration.seconds }
        #expect(abs(seconds - 9.8) < 0.001)
        try mixer.end(0)
        try mixer.end(1)
        try mixer.append(sound, from: 0, now: time(20))
        #expect(try mixer.take(now: time(30)) == nil)
    }

    /// Absurd times and losses neither trap nor take memory, and leave the input usable.
    @Test func absurdTimesAreHarmless() throws {
        let mixer = try SoundMixer(gains: [0], layout: .mono)
        var device = SimulatedDevice(sampleRate: 48000, ppm: 0, start: 10, frames: 960)
        let sound = device.read(late: 0) { _, _ in 0.5 }
        try mixer.append(sound, from: 0, now: sound.arrival)
        for value in [Int64.max, .min, 0, 1 << 60] {
            for lost in [0, -1, Int.max, 1 << 40] {
                let arrival = MediaTime(value: value, timescale: 1)
                try mixer.append(CapturedSound(sound.buffer, arrival: arrival, lostFrames: lost), from: 0, now: arrival)
                try mixer.append(
                    CapturedSound(sound.buffer, arrival: .invalid, lostFrames: lost),
                    from: 0,
                    now: .invalid
                )
                for now in [arrival, .invalid, .zero] { _ = try mixer.take(now: now) }
            }
        }
    }

    /// A gap of an hour is as long as it was.
    @Test func aLongGapIsFilled() throws {
        let mixer = try SoundMixer(gains: [0], sampleRate: 1000, layout: .mono)
        var frames = 0
        for start in [100.0, 3700] {
            var device = SimulatedDevice(sampleRate: 1000, ppm: 0, start: start, frames: 20)
            for _ in 0..<100 {
                let sound = device.read(late: 0) { _, _ in 0.5 }
                try mixer.append(sound, from: 0, now: sound.arrival)
                while let buffer = try mixer.take(now: sound.arrival) { frames += buffer.frameCount }
            }
        }
        try mixer.end(0)
        while let buffer = try mixer.take(now: time(3800)) { frames += buffer.frameCount }
        #expect(abs(frames - 3_602_000) <= 30)
    }

    @Test func valuesAreChecked() {
        for body in [
            { () throws in try SoundMixer(gains: []) },
            { try SoundMixer(gains: [101]) },
            { try SoundMixer(gains: [0], sampleRate: 0) },
            { try SoundMixer(gains: [0], patience: 0) },
        ] as [() throws -> SoundMixer] {
            let error = #expect(throws: MediaError.self) { try body() }
            #expect(error?.code == .invalidArgument)
        }
    }
}
