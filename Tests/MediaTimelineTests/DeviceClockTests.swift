// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTimeline
import MediaTypes
import Testing

/// Simulates devices whose buffers arrive late by a random delay.
@Suite struct DeviceClockTests {
    /// A device with its own rate, in a system that is busy.
    private struct Device {
        var drift = 0.0
        var framesPerBuffer = 480
        /// The longest usual delay of a buffer in seconds.
        var jitter = 0.005
        var state: UInt64 = 7
        /// The frames that the device has captured, and how many of them it did not count.
        var captured: Int64 = 0
        var uncounted: Int64 = 0
        /// What the system's clock is ahead of the true time.
        var clockOffset = 12_345.678

        mutating func random() -> Double {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Double(state >> 11) / Double(UInt64(1) << 53)
        }

        func time(_ frame: Int64) -> Double { Double(frame) / (48000 * (1 + drift * 1e-6)) }

        /// Returns the next buffer: the device's count, its arrival, and the true time of its first frame.
        mutating func next(delay: Double = 0) -> (position: Int64, arrival: MediaTime, truth: Double) {
            let first = captured
            captured += Int64(framesPerBuffer)
            let arrival = time(captured) + random() * jitter + delay + clockOffset
            return (
                first - uncounted, MediaTime(seconds: arrival, preferredTimescale: 1_000_000_000),
                time(first) + clockOffset
            )
        }
    }

    /// The largest error, and the largest step between successive times other than the duration of the buffer.
    private func run(
        _ clock: inout DeviceClock,
        _ device: inout Device,
        seconds: Double,
        delay: (Double) -> Double = { _ in 0 }
    ) -> (error: Double, step: Double) {
        var (error, step) = (0.0, 0.0)
        var previous: (position: Int64, time: Double)?
        let end = device.time(device.captured) + seconds
        while device.time(device.captured) < end {
            let (position, arrival, truth) = device.next(delay: delay(device.time(device.captured)))
            let time = clock.place(position: position, count: device.framesPerBuffer, arrival: arrival).seconds
            error = max(error, abs(time - truth))
            if let previous {
                let expected = Double(position - previous.position) / 48000
                step = max(step, abs(time - previous.time - expected))
            }
            previous = (position, time)
        }
        return (error, step)
    }

    @Test(arguments: [0, 200, -200, 50], [480, 1024, 4800])
    func jitterAndDriftAreRemoved(drift: Double, framesPerBuffer: Int) throws {
        var device = Device(drift: drift, framesPerBuffer: framesPerBuffer)
        var clock = DeviceClock(ticksPerSecond: 48000)
        #expect(clock.drift == nil && !clock.isSettled)
        let start = run(&clock, &device, seconds: 15)
        #expect(start.error < 0.006, "\(start)")
        #expect(clock.isSettled)
        let steady = run(&clock, &device, seconds: 600)
        #expect(steady.error < 0.002 && steady.step < 0.001, "\(steady)")
        #expect(clock.restarts == 0)
        #expect(abs(try #require(clock.drift) - drift) < 15, "\(String(describing: clock.drift))")
    }

    /// Frames that the device counts as lost, buffers that the system lost, and a process that stood still.
    @Test func dropoutsAndStallsChangeNothing() {
        var device = Device(drift: -200)
        var clock = DeviceClock(ticksPerSecond: 48000)
        _ = run(&clock, &device, seconds: 20)
        for length in [0.01, 0.3, 5] {
            device.captured += Int64(length * 48000)
            let after = run(&clock, &device, seconds: 10)
            #expect(after.error < 0.002, "\(length) s lost: \(after)")
            // For this long nobody has read the device; then everything arrives at once.
            let start = device.time(device.captured)
            let stalled = run(&clock, &device, seconds: length + 10) { max(start + length - $0, 0) }
            #expect(stalled.error < 0.002 && stalled.step < 0.001, "\(length) s stalled: \(stalled)")
        }
        #expect(clock.restarts == 0)
    }

    /// A system under load, whose buffers are often very late.
    @Test func rareOnTimeBuffersSuffice() {
        var device = Device(drift: 200)
        var clock = DeviceClock(ticksPerSecond: 48000)
        _ = run(&clock, &device, seconds: 20)
        var number = 0
        let loaded = run(&clock, &device, seconds: 120) { _ in
            number += 1
            return number.isMultiple(of: 20) ? 0 : 0.08
        }
        #expect(loaded.error < 0.002 && loaded.step < 0.001, "\(loaded)")
        #expect(clock.restarts == 0)
    }

