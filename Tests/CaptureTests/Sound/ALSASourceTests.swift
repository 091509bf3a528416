// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import Glibc
import MediaTypes
import TestSupport
import Testing

@testable import Capture

extension SoundServerTests {
    /// Capture from ALSA's plug-ins, which need no sound card: `file`, which reads a file, and `pulse`.
    @Suite(.blocks) struct ALSASourceTests {
        /// Makes the configuration of ALSA, which a process reads again if it is in another file.
        private func configure(_ text: String, in folder: SoundFolder) throws {
            let all = "</usr/share/alsa/alsa.conf>\n" + text
            let file = try folder.write(Array(all.utf8), to: "asound.conf")
            try #require(rename(file, try #require(getenv("ALSA_CONFIG_PATH"))) == 0)
        }

        /// A device that plays a file, as fast as it is read.
        private func tape(_ folder: SoundFolder) -> String {
            """
            pcm.tape {
                type file
                slave.pcm "null"
                file /dev/null
                infile "\(folder.path)/tape.raw"
                format raw
                hint { show on description "A tape" }
            }
            """
        }

        private func served(_ server: SoundServer) throws {
            let text = "pcm.served { type pulse server \"\(server.address)\" device \"out.monitor\" }\n"
            try configure(text, in: server.folder)
        }

        /// Everything in the file is delivered, in order.
        @Test func samplesAreThoseOfTheDevice() throws {
            let folder = try SoundFolder()
            var values = SplitMix(3)
            let recorded = (0..<96000).map { _ in Int32(truncatingIfNeeded: values.next()) }
            _ = try folder.write(recorded.withUnsafeBytes(Array.init), to: "tape.raw")
            try configure(tape(folder), in: folder)
            var request = ALSASource.Request("tape")
            (request.sampleRate, request.channelCount) = (32000, 1)
            let source = try ALSASource(request, stop: StopSignal())
            #expect(source.format == AudioFormat(sampleType: .int32, sampleRate: 32000, layout: .mono))
            var samples: [Int32] = []
            var last = MediaTime.zero
            while samples.count < recorded.count {
                let sound = try source.read()
                #expect(sound.lostFrames == 0)
                let isLater = sound.arrival >= last && sound.arrival <= MonotonicClock.now
                #expect(isLater)
                last = sound.arrival
                samples += sound.buffer.withUnsafePlanes { Array($0[0].bindMemory(to: Int32.self)) }
            }
            let difference = zip(samples, recorded).enumerated().first { $1.0 != $1.1 }
            #expect(difference == nil, "sample \(difference?.offset ?? 0)")
        }

        /// Sound of a sound server by its plug-in, in real time.
        @Test func aDeviceRunsInRealTime() async throws {
            try await PlainThread.result(name: "capture") { () throws(MediaError) in
                try mediaError {
                    let server = try SoundServer(.pulseAudio)
                    try served(server)
                    var request = ALSASource.Request("served")
                    (request.sampleRate, request.channelCount) = (44100, 1)
                    let source = try ALSASource(request, stop: StopSignal())
                    #expect(source.format.sampleRate == 44100)
                    #expect(source.format.layout == .mono)
                    let first = try next(source, count: 30)
                    let (last, frames) = try next(source, count: 100)
                    let elapsed = (last.arrival - first.0.arrival).seconds
                    #expect(abs(elapsed - Double(frames) / 44100) < 0.5)
                }
            }
        }

        private func next(_ source: ALSASource, count: Int) throws -> (CapturedSound, Int) {
            var sound = try source.read()
            var frames = sound.buffer.frameCount + sound.lostFrames
            for _ in 1..<count {
                sound = try source.read()
                frames += sound.buffer.frameCount + sound.lostFrames
            }
            return (sound, frames)
        }

        /// A signal ends a wait for a device that delivers nothing.
        @Test func stopEndsAWait() async throws {
            try await PlainThread.result(name: "capture") { () throws(MediaError) in
                try mediaError {
                    let server = try SoundServer(.pulseAudio)
                    try served(server)
                    let stop = try StopSignal()
                    let source = try ALSASource(.init("served"), stop: stop)
                    _ = try source.read()
                    try server.control("suspend-sink", "out", "1")
                    try PlainThread.start(name: "stop") {
                        usleep(200_000)
                        stop.stop()
                    }
                    let error = #expect(throws: MediaError.self) { while true { _ = try source.read() } }
                    #expect(error?.code == .cancelled)
                    #expect(throws: MediaError.self) { try source.read() }
                }
            }
        }

        @Test func devicesAreListed() throws {
            let folder = try SoundFolder()
            try configure(tape(folder), in: folder)
            let sources = try ALSASource.sources()
            #expect(sources.contains { $0.name == "tape" && $0.text == "A tape" })
            let allHaveTexts = sources.allSatisfy { !$0.text.isEmpty && !$0.text.contains("\n") }
            #expect(allHaveTexts)
        }

        @Test func inputsAreToldFromPlugins() {
            for name in ["default", "pulse", "hw:CARD=PCH,DEV=0", "plughw:CARD=PCH,DEV=0", "sysdefault:CARD=PCH"] {
                #expect(ALSASource.isInput(name))
            }
            for name in ["null", "lavrate", "hw", "dsnoop:CARD=PCH,DEV=0", "usbstream:CARD=PCH", "hw:0", ""] {
                #expect(!ALSASource.isInput(name))
            }
        }

        @Test func errorsExplain() throws {
            let folder = try SoundFolder()
            try configure(tape(folder), in: folder)
            let stop = try StopSignal()
            let missing = #expect(throws: MediaError.self) { try ALSASource(.init("nothing"), stop: stop) }
            #expect(missing?.code == .unavailable)
            #expect(missing?.given == "nothing")
            #expect(missing?.allowed?.contains("tape") == true)
            let card = #expect(throws: MediaError.self) { try ALSASource(.init("hw:31"), stop: stop) }
            #expect(card?.code == .unavailable)
            for change in [{ $0.sampleRate = 999 }, { $0.channelCount = 9 }, { $0.bufferLength = 2 }]
                as [(inout ALSASource.Request) -> Void]
            {
                var request = ALSASource.Request("tape")
                change(&request)
                let error = #expect(throws: MediaError.self) { try ALSASource(request, stop: stop) }
                #expect(error?.code == .invalidArgument)
            }
        }

        /// The loss by an overrun follows from the times around it.
        @Test func overrunsAreMeasured() {
            let format = AudioFormat(sampleType: .int16, sampleRate: 48000, layout: .stereo)
            #expect(OverrunLoss.frames(from: 1_000_000_000, to: 1_500_000_000, read: 480, format) == 23520)
            #expect(OverrunLoss.frames(from: 1_000_000_000, to: 1_005_000_000, read: 480, format) == 0)
        }
    }
}
