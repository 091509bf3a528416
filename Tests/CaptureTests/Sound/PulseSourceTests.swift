// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import Glibc
import MediaTimeline
import MediaTypes
import TestSupport
import Testing

@testable import Capture

extension SoundServerTests {
    /// Capture from a real server, with a null sink in place of a sound card.
    @Suite(.blocks) struct PulseSourceTests {
        /// What is captured is what was played, sample by sample.
        @Test(arguments: SoundServer.Kind.allCases, [AudioFormat.SampleType.int16, .float32])
        func samplesAreThosePlayed(kind: SoundServer.Kind, type: AudioFormat.SampleType) async throws {
            // PipeWire computes in floating-point numbers, which loses nothing of 16 bits, and captures them as such.
            try await PlainThread.result(name: "capture") { () throws(MediaError) in
                try mediaError {
                    let server = try SoundServer(kind)
                    if type == .float32, kind == .pulseAudio {
                        try server.control("unload-module", "module-null-sink")
                        try server.control(
                            "load-module",
                            "module-null-sink",
                            "sink_name=out",
                            "format=float32le",
                            "rate=48000"
                        )
                    }
                    var values = SplitMix(7)
                    let played = (0..<48000 * 2).map { _ in Int16(truncatingIfNeeded: values.next()) / 2 | 1 }
                    // PulseAudio's monitors miss the first milliseconds of a new stream, which the sink renders anew.
                    let silence = [Int16](repeating: 0, count: 19200)
                    let file = try server.folder.write(bytes(silence + played + silence, as: type), to: "played")
                    // On a busy machine, a server may run out of sound while it plays.
                    var isExact = false
                    for _ in 0..<5 where !isExact {
                        let source = try PulseSource(
                            .init(.named("out.monitor"), server: server.address),
                            stop: StopSignal()
                        )
                        #expect(source.name == "out.monitor")
                        #expect(source.format.layout == .stereo)
                        #expect(source.format.sampleType == (kind == .pipeWire ? .float32 : type))
                        let player = try server.play(file, format: type == .int16 ? "s16le" : "float32le")
                        let captured = try capture(source, untilSilenceAfter: played.count)
                        #expect(player.finish() == 0, "\(server.folder.text("player"))")
                        let expected = played.map { Float($0) / 32768 }
                        isExact = captured.starts(with: expected) && captured[expected.count...].allSatisfy { $0 == 0 }
                    }
                    #expect(isExact)
                }
            }
        }

        private func bytes(_ samples: [Int16], as type: AudioFormat.SampleType) -> [UInt8] {
            type == .int16
                ? samples.withUnsafeBytes(Array.init)
                : samples.map { Float($0) / 32768 }.withUnsafeBytes(Array.init)
        }

        /// Returns the sound from the first sample that is not zero, until as many samples and some silence have come.
        private func capture(_ source: PulseSource, untilSilenceAfter count: Int) throws -> [Float] {
            var samples: [Float] = []
            let end = MonotonicClock.now.seconds + 60
            while samples.count < count + 9600, MonotonicClock.now.seconds < end {
                let sound = try source.read()
                #expect(sound.lostFrames == 0)
                let new = sound.buffer.floats
                samples += samples.isEmpty ? Array(new.drop { $0 == 0 }) : new
            }
            return samples
        }

        /// The times of clicks are those at which they are heard.
        @Test(arguments: SoundServer.Kind.allCases)
        func timesAreThoseOfTheSound(kind: SoundServer.Kind) async throws {
            try await PlainThread.result(name: "capture") { () throws(MediaError) in
                try mediaError {
                    let server = try SoundServer(kind)
                    let stop = try StopSignal()
                    let player = try PulsePlayer(server: server.address, stop: stop)
                    // The sink changes its latency at the beginning.
                    let begin = MonotonicClock.now.seconds
                    while MonotonicClock.now.seconds < begin + 2 {
                        try player.work()
                        usleep(5000)
                    }
                    let source = try PulseSource(.init(.systemSound, server: server.address), stop: stop)
                    var clock = DeviceClock(ticksPerSecond: Int32(source.format.sampleRate))
                    var position: Int64 = 0
                    var differences: [Double] = []
                    var arrivals: [Double] = []
                    while differences.count < 12 {
                        try player.work()
                        let sound = try source.read()
                        let time = clock.place(
                            position: position,
                            count: sound.buffer.frameCount,
                            arrival: sound.arrival
                        )
                        position += Int64(sound.buffer.frameCount)
                        arrivals.append(sound.arrival.seconds - Double(position) / Double(source.format.sampleRate))
                        guard let zero = player.zero, let frame = sound.buffer.firstLoudFrame else { continue }
                        let heard = time.seconds + Double(frame) / Double(source.format.sampleRate)
                        let clicks = (heard - zero - 0.25) / 0.5
                        differences.append((clicks - clicks.rounded()) * 0.5)
                    }
                    // Most of them: a server that a busy machine holds up reports other times for a while.
                    // PipeWire's reports to players and recorders differ by half of its quantum of 21 ms.
                    let usual = differences.map(abs).sorted()[differences.count / 2]
                    #expect(usual < (kind == .pipeWire ? 0.025 : 0.005), "\(differences)")
                    arrivals.sort()
                    #expect(arrivals[arrivals.count * 3 / 4] - arrivals[arrivals.count / 4] < 0.01)
                }
            }
        }

