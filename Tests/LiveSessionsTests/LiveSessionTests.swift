// SPDX-License-Identifier: GPL-2.0-or-later

import AssetWriting
import AudioCoding
import Capture
import Foundation
import Glibc
import MediaIO
import MediaTypes
import Synchronization
import TestSupport
import Testing
import VAToolbox

@testable import LiveSessions

/// Sessions whose devices the test controls.
@Suite(.timeLimit(.minutes(60))) struct LiveSessionTests {
    /// A camera that delivers pictures as the test says.
    private final class Camera: Sendable {
        struct State {
            var isPlugged = true
            var opened = 0
            var step = 40
        }

        let state = Mutex(State())

        /// Pictures of one level of grey, 25 times a second.
        func input(_ name: String, level: UInt8, width: Int = 64) -> LiveInput {
            LiveInput(name: name) { [self] stop throws(MediaError) in
                guard state.withLock({ $0.isPlugged }) else { throw MediaError(.unavailable, "it is unplugged") }
                state.withLock { $0.opened += 1 }
                let stream = PictureStream(width: width, height: 48, frameRate: Rational(25), format: "NV12")
                return (
                    LiveContents(pictures: stream),
                    { () throws(MediaError) in
                        try stop.wait(for: [], until: 40)
                        guard self.state.withLock({ $0.isPlugged }) else {
                            throw MediaError(.unavailable, "it is unplugged")
                        }
                        return .picture(CapturedPicture(try Self.picture(level, width), time: MonotonicClock.now))
                    }
                )
            }
        }

        static func picture(_ level: UInt8, _ width: Int) throws(MediaError) -> PixelBuffer {
            let picture = try PixelBuffer(.init(format: .nv12, width: width, height: 48))
            try picture.withPlanes { planes in
                for (index, plane) in planes.enumerated() {
                    plane.baseAddress.initializeMemory(
                        as: UInt8.self,
                        repeating: index == 0 ? level : 128,
                        count: plane.bytesPerRow * (index == 0 ? 48 : 24)
                    )
                }
            }
            return picture
        }
    }

    private var settings: LiveSettings {
        var settings = LiveSettings()
        settings.session.policy = .requireSoftware
        settings.video.software.preset = .ultrafast
        settings.video.bFrames = .off
        return settings
    }

    private func folder() throws -> String {
        let path = NSTemporaryDirectory() + "live-session-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    /// The grey of each picture of a file, with its time.
    private func levels(_ path: String) throws -> [(time: Double, level: UInt8)] {
        let source = try MediaSource(path: path)
        var found: [(Double, UInt8)] = []
        while let event = try source.next() {
            guard case .frame(let frame) = event else { continue }
            let level = try frame.buffer.withPlanes {
                $0[0].baseAddress.load(fromByteOffset: 24 * $0[0].bytesPerRow + 20, as: UInt8.self)
            }
            found.append((frame.presentationTime.seconds, level))
        }
        return found
    }

    @Test func aCameraThatIsUnpluggedAndBack() async throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let camera = Camera()
        let session = try LiveSession(
            pictures: [camera.input("camera", level: 100)],
            settings: settings,
            path: folder + "/out.mkv"
        )
        async let summary = session.run()
        #expect(await Patience.wait { session.status.encodedPictures >= 10 })
        camera.state.withLock { $0.isPlugged = false }
        #expect(await Patience.wait { session.status.inputs[0].error?.message == "it is unplugged" })
        let before = session.status.encodedPictures
        camera.state.withLock { $0.isPlugged = true }
        #expect(await Patience.wait { session.status.encodedPictures >= before + 10 })
        let status = session.status
        #expect(status.inputs[0].losses == 1)
        #expect(status.inputs[0].error == nil)
        session.stop()
        let result = try await summary
        let found = try levels(folder + "/out.mkv")
        #expect(found.count == result.file.sampleCount)
        #expect(zip(found, found.dropFirst()).allSatisfy { $0.time < $1.time })
        #expect(camera.state.withLock { $0.opened } >= 2)
    }

    @Test func switchingTheCamera() async throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (first, second) = (Camera(), Camera())
        let session = try LiveSession(
            pictures: [first.input("first", level: 60), second.input("second", level: 200, width: 128)],
            settings: settings,
            path: folder + "/out.mkv"
        )
        async let summary = session.run()
        #expect(await Patience.wait { session.status.encodedPictures >= 10 })
        session.use(input: 1)
        #expect(session.status.inputs.map(\.isActive) == [false, true])
        let before = session.status.encodedPictures
        #expect(await Patience.wait { session.status.encodedPictures >= before + 10 })
        session.use(input: 7)
        session.stop()
        _ = try await summary
        let found = try levels(folder + "/out.mkv").map { $0.level }
        // One change, from the first to the second camera, and none back.
        let change = try #require(found.firstIndex { $0 > 130 })
        #expect(found[..<change].allSatisfy { abs(Int($0) - 60) < 8 })
        #expect(found[change...].allSatisfy { $0 > 130 })
        #expect(zip(found, found.dropFirst()).count(where: { ($0 > 130) != ($1 > 130) }) == 1)
    }

    @Test func aDeviceThatCannotBeOpenedEndsTheSession() async throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let broken = LiveInput(name: "broken") { _ throws(MediaError) in
            throw MediaError(.inputOutput, "the device is broken")
        }
        let session = try LiveSession(
            pictures: [broken],
            settings: settings,
            path: folder + "/out.mkv"
        )
        let error = await #expect(throws: MediaError.self) { try await session.run() }
        #expect(error?.message == "the device is broken")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }

    /// What was recorded until then is kept.
    @Test func aDeviceThatFailsForGoodCompletesTheFile() async throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let camera = Camera()
        let isBroken = Mutex(false)
        var failing = camera.input("camera", level: 100)
        let open = failing.open
        failing.open = { stop throws(MediaError) in
            let (contents, next) = try open(stop)
            return (
                contents,
                { () throws(MediaError) in
                    if isBroken.withLock({ $0 }) { throw MediaError(.inputOutput, "the device is broken") }
                    return try next()
                }
            )
        }
        let session = try LiveSession(pictures: [failing], settings: settings, path: folder + "/out.mp4")
        let running = Task { try await session.run() }
        #expect(await Patience.wait { session.status.encodedPictures >= 10 })
        isBroken.withLock { $0 = true }
        let summary = try await running.value
        #expect(session.status.failure?.message == "the device is broken")
        #expect(session.status.inputs[0].error?.message == "the device is broken")
        #expect(try levels(folder + "/out.mp4").count == summary.file.sampleCount)
    }

    @Test func cancellingTheTaskStopsTheSession() async throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var settings = settings
        settings.absence = .slate(nil)
        let session = try LiveSession(
            pictures: [Camera().input("camera", level: 100)],
            settings: settings,
            path: folder + "/out.mp4"
        )
        let running = Task { try await session.run() }
        #expect(await Patience.wait { session.status.encodedPictures >= 10 })
        running.cancel()
        let summary = try await running.value
        #expect(try levels(folder + "/out.mp4").count == summary.file.sampleCount)
        await #expect(throws: MediaError.self) { try await session.run() }
    }

    /// The reader of a pipe may never come.
    @Test func stoppingEndsTheWaitForAnOutput() async throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(mkfifo(folder + "/out.ts", 0o600) == 0)
        let session = try LiveSession(
            pictures: [Camera().input("camera", level: 100)],
            settings: settings,
            path: folder + "/out.ts"
        )
        let running = Task { try await session.run() }
        #expect(await Patience.wait { session.status.inputs[0].pictures >= 1 })
        session.stop()
        let error = await #expect(throws: MediaError.self) { try await running.value }
        #expect(error?.code == .cancelled)
    }

    @Test func pausingTwiceAtOnceIsNoPause() throws {
        let session = try LiveSession(
            pictures: [Camera().input("camera", level: 100)],
            settings: settings,
            path: "/nonexistent/out.mp4"
        )
        let now = MonotonicClock.now
        session.togglePause()
        session.togglePause()
        session.pause()
        session.resume()
        #expect(session.place(now) == now)
        #expect(session.place(MonotonicClock.now) != nil)
    }

    @Test func settingsOutOfRangeAreRefused() throws {
        func check(_ change: (inout LiveSettings) -> Void) {
            var settings = settings
            change(&settings)
            let error = #expect(throws: MediaError.self) {
                try LiveSession(pictures: [Camera().input("camera", level: 0)], settings: settings, path: "/x/out.mp4")
            }
            #expect(error?.code == .invalidArgument)
        }
        check { $0.peak = .nan }
        check { $0.peak = 0.5 }
        check { $0.bitRate = .max }
        check { $0.size = PictureSize(width: .max, height: 2) }
        check { $0.frameRate = Rational(0) }
        check { $0.duration = .zero }
        check { $0.duration = .invalid }
    }

    @Test func endingBeforeTheFirstPictureLeavesNothing() async throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let silent = LiveInput(name: "silent") { stop throws(MediaError) in
            (
                LiveContents(pictures: PictureStream(width: 64, height: 48, format: "NV12")),
                { () throws(MediaError) in
                    try stop.wait(for: [], until: nil)
                    return nil
                }
            )
        }
        let session = try LiveSession(pictures: [silent], settings: settings, path: folder + "/out.mp4")
        let running = Task { try await session.run() }
        #expect(await Patience.wait { session.status.inputs[0].contents != nil })
        session.stop()
        let error = await #expect(throws: MediaError.self) { try await running.value }
        #expect(error?.code == .cancelled)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }

    @Test func aSessionWithoutInputsIsRefused() throws {
        let error = #expect(throws: MediaError.self) {
            try LiveSession(pictures: [], settings: settings, path: "/nonexistent/out.mp4")
        }
        #expect(error?.code == .invalidArgument)
    }

    @Test func aReplayWithoutPicturesIsNotSaved() throws {
        let replay = try ReplayBuffer(length: MediaTime(value: 10, timescale: 1))
        let error = #expect(throws: MediaError.self) { try replay.save(to: "/nonexistent/out.mp4") }
        #expect(error?.code == .invalidState)
        #expect(throws: MediaError.self) { try ReplayBuffer(length: MediaTime(value: 0, timescale: 1)) }
        #expect(throws: MediaError.self) { try ReplayBuffer(length: .invalid) }
    }

    /// Sound that drifts by 200 ppm stays in step with pictures; ten minutes, as fast as they are encoded.
    @Test(arguments: [-200.0, 200.0]) func driftingSoundStaysInStep(drift: Double) async throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // The test of the writer with a simulated clock is in AssetWritingTests; here, a device states its arrivals.
        let device = DriftingTone(drift: drift)
        var settings = settings
        settings.duration = MediaTime(value: 600, timescale: 1)
        let sound = LiveInput.sound(name: "tone") { _ throws(MediaError) in device }
        var quick = sound
        quick.options.waitsForConsumer = true
        let session = try LiveSession(pictures: [], sound: quick, settings: settings, path: folder + "/out.mkv")
        _ = try await session.run()
        let starts = try beeps(folder + "/out.mkv")
        #expect(starts.count >= 595)
        // The first one has the delay of the encoder as well.
        let offsets = starts.map { $0 - $0.rounded() }
        let reference = try #require(offsets.first)
        let largest = offsets.map { abs($0 - reference) }.max() ?? 1
        #expect(largest < 0.01)
    }

    private func beeps(_ path: String) throws -> [Double] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/ffmpeg")
        process.arguments = ["-v", "error", "-i", path, "-ac", "1", "-ar", "8000", "-f", "s16le", "-"]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        var (starts, quiet) = ([Double](), 8000)
        data.withUnsafeBytes { bytes in
            for (index, sample) in bytes.bindMemory(to: Int16.self).enumerated() {
                if abs(Int(sample)) > 1000 {
                    if quiet > 1600 { starts.append(Double(index) / 8000) }
                    quiet = 0
                } else {
                    quiet += 1
                }
            }
        }
        return starts
    }
}

