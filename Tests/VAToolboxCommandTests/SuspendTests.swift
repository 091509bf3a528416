// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import Testing

/// The system is suspended and resumes while the built command encodes on a GPU that is not there.
@Suite(.timeLimit(.minutes(60))) struct SuspendTests {
    private static let message = "the system was suspended and has resumed"

    /// A bus of the test's own.
    private final class Bus {
        let address: String
        private let daemon: RunningProgram

        init(in scratch: Scratch) throws {
            let path = scratch.path("bus")
            address = "unix:path=\(path)"
            try scratch.write(
                "bus.conf",
                """
                <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
                 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
                <busconfig>
                  <type>session</type>
                  <listen>\(address)</listen>
                  <auth>EXTERNAL</auth>
                  <policy context="default">
                    <allow send_destination="*" eavesdrop="true"/>
                    <allow eavesdrop="true"/>
                    <allow own="*"/>
                  </policy>
                </busconfig>
                """
            )
            daemon = try RunningProgram(
                ["dbus-daemon", "--config-file=\(scratch.path("bus.conf"))", "--nofork", "--nopidfile"],
                in: scratch
            )
            try daemon.wait(until: "the bus is there") { FileManager.default.fileExists(atPath: path) }
        }

        /// Ends the daemon, and waits for that.
        func end() {
            daemon.signal(SIGKILL)
            _ = daemon.end()
        }
    }

    /// A clip that comes into the command frame by frame.
    private final class Feed {
        private static let frameCount = 500
        private let clip: Data
        private let frameLength: Int
        private let pipe: FileHandle
        private(set) var count = 0

        /// Makes the pipe `pipe`. Something must read it.
        init(in scratch: Scratch) throws {
            try scratch.makeClip("clip.y4m", seconds: Double(Self.frameCount) / 25, size: "64x64")
            clip = try scratch.data("clip.y4m")
            frameLength = "FRAME\n".utf8.count + 64 * 64 * 3 / 2
            try #require(mkfifo(scratch.path("pipe"), 0o600) == 0)
            // Open for both, so that neither end waits for the other.
            let descriptor = open(scratch.path("pipe"), O_RDWR | O_CLOEXEC)
            try #require(descriptor >= 0)
            pipe = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        }

        private var headerLength: Int { clip.count - Self.frameCount * frameLength }
        /// What was fed so far, as a file.
        var fed: Data { clip.prefix(headerLength + count * frameLength) }

        /// Feeds frames one after the other.
        func add(_ frames: Int) throws {
            for _ in 0..<frames {
                let start = count == 0 ? 0 : fed.count
                count += 1
                try #require(count <= Self.frameCount)
                try pipe.write(contentsOf: clip[start..<fed.count])
            }
        }

        /// Feeds frames until something has happened.
        func add(until condition: () -> Bool) throws {
            while !condition() {
                try add(1)
                usleep(10_000)
            }
        }

        func end() throws { try pipe.close() }
    }

    /// Starts the command with a pipe as its input.
    private func start(
        _ bus: String,
        _ output: String,
        _ arguments: String...,
        in scratch: Scratch
    ) throws -> RunningProgram {
        let folder = try FakeGPU.folder()
        let variables =
            [
                FakeGPU.preload("\(folder)/librender_node.so", "\(folder)/libsleeping_clock.so"),
                "RENDER_NODES=128=generic",
                "SLEEPING_CLOCK=\(scratch.path("asleep"))", "DBUS_SYSTEM_BUS_ADDRESS=\(bus)",
            ] + (try Scratch.driver("libref"))
        let options = ["--codec", "h264", "--require-hardware", "--b-frames", "2"]
        let command = [Scratch.vatoolbox, "encode", "-", "-o", output] + options
        return try RunningProgram(["env"] + variables + command + arguments, input: scratch.path("pipe"), in: scratch)
    }

    /// Every frame that was fed is in the output, once, in order.
    private func expectAll(_ feed: Feed, in output: String, _ scratch: Scratch) throws {
        try feed.fed.write(to: URL(fileURLWithPath: scratch.path("fed.y4m")))
        #expect(try scratch.decodedFrameCount(output) == feed.count)
        #expect(try scratch.worstPSNR("fed.y4m", output) > 30)
    }

    @Test func logindTellsOfIt() throws {
        let scratch = try Scratch()
        let bus = try Bus(in: scratch)
        let stand = FakeGPU.sources + "/sleep/logind"
        let logind = try RunningProgram([stand, bus.address, scratch.path("go")], in: scratch)
        let feed = try Feed(in: scratch)
        let command = try start(bus.address, "out.mp4", in: scratch)
        try feed.add(until: { logind.output.contains("listening") })
        #expect(!command.errors.contains(Self.message))
        try scratch.write("go", "")
        try feed.add(until: { command.errors.contains(Self.message) })
        try feed.add(20)
        try feed.end()
        #expect(command.end() == 0, "\(command.errors)")
        let lines = command.errors.split(separator: "\n").filter { $0.contains(Self.message) }
        #expect(lines.count == 1, "\(command.errors)")
        let start = "vatoolbox: note: a new encoder of vaapi-h264 on /dev/dri/renderD128 takes over at "
        #expect(lines.first?.hasPrefix(start) == true, "\(command.errors)")
        try expectAll(feed, in: "out.mp4", scratch)
        bus.end()
    }

    /// Buses from which nothing comes.
    enum Silence: String, CaseIterable, Sendable {
        case noBus, busThatNeverAnswers, busThatGoesAway
    }

    @Test(arguments: Silence.allCases) func theClocksTellOfIt(_ silence: Silence) throws {
        let scratch = try Scratch()
        var address = "unix:path=\(scratch.path("no-bus"))"
        var ends: () -> Void = {}
        var listener: RunningProgram?
        switch silence {
        case .noBus: break
        case .busThatNeverAnswers:
            let program =
                "import socket, time; s = socket.socket(socket.AF_UNIX); s.bind('no-bus'); s.listen(); time.sleep(900)"
            listener = try RunningProgram(["python3", "-c", program], in: scratch)
            try listener?.wait(until: "there is a socket") { scratch.names.contains("no-bus") }
        case .busThatGoesAway:
            let bus = try Bus(in: scratch)
            address = bus.address
            ends = { bus.end() }
            let stand = FakeGPU.sources + "/sleep/logind"
            listener = try RunningProgram([stand, bus.address, scratch.path("never")], in: scratch)
        }
        let feed = try Feed(in: scratch)
        let command = try start(address, "out.h264", "--json", in: scratch)
        // This output is written as samples come, so that it is known that the session has begun.
        try feed.add(until: { scratch.unfinishedSizes.contains { $0 > 0 } })
        if silence == .busThatGoesAway { try feed.add(until: { listener?.output.contains("listening") == true }) }
        ends()
        let before = feed.count
        // An hour of sleep is also longer than every deadline.
        try scratch.write("asleep", "")
        try feed.add(30)
        try feed.end()
        #expect(command.end() == 0 && command.errors.isEmpty, "\(command.errors)")
        let document = try #require(
            try JSONSerialization.jsonObject(with: Data(command.output.utf8)) as? [String: Any]
        )
        let switches = try #require(document["switches"] as? [[String: Any]])
        #expect(switches.count == 1)
        let change = try #require(switches.first)
        #expect(change["reason"] as? String == "resume")
        #expect((change["failures"] as? [Any])?.isEmpty == true && change["repeatedFrames"] as? Int == 0)
        #expect(try #require(change["frame"] as? Int) < before + 30)
        try expectAll(feed, in: "out.h264", scratch)
    }
}