        /// A microphone is the default, and its sound is never in the future.
        @Test func microphonesAreTheDefault() async throws {
            try await PlainThread.result(name: "capture") { () throws(MediaError) in
                try mediaError {
                    let server = try SoundServer(.pulseAudio)
                    try server.control(
                        "load-module",
                        "module-sine-source",
                        "source_name=mic",
                        "rate=44100",
                        "frequency=441"
                    )
                    try server.control("set-default-source", "mic")
                    let source = try PulseSource(.init(server: server.address), stop: StopSignal())
                    #expect(source.name == "mic")
                    #expect(source.format.sampleRate == 44100)
                    #expect(source.format.layout == .mono)
                    var samples: [Float] = []
                    while samples.count < 44100 {
                        let sound = try source.read()
                        #expect(sound.arrival <= MonotonicClock.now)
                        #expect(sound.lostFrames == 0)
                        samples += sound.buffer.floats
                    }
                    let crossings = zip(samples, samples.dropFirst()).filter { $0 < 0 && $1 >= 0 }.count
                    #expect(abs(crossings - samples.count / 100) <= 1)
                }
            }
        }

        /// A suspended source delivers nothing, and what is missed is counted.
        @Test func suspensionIsNoError() async throws {
            try await PlainThread.result(name: "capture") { () throws(MediaError) in
                try mediaError {
                    let server = try SoundServer(.pulseAudio)
                    let source = try PulseSource(.init(.systemSound, server: server.address), stop: StopSignal())
                    let before = try source.read()
                    try server.control("suspend-sink", "out", "1")
                    try PlainThread.start(name: "resume") {
                        usleep(700_000)
                        try? server.control("suspend-sink", "out", "0", output: "resume")
                    }
                    // What was captured before is delivered first.
                    var (after, frames, longest) = (before, 0, 0.0)
                    while longest < 0.4 {
                        let begin = MonotonicClock.now.seconds
                        after = try source.read()
                        longest = MonotonicClock.now.seconds - begin
                        frames += after.buffer.frameCount + after.lostFrames
                    }
                    for _ in 0..<20 {
                        after = try source.read()
                        frames += after.buffer.frameCount + after.lostFrames
                    }
                    let elapsed = (after.arrival - before.arrival).seconds
                    #expect(abs(elapsed - Double(frames) / 48000) < 0.02)
                    #expect(elapsed > 0.9)
                }
            }
        }

        /// A reader that is too slow loses sound, and is told how much.
        @Test(arguments: SoundServer.Kind.allCases)
        func overrunsAreCounted(kind: SoundServer.Kind) async throws {
            try await PlainThread.result(name: "capture") { () throws(MediaError) in
                try mediaError {
                    let server = try SoundServer(kind)
                    var request = PulseSource.Request(.systemSound, server: server.address)
                    // The server keeps 4 MB, about a second of this.
                    (request.sampleRate, request.channelCount) = (192_000, 8)
                    let source = try PulseSource(request, stop: StopSignal())
                    var before = try source.read()
                    for _ in 0..<20 { before = try source.read() }
                    let begin = MonotonicClock.now.seconds
                    while MonotonicClock.now.seconds < begin + 5 { usleep(10_000) }
                    var (after, frames, lost) = (before, 0, 0)
                    let end = MonotonicClock.now.seconds + 60
                    var remaining = 50
                    while remaining > 0, MonotonicClock.now.seconds < end {
                        after = try source.read()
                        frames += after.buffer.frameCount
                        lost += after.lostFrames
                        if lost > 0 { remaining -= 1 }
                    }
                    let difference = (after.arrival - before.arrival).seconds - Double(frames + lost) / 192_000
                    #expect(lost > 192_000, "\(lost)")
                    #expect(abs(difference) < 0.06, "\(difference)")
                }
            }
        }