    /// The clock is set, or frames are lost that the device did not count: times are right again two seconds later.
    @Test(arguments: [3600, -3600, 0.3, 0.05, -0.05])
    func jumpsRestart(jump: Double) throws {
        var device = Device(drift: 200)
        var clock = DeviceClock(ticksPerSecond: 48000)
        _ = run(&clock, &device, seconds: 60)
        let drift = try #require(clock.drift)
        device.clockOffset += jump
        _ = run(&clock, &device, seconds: 2.2)
        #expect(clock.restarts == 1)
        // The rate is known, and the offset nearly so.
        let after = run(&clock, &device, seconds: 10)
        #expect(after.error < 0.002 && after.step < 0.001, "\(after)")
        #expect(abs(try #require(clock.drift) - drift) < 50)
        let later = run(&clock, &device, seconds: 60)
        #expect(later.error < 0.002 && clock.restarts == 1, "\(later)")
    }

    @Test func framesThatWereNotCounted() {
        var device = Device(drift: 200)
        var clock = DeviceClock(ticksPerSecond: 48000)
        _ = run(&clock, &device, seconds: 60)
        device.captured += 4800
        device.uncounted += 4800
        _ = run(&clock, &device, seconds: 2.2)
        let after = run(&clock, &device, seconds: 10)
        #expect(after.error < 0.002 && clock.restarts == 1, "\(after)")
    }

    /// A single arrival that is wrong, in whichever direction.
    @Test(arguments: [-1000.0, -0.5, 0.5, 1000])
    func strayArrivalsDoNotCount(by distance: Double) {
        var device = Device()
        var clock = DeviceClock(ticksPerSecond: 48000)
        _ = run(&clock, &device, seconds: 30)
        let (position, arrival, truth) = device.next(delay: distance)
        let time = clock.place(position: position, count: 480, arrival: arrival)
        #expect(abs(time.seconds - truth) < 0.002)
        let after = run(&clock, &device, seconds: 10)
        #expect(after.error < 0.002 && clock.restarts == 0)
    }

    @Test func aKnownInterruptionRestartsAtOnce() {
        var device = Device(drift: 100)
        var clock = DeviceClock(ticksPerSecond: 48000)
        clock.restart()
        #expect(clock.restarts == 0)
        _ = run(&clock, &device, seconds: 30)
        device.clockOffset += 5
        clock.restart()
        let after = run(&clock, &device, seconds: 5)
        #expect(after.error < 0.006 && clock.restarts == 1)
        // A device that counts from zero again was reset.
        device.uncounted = device.captured
        #expect(run(&clock, &device, seconds: 5).error < 0.006)
        #expect(clock.restarts == 2)
    }

    @Test func buffersWithoutArrivalFollow() {
        var clock = DeviceClock(ticksPerSecond: 1000)
        #expect(!clock.place(position: 0, count: 10, arrival: .invalid).isValid)
        let second = MediaTime(value: 100, timescale: 1)
        #expect(clock.place(position: 10, count: 10, arrival: second).seconds == 99.99)
        #expect(clock.place(position: 20, count: 10, arrival: .invalid).seconds == 100)
        #expect(clock.place(position: 30, count: 0, arrival: .invalid).seconds == 100.01)
    }

    @Test func nonsenseDoesNotTrap() {
        var policy = DeviceClock.Policy()
        (policy.window, policy.jump, policy.confirmation) = (.nan, -1, .infinity)
        var clock = DeviceClock(ticksPerSecond: -5, policy: policy)
        #expect(clock.policy == DeviceClock.Policy() && clock.ticksPerSecond == 1)
        let (first, last) = (MediaTime(value: .min, timescale: 3), MediaTime(value: .max, timescale: 1))
        let times = [MediaTime.zero, .invalid, first, last]
        for position in [0, .max, .min, 1 << 49, -(1 << 49), 5] as [Int64] {
            for count in [0, .max, .min, 10] {
                for time in times { _ = clock.place(position: position, count: count, arrival: time) }
            }
        }
        clock.restart()
        #expect(clock.place(position: 5, count: 1, arrival: .zero).seconds == -1)
    }
}
