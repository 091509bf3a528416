// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import GOPPlanning
import MediaTypes
import TestSupport
import Testing

@testable import HardwareEncoder

/// The delays of buffering periods, against a decoder that knows nothing but the stream.
@Suite struct ReferenceDecoderClockTests {
    /// The hypothetical reference decoder of H.264 C.1, with exact times, as a reader of the stream sees it.
    private struct ReferenceDecoder {
        /// An access unit in coding order.
        struct Event {
            /// `cpb_removal_delay` in ticks.
            var removalDelay: Int
            /// `initial_cpb_removal_delay` where a buffering period begins.
            var initialDelay: Int?
            /// As a byte stream.
            var bits: Int
        }

        let rate: Int
        let size: Int
        let timing: H264VideoUsability.Timing

        /// How many of its units a second has.
        private var second: Int128 { Int128(rate) * 90_000 * Int128(timing.timeScale) }

        /// Bounds of C.3 that are missed, bits that come too late, and bits that find no room, if decoding begins at
        /// the first of these pictures.
        func faults(_ events: some Collection<Event>) -> [String] {
            var faults: [String] = []
            // Of the last bit and of the picture's removal, and of the removal with which the period began.
            var (arrival, removal, period): (Int128, Int128, Int128) = (0, 0, 0)
            let total = events.reduce(0) { $0 + $1.bits }
            var gone = 0
            for (index, event) in events.enumerated() {
                let delay = Int128(event.initialDelay ?? 0) * second / 90_000
                if index == 0 {
                    removal = delay
                } else {
                    let ticks = Int128(event.removalDelay) * Int128(timing.numUnitsInTick)
                    removal = period + ticks * second / Int128(timing.timeScale)
                    let gap = removal - arrival
                    let step = second / 90_000
                    if event.initialDelay != nil, abs(gap - delay) >= step { faults.append("C.3 at \(index)") }
                }
                if event.initialDelay != nil { period = removal }
                arrival += Int128(event.bits) * second / Int128(rate)
                if arrival > removal { faults.append("underflow at \(index)") }
                // The buffer is fullest just before a picture leaves it.
                let come = min(Int128(total), removal * Int128(rate) / second)
                if come - Int128(gone) > size { faults.append("overflow at \(index)") }
                gone += event.bits
            }
            return faults
        }
    }

    struct Case: CustomTestStringConvertible, Sendable {
        var rate: Int
        var window: Double
        var frameRate: Rational
        var interval: Int
        var bFrames = BFrames.off
        var delimiters = false

        var testDescription: String { "\(rate) bit/s, \(window) s, \(frameRate) frames/s, every \(interval)" }
    }

    private func setup(_ test: Case) throws -> H264Setup {
        var configuration = EncoderConfiguration(width: 640, height: 360)
        configuration.rateControl = .constantBitRate(test.rate, window: test.window)
        (configuration.frameRate, configuration.bFrames) = (test.frameRate, test.bFrames)
        (configuration.keyFrameInterval.frames, configuration.accessUnitDelimiters) = (test.interval, test.delimiters)
        return try H264Setup(
            configuration,
            capabilities: DriverNumbers.intel.capabilities,
            vendor: DriverNumbers.intel.vendor,
            maximumReorderDepth: nil
        )
    }

    /// A driver that writes pictures of any size that the buffer allows, and fills up when it would run over.
    private struct Driver {
        let setup: H264Setup
        var random: SplitMix
        /// What the buffer holds before the next picture is taken from it, in bits.
        var fullness: Double

        init(_ setup: H264Setup, seed: UInt64) {
            self.setup = setup
            random = SplitMix(seed)
            fullness = Double(setup.device.rate.initialFullness ?? 0)
        }

        /// The coded picture with what it was sent, which counts; 64 bytes are left for what a message may grow.
        mutating func code(_ units: PictureUnits, isIDR: Bool, duration: Double) throws -> [UInt8] {
            let sets = isIDR ? try setup.stream.parameterSets() : []
            let sent = (units.delimiter.map { [$0] } ?? []) + sets + units.messages
            let overhead = try NALUnitFraming.annexB.join(sent).count
            let target = try #require(setup.device.rate.target)
            let income = Double(target.peak) * duration
            let most = Int(fullness / 8) - overhead - 64
            let least = max(8, Int((fullness + income - Double(target.bufferSize ?? 0)) / 8) - overhead + 64)
            let count = Int.random(in: least...max(least, min(most, 5 * Int(income / 8))), using: &random)
            let slice = [isIDR ? 0x65 : 0x41] + Array(repeating: UInt8(0xAA), count: count - 5)
            let stream = try NALUnitFraming.annexB.join(sent + [slice])
            fullness += income - Double(stream.count * 8)
            return stream
        }
    }

    /// What a reader finds in a frame.
    private func event(
        _ data: CodedData,
        sets: [[UInt8]],
        _ sequence: H264SequenceParameterSet
    ) throws -> ReferenceDecoder.Event {
        let units = try data.withUnsafeBytes { memory in
            try NALUnitFraming.lengthPrefixed(.four).nalUnits(in: memory).map { Array(memory[$0]) }
        }
        let types = try units.map { try H264NALUnitHeader(nalUnit: $0).nalUnitType }
        #expect(types.filter { $0 == .sei }.count == 1)
        let sei = try #require(types.firstIndex(of: .sei))
        #expect(types[..<sei].allSatisfy { $0 == .accessUnitDelimiter })
        let messages = try SEIMessage.messages(in: units[sei], codec: .h264)
        let period = try messages.first { $0.type == .bufferingPeriod }
            .map { try H264BufferingPeriod(payload: $0.payload, for: sequence) }
        let timing = try #require(messages.first { $0.type == .pictureTiming })
        return ReferenceDecoder.Event(
            removalDelay: Int(try H264PictureTiming(payload: timing.payload, for: sequence).cpbRemovalDelay),
            initialDelay: period.map { Int($0.nal[0].delay) },
            bits: try NALUnitFraming.annexB.join(sets + units).count * 8
        )
    }