        /// The end of the server ends a wait, and so does the removal of the source.
        @Test(arguments: SoundServer.Kind.allCases, [false, true])
        func aSourceThatIsGoneIsUnavailable(kind: SoundServer.Kind, isKilled: Bool) async throws {
            let server = try SoundServer(kind)
            let error = try await PlainThread.result(name: "capture") { () throws(MediaError) -> MediaError? in
                let stop = try StopSignal()
                let source = try PulseSource(.init(.systemSound, server: server.address), stop: stop)
                _ = try source.read()
                try PlainThread.start(name: "kill") {
                    usleep(50_000)
                    if isKilled { server.kill() } else { try? server.control("unload-module", "module-null-sink") }
                }
                do throws(MediaError) {
                    while true { _ = try source.read() }
                } catch {
                    return error
                }
            }
            #expect(error?.code == .unavailable, "\(String(describing: error))")
        }

        /// A signal ends a wait for a source that delivers nothing, and every later one.
        @Test func stopEndsAWait() async throws {
            let server = try SoundServer(.pulseAudio)
            let stop = try StopSignal()
            let (errors, seconds) = try await PlainThread.result(name: "capture") {
                () throws(MediaError) -> ([MediaError.Code], Double) in
                let source = try PulseSource(.init(.systemSound, server: server.address), stop: stop)
                _ = try source.read()
                try mediaError { try server.control("suspend-sink", "out", "1") }
                let begin = MonotonicClock.now
                try PlainThread.start(name: "stop") {
                    usleep(100_000)
                    stop.stop()
                }
                var codes: [MediaError.Code] = []
                for _ in 0..<2 {
                    do throws(MediaError) {
                        while true { _ = try source.read() }
                    } catch {
                        codes.append(error.code)
                    }
                }
                return (codes, (MonotonicClock.now - begin).seconds)
            }
            #expect(errors == [.cancelled, .cancelled])
            #expect(seconds >= 0.1)
            #expect(throws: MediaError.self) { try PulseSource.sources(server: server.address, stop: stop) }
        }

        @Test(arguments: SoundServer.Kind.allCases)
        func sourcesAreListed(kind: SoundServer.Kind) throws {
            let server = try SoundServer(kind)
            let stop = try StopSignal()
            let sources = try PulseSource.sources(server: server.address, stop: stop)
            let monitor = try #require(sources.first { $0.name == "out.monitor" })
            #expect(monitor.isMonitor)
            #expect(monitor.isDefaultMonitor)
            #expect(!monitor.text.isEmpty)
            #expect(monitor.format?.sampleRate == 48000)
            #expect(monitor.format?.layout == .stereo)

            let error = #expect(throws: MediaError.self) {
                try PulseSource(.init(.named("nothing"), server: server.address), stop: stop)
            }
            #expect(error?.code == .unavailable)
            #expect(error?.given == "nothing")
            #expect(error?.allowed?.contains("out.monitor") == true)
        }

        @Test func theServerConverts() async throws {
            let server = try SoundServer(.pulseAudio)
            var request = PulseSource.Request(.systemSound, server: server.address)
            (request.sampleRate, request.channelCount, request.bufferLength) = (16000, 1, 0.01)
            let source = try PulseSource(request, stop: StopSignal())
            #expect(source.format == AudioFormat(sampleType: .int16, sampleRate: 16000, layout: .mono))
            request.channelCount = 6
            #expect(try PulseSource(request, stop: StopSignal()).format.layout == .surround5Point1)
        }

        @Test func errorsExplain() throws {
            let stop = try StopSignal()
            let refusal = #expect(throws: MediaError.self) {
                try PulseSource(.init(server: "unix:/tmp/no-such-folder/native"), stop: stop)
            }
            #expect(refusal?.code == .unavailable)
            #expect(refusal?.given == "unix:/tmp/no-such-folder/native")
            #expect(refusal?.remedies.isEmpty == false)
            for change in [{ $0.sampleRate = 10 }, { $0.channelCount = 0 }, { $0.bufferLength = .nan }]
                as [(inout PulseSource.Request) -> Void]
            {
                var request = PulseSource.Request()
                change(&request)
                let error = #expect(throws: MediaError.self) { try PulseSource(request, stop: stop) }
                #expect(error?.code == .invalidArgument)
                #expect(error?.allowed != nil)
            }
        }
    }
}
