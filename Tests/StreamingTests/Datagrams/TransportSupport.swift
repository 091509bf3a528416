// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import BitstreamSyntax
import Foundation
import Glibc
import MediaTypes
import Synchronization
import Testing

@testable import Streaming

/// Passes the bytes of units: tests put packets of a transport stream into them.
final class PassingMuxer: StreamMuxer {
    private let last: [UInt8]

    init(last: [UInt8] = []) { self.last = last }

    func write(_ unit: LiveUnit) throws(MediaError) -> [UInt8] {
        switch unit {
        case .video(let sample): sample.data.withUnsafeBytes { Array($0) }
        case .audio(let sample, _): sample.data.withUnsafeBytes { Array($0) }
        }
    }

    func finish() throws(MediaError) -> [UInt8] { last }
}

enum TransportUnit {
    static func video(_ bytes: [UInt8], at seconds: Double) -> LiveUnit {
        let time = MediaTime(seconds: seconds, preferredTimescale: 90_000)
        let format = FormatDescription(codec: .h264, width: 320, height: 240, parameterSets: [])
        return .video(
            SampleBuffer(
                data: CodedData(bytes),
                presentationTime: time,
                decodeTime: time,
                duration: .invalid,
                isKeyFrame: true,
                formatDescription: format
            )
        )
    }

    static func audio(_ bytes: [UInt8], at seconds: Double) -> LiveUnit {
        let time = MediaTime(seconds: seconds, preferredTimescale: 90_000)
        return .audio(AudioSample(data: CodedData(bytes), presentationTime: time), track: 0)
    }

    /// Packets that are not alike: of PID 8191, with a number in each.
    static func packets(_ count: Int, from first: Int = 0) -> [UInt8] {
        (first..<first + count).flatMap { number -> [UInt8] in
            let start: [UInt8] = [0x47, 0x1F, 0xFF, 0x10]
            let text = withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) }
            return start + text + [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 176)
        }
    }
}

/// Four seconds of video and sound, which ffmpeg has made.
enum TransportClip {
    static let bytes: [UInt8] = {
        let scratch = TransportScratch()
        let program = try? TransportProgram(
            "ffmpeg -v error -f lavfi -i testsrc2=size=320x240:rate=25 -f lavfi -i sine -t 4 -c:v libx264 -g 25 "
                + "-b:v 2M -c:a aac -f mpegts -",
            in: scratch
        )
        _ = program?.end()
        return program?.output ?? []
    }()

    /// The number of the first byte that differs from the clip.
    static func firstDifference(_ other: [UInt8]) -> Int? {
        zip(bytes, other).enumerated().first { $1.0 != $1.1 }?.offset
    }

    /// The clip in parts of whole packets.
    static var parts: [[UInt8]] {
        stride(from: 0, to: bytes.count, by: 37 * 188).map { Array(bytes[$0..<min($0 + 37 * 188, bytes.count)]) }
    }
}

/// A folder that is deleted with the value.
final class TransportScratch: Sendable {
    let folder: String

    init() {
        folder = NSTemporaryDirectory() + "vatoolbox-transport-" + UUID().uuidString
        mkdir(folder, 0o700)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }
}

/// Another program, whose output is in a file. It is killed with the value.
final class TransportProgram {
    let pid: pid_t
    private let path: String
    private let scratch: TransportScratch
    private var isRunning = true

    init(_ command: String, in scratch: TransportScratch) throws {
        self.scratch = scratch
        path = "\(scratch.folder)/\(UUID().uuidString)"
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, path + ".out", O_WRONLY | O_CREAT, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, path + ".err", O_WRONLY | O_CREAT, 0o600)
        // Threads of Dispatch block signals, and programs inherit that.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let arguments = command.split(separator: " ").map(String.init)
        let pointers = arguments.map { strdup($0) } + [nil]
        defer { pointers.forEach { free($0) } }
        var pid = pid_t()
        let code = posix_spawnp(&pid, arguments[0], &actions, &attributes, pointers, environ)
        try #require(code == 0, "\(arguments[0]): \(String(cString: strerror(code)))")
        self.pid = pid
    }

    deinit {
        guard isRunning else { return }
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
    }

    var output: [UInt8] { Array(FileManager.default.contents(atPath: path + ".out") ?? Data()) }
    var errors: String {
        String(decoding: FileManager.default.contents(atPath: path + ".err") ?? Data(), as: UTF8.self)
    }

    /// Waits for its end.
    func end() -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
        isRunning = false
        return (status >> 8) & 0xFF
    }
}