    @Test(arguments: [
        Case(rate: 300_000, window: 1, frameRate: Rational(30), interval: 15),
        Case(rate: 1_000_000, window: 0.5, frameRate: Rational(30000, 1001), interval: 7, bFrames: .maximum(2)),
        Case(rate: 1_234_567, window: 2, frameRate: Rational(24000, 1001), interval: 3, delimiters: true),
        Case(rate: 5_000_000, window: 0.2, frameRate: Rational(60), interval: 1),
        Case(rate: 777_777, window: 1.3, frameRate: Rational(25), interval: 40, bFrames: .maximum(3), delimiters: true),
    ])
    func everyPeriodTellsHowLongItsFirstPictureWaits(test: Case) throws {
        let setup = try setup(test)
        let (sequence, stream) = (setup.stream.sequence, setup.stream)
        var planner = try GOPPlanner(setup.device.structure)
        var messages = PictureMessages(setup)
        var driver = Driver(setup, seed: UInt64(test.rate))
        var clock = ReferenceDecoderClock(
            try #require(DecoderSchedule(sequence)),
            firstDelay: setup.device.rate.initialDelay
        )
        var planned = try (0..<200).flatMap { try planner.add(InputPicture(number: $0)) }
        planned += planner.finish()
        var events: [ReferenceDecoder.Event] = []
        for picture in planned {
            let sent = try messages.units(picture, PixelAttachments(captions: [0xFC, 0x94, 0x2C]))
            let isIDR = picture.kind == .idr
            let bytes = try driver.code(sent, isIDR: isIDR, duration: 1 / test.frameRate.doubleValue)
            let units = isIDR ? try PictureMessages.withInitialDelay(clock.initialDelay, in: sent, of: stream) : sent
            let data = try bytes.withUnsafeBytes { memory in
                try CodedAccessUnit([CodedPiece(bytes: memory)], .h264).coded(
                    delimiter: units.delimiter,
                    inserting: isIDR ? units.messages : [],
                    replacingBufferingPeriod: isIDR
                )
            }
            let event = try event(data, sets: isIDR ? stream.parameterSets() : [], sequence)
            clock.add(bytes: event.bits / 8)
            events.append(event)
        }
        let limit = try #require(stream.rateLimit)
        let timing = try #require(sequence.vui?.timing)
        let decoder = ReferenceDecoder(rate: limit.bitsPerSecond, size: limit.bufferSize, timing: timing)
        #expect(decoder.faults(events) == [])
        let starts = events.indices.filter { events[$0].initialDelay != nil }
        #expect(starts.count >= 200 / test.interval)
        #expect(events[0].initialDelay == Int(setup.device.rate.initialDelay))
        let delays = Set(starts.map { events[$0].initialDelay })
        #expect(delays.count > starts.count / 2)
        // Whoever begins later is not worse off.
        for start in starts { #expect(decoder.faults(events[start...]) == [], "from \(start)") }
        // The same delay for all of them is wrong.
        var constant = events
        for start in starts { constant[start].initialDelay = events[0].initialDelay }
        #expect(!decoder.faults(constant).isEmpty)
    }

    /// By hand: 90000 ticks of a second, 8 bits a byte.
    @Test func delaysByHand() throws {
        var sequence = try setup(Case(rate: 64_000, window: 1, frameRate: Rational(25), interval: 5)).stream.sequence
        var clock = ReferenceDecoderClock(try #require(DecoderSchedule(sequence)), firstDelay: 45_000)
        #expect(clock.initialDelay == 45_000)
        // 320 bytes come in the 3600 units of a frame.
        clock.add(bytes: 320)
        #expect(clock.initialDelay == 45_000)
        // 11.25 units for a byte.
        clock.add(bytes: 321)
        #expect(clock.initialDelay == 44_988)
        clock.add(bytes: 316)
        #expect(clock.initialDelay == 45_033)
        sequence.vui?.nalHRD?.schedules[0].cbrFlag = false
        #expect(DecoderSchedule(sequence) == nil)
        sequence.vui?.nalHRD = nil
        #expect(DecoderSchedule(sequence) == nil)
    }

    /// D.2.2: not zero, and not longer than the buffer takes to fill.
    @Test func delaysStayWithinTheBuffer() throws {
        let sequence = try setup(Case(rate: 64_000, window: 1, frameRate: Rational(25), interval: 5)).stream.sequence
        var clock = ReferenceDecoderClock(try #require(DecoderSchedule(sequence)), firstDelay: 45_000)
        for _ in 0..<50 { clock.add(bytes: 0) }
        #expect(clock.initialDelay == 90_000)
        clock.add(bytes: 50_000)
        #expect(clock.initialDelay == 1)
        // It goes on from where it was, and not from the bound.
        for _ in 0..<94 { clock.add(bytes: 0) }
        #expect(clock.initialDelay == 3600 * 145 + 45_000 - 562_500)
    }
}