/// A device that beeps at every second of the system's clock, with a clock of its own that drifts. It does not wait.
private final class DriftingTone: SoundDevice, @unchecked Sendable {
    let format = AudioFormat(sampleType: .int16, sampleRate: 48000, layout: .mono)
    /// The frames of the device per second of the system.
    private let rate: Double
    private var position: Int64 = 0
    private var random = SplitMix(1)

    /// The first beep, in the future, so that the session does not think itself over.
    private let base = MonotonicClock.now.seconds.rounded(.up)

    init(drift: Double) { rate = 48000 * (1 + drift / 1e6) }

    func read() throws(MediaError) -> CapturedSound {
        let first = position
        let buffer = AudioBuffer(format: format, frameCount: 480) { _, memory in
            let samples = memory.bindMemory(to: Int16.self)
            for index in samples.indices {
                let time = Double(first + Int64(index)) / rate
                let phase = time - time.rounded(.down)
                samples[index] = phase < 0.05 ? (index / 24 % 2 == 0 ? 12000 : -12000) : 0
            }
        }
        position += 480
        // Buffers arrive late by up to 5 ms.
        let late = Double(random.below(5000)) / 1e6
        let arrival = base + Double(position) / rate + late
        return CapturedSound(buffer, arrival: MediaTime(seconds: arrival, preferredTimescale: 1_000_000_000))
    }
}
