// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTimeline
import MediaTypes
import Testing

@Suite struct AudioPlacementTests {
    private let rate = 48000

    /// An encoder that does what it is told, with buffers of 1024 samples.
    private struct Encoder {
        var placement: AudioPlacement
        var position: Int64 = 0
        /// The extra samples per sample.
        var change = 0.0
        var fraction = 0.0

        mutating func encode(_ time: MediaTime, _ count: Int = 1024) -> [AudioPlacement.Step] {
            let steps = placement.place(at: time, count: count, position: position)
            var used = count
            for step in steps {
                switch step {
                case .insertSilence(let count): position += Int64(count)
                case .skip(let count): used -= count
                case .limit(let count): used = min(used, count)
                case .stretch(let samples): change = samples.map { 1 / Double($0) } ?? 0
                }
            }
            fraction += Double(used) * change
            let whole = fraction.rounded(.towardZero)
            fraction -= whole
            position += Int64(used) + Int64(whole)
            return steps
        }
    }

    private func time(_ samples: Int64) -> MediaTime { MediaTime(value: samples, timescale: 48000) }

    @Test func exactTimesNeedNothing() {
        var encoder = Encoder(placement: AudioPlacement(sampleRate: rate))
        for index in 0..<1000 { #expect(encoder.encode(time(Int64(index) * 1024)) == []) }
        #expect(encoder.position == 1_024_000)
        #expect(encoder.placement.jumps == 0 && !encoder.placement.hasStretched)
    }

    /// Matroska and FLV round to milliseconds, transport streams to 1/90000 s, AVI knows frame numbers only.
    @Test(arguments: [1000, 90000, 600] as [Int32], [MediaTime.Rounding.nearest, .down, .up])
    func roundedTimesNeedNothing(timescale: Int32, rounding: MediaTime.Rounding) {
        var encoder = Encoder(placement: AudioPlacement(sampleRate: 44100))
        for index in 0..<20000 {
            let exact = MediaTime(value: Int64(index) * 1024, timescale: 44100)
            let steps = encoder.encode(exact.converted(to: timescale, rounding: rounding))
            #expect(index == 0 || steps == [], "buffer \(index)")
        }
        #expect(!encoder.placement.hasStretched)
    }

    @Test func buffersWithoutTimesFollow() {
        var encoder = Encoder(placement: AudioPlacement(sampleRate: rate))
        #expect(encoder.encode(.invalid) == [])
        #expect(encoder.encode(.invalid) == [])
        #expect(encoder.encode(time(2048)) == [])
        #expect(encoder.position == 3072)
    }

    @Test func lateSoundBeginsWithSilence() {
        var encoder = Encoder(placement: AudioPlacement(sampleRate: rate))
        #expect(encoder.encode(time(240_000)) == [.insertSilence(240_000)])
        #expect(encoder.encode(time(241_024)) == [])
        #expect(encoder.placement.jumps == 0 && encoder.placement.inserted == 0)
        // Also by less than what counts as a hole.
        var little = Encoder(placement: AudioPlacement(sampleRate: rate))
        #expect(little.encode(time(10)) == [.insertSilence(10)])
    }

    @Test func soundBeforeZeroIsCut() {
        var encoder = Encoder(placement: AudioPlacement(sampleRate: rate))
        #expect(encoder.encode(time(-1500)) == [.skip(1024)])
        #expect(encoder.encode(time(-476)) == [.skip(476)])
        #expect(encoder.encode(time(548)) == [])
        #expect(encoder.position == 1572)
    }

    @Test func holesBecomeSilenceAndOverlapsAreCut() {
        var encoder = Encoder(placement: AudioPlacement(sampleRate: rate))
        for index in 0..<10 { #expect(encoder.encode(time(Int64(index) * 1024)) == []) }
        #expect(encoder.encode(time(10240 + 48000)) == [.insertSilence(48000)])
        #expect(encoder.encode(time(59264)) == [])
        // Buffers without a time have that after the previous one, also within an overlap.
        #expect(encoder.encode(time(60288 - 24000)) == [.skip(1024)])
        for _ in 0..<22 { #expect(encoder.encode(.invalid) == [.skip(1024)]) }
        #expect(encoder.encode(.invalid) == [.skip(24000 - 23 * 1024)])
        #expect(encoder.encode(.invalid) == [])
        #expect(encoder.placement.inserted == 48000)
        #expect(encoder.placement.skipped == 24000)
        #expect(encoder.placement.jumps == 2)
    }

    @Test func endsAtTheEnd() {
        var encoder = Encoder(placement: AudioPlacement(sampleRate: rate, end: MediaTime(value: 1, timescale: 10)))
        for index in 0..<4 { #expect(encoder.encode(time(Int64(index) * 1024)) == []) }
        #expect(encoder.encode(time(4096)) == [.limit(704)])
        for index in 5..<50 { #expect(encoder.encode(time(Int64(index) * 1024)) == [.limit(0)]) }
        #expect(encoder.position == 4800)
        #expect(encoder.placement.jumps == 0 && !encoder.placement.hasStretched)
        // A hole does not reach beyond the end either.
        var other = Encoder(placement: AudioPlacement(sampleRate: rate, end: MediaTime(value: 1, timescale: 10)))
        #expect(other.encode(time(48000)) == [.insertSilence(4800), .limit(0)])
        #expect(other.position == 4800)
    }

    /// A device of 200 ppm for two hours, and the worst that is corrected.
    @Test(arguments: [200e-6, -200e-6, 1000e-6, -1000e-6], [0.0, 0.01])
    func driftIsCorrectedWithoutJumps(drift: Double, jitter: Double) {
        var encoder = Encoder(placement: AudioPlacement(sampleRate: rate))
        var worst = 0.0
        var state: UInt64 = 1
        for index in 0..<(7200 * 48000 / 1024) {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let noise = (Double(state >> 33) / Double(UInt32.max >> 1) - 0.5) * jitter
            let exact = Double(index) * 1024 * (1 + drift) / 48000
            worst = max(worst, abs(exact - Double(encoder.position) / 48000))
            // The first time is exact, as it is the origin.
            let told = index == 0 ? 0 : exact + noise
            let steps = encoder.encode(MediaTime(seconds: told, preferredTimescale: 1_000_000))
            for step in steps {
                guard case .stretch = step else {
                    Issue.record("\(step) in buffer \(index)")
                    return
                }
            }
        }
        #expect(worst < 0.0125, "\(worst) s")
        #expect(encoder.placement.hasStretched && encoder.placement.jumps == 0)
    }

    /// A known loss counts exactly, however short it is.
    @Test func lossesAreClosedExactly() {
        var placement = AudioPlacement(sampleRate: rate)
        #expect(placement.place(at: .zero, count: 1024, position: 0) == [])
        let steps = placement.place(at: time(2048), count: 1024, position: 1024, followsLoss: true)
        #expect(steps == [.insertSilence(1024)])
        // Files have exact times, so that shorter holes than a device's count.
        var ofFile = AudioPlacement(sampleRate: rate, policy: .file)
        #expect(ofFile.place(at: .zero, count: 1024, position: 0) == [])
        #expect(ofFile.place(at: time(2048), count: 1024, position: 1024) == [.insertSilence(1024)])
    }

    /// One percent is too much for a change of the rate; it is closed again and again.
    @Test func sourcesThatAreFarOffStayInStep() {
        var encoder = Encoder(placement: AudioPlacement(sampleRate: rate))
        var worst = 0.0
        for index in 0..<(600 * 48000 / 1024) {
            let exact = Double(index) * 1024 * 1.01 / 48000
            worst = max(worst, abs(exact - Double(encoder.position) / 48000))
            _ = encoder.encode(MediaTime(seconds: exact, preferredTimescale: 1_000_000))
        }
        #expect(worst < 0.15, "\(worst)")
        #expect(encoder.placement.jumps > 10)
    }

    @Test(arguments: [
        MediaTime(value: .max, timescale: 1), .init(value: .max, timescale: 48000),
        .init(value: .min, timescale: 48000),
        .init(value: 1 << 49, timescale: 48000), .init(value: -1 << 49, timescale: 48000),
        .init(value: 86_401, timescale: 1),
    ])
    func absurdTimesAreIgnored(time: MediaTime) {
        var encoder = Encoder(placement: AudioPlacement(sampleRate: rate))
        #expect(encoder.encode(time) == [])
        #expect(encoder.encode(.zero) != [.insertSilence(1)])
        #expect(encoder.encode(time) == [] && encoder.encode(.invalid) == [])
    }

    @Test func numbersAtTheLimitsDoNotTrap() {
        for count in [Int.min, -1, 0, .max] {
            for position in [Int64.min, 0, .max] {
                for end in [
                    nil, MediaTime.zero, MediaTime(value: .max, timescale: 1), MediaTime(value: -5, timescale: 1),
                ] {
                    var placement = AudioPlacement(sampleRate: .max, end: end)
                    _ = placement.place(at: .zero, count: count, position: position)
                    _ = placement.place(at: MediaTime(value: 1, timescale: 1), count: count, position: position)
                    _ = placement.place(at: .invalid, count: count, position: position)
                }
            }
        }
    }

    @Test(arguments: [0, -1, .infinity, .nan, .greatestFiniteMagnitude, .leastNonzeroMagnitude] as [Double])
    func limitsAtTheLimitsDoNotTrap(value: Double) {
        let paths: [WritableKeyPath<AudioPlacement.Policy, Double>] = [
            \.jump, \.largestDifference, \.tolerance, \.averaging, \.correction, \.largestChange, \.longestGap,
        ]
        for path in paths {
            var policy = AudioPlacement.Policy()
            policy[keyPath: path] = value
            var encoder = Encoder(placement: AudioPlacement(sampleRate: rate, policy: policy))
            for index in 0..<2000 {
                let exact = Double(index) * 1024 * 1.0005 / 48000
                _ = encoder.encode(MediaTime(seconds: exact, preferredTimescale: 1_000_000))
            }
            #expect(encoder.position > 1_000_000)
        }
    }
}