/// Waiting for what no event tells of.
enum TransportWait {
    static let limit = Duration.seconds(60)

    static func until(_ isSo: () -> Bool) -> Bool {
        let end = ContinuousClock.now + limit
        while !isSo() {
            if .now >= end { return false }
            usleep(2000)
        }
        return true
    }

    /// Whether a UDP socket of this machine is bound to the port.
    static func isBound(_ port: UInt16) -> Bool {
        let digits = String(port, radix: 16, uppercase: true)
        let text = ":" + String(repeating: "0", count: 4 - digits.count) + digits + " "
        return ["/proc/net/udp", "/proc/net/udp6"].contains { path in
            String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self).contains(text)
        }
    }

    static var descriptorCount: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    }

    /// The names of the threads of this process that belong to libsrt or to a look-up.
    static var networkThreads: [String] {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tasks.compactMap { task in
            let name = FileManager.default.contents(atPath: "/proc/self/task/\(task)/comm") ?? Data()
            let text = String(decoding: name, as: UTF8.self).filter { $0 != "\n" }
            return text.hasPrefix("SRT:") || text == "look up host" ? text : nil
        }.sorted()
    }
}

/// A UDP socket at an address of this machine.
final class TestReceiver: Sendable {
    let descriptor: Int32
    let port: UInt16

    init(
        _ host: String = "127.0.0.1",
        port: UInt16 = 0,
        group: String? = nil,
        on interface: String = "lo"
    ) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        self.descriptor = descriptor
        var size: Int32 = 4 << 20
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        inet_pton(AF_INET, host, &address.sin_addr)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
            }
        }
        try #require(status == 0)
        self.port = UInt16(bigEndian: address.sin_port)
        guard let group else { return }
        var request = ip_mreqn()
        inet_pton(AF_INET, group, &request.imr_multiaddr)
        request.imr_ifindex = Int32(if_nametoindex(interface))
        let byteCount = socklen_t(MemoryLayout<ip_mreqn>.size)
        try #require(setsockopt(descriptor, Int32(IPPROTO_IP), IP_ADD_MEMBERSHIP, &request, byteCount) == 0)
    }

    deinit { close(descriptor) }

    /// An interface besides that of the machine itself, which sends to groups; `nil` if there is none.
    static let otherInterface: String? = {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return nil }
        defer { freeifaddrs(list) }
        let needed = UInt32(IFF_UP | IFF_RUNNING | IFF_MULTICAST)
        return sequence(first: list, next: { $0?.pointee.ifa_next }).prefix { $0 != nil }.compactMap {
            entry -> String? in
            guard let entry = entry?.pointee, entry.ifa_addr?.pointee.sa_family == sa_family_t(AF_INET) else {
                return nil
            }
            let isFit = entry.ifa_flags & needed == needed && entry.ifa_flags & UInt32(IFF_LOOPBACK) == 0
            return isFit ? String(cString: entry.ifa_name) : nil
        }.first
    }()

    /// A port at which nothing listens at present.
    static func freePort() throws -> UInt16 { try TestReceiver().port }

    /// Waits for a datagram; `nil` if none comes in time.
    func receive(milliseconds: Int32 = 30_000) -> [UInt8]? {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&request, 1, milliseconds) > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 2048)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return count < 0 ? nil : Array(bytes[..<count])
    }

    func receive(_ count: Int) -> [[UInt8]] { (0..<count).compactMap { _ in receive() } }
}

/// Work on a thread of its own, whose result is waited for.
final class ThreadWork<Value: Sendable>: Sendable {
    private let result = Mutex<Value?>(nil)

    init(_ body: @escaping @Sendable () -> Value) throws {
        try PlainThread.start(name: "test") { [self] in
            let value = body()
            result.withLock { $0 = value }
        }
    }

    func value() throws -> Value {
        _ = TransportWait.until { result.withLock { $0 != nil } }
        return try #require(result.withLock { $0 }, "the work did not end")
    }
}

/// Runs a body, and returns the error that it throws.
func mediaError(_ body: () throws(MediaError) -> Void) -> MediaError? {
    do throws(MediaError) {
        try body()
        return nil
    } catch {
        return error
    }
}
