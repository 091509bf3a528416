// SPDX-License-Identifier: GPL-2.0-or-later

import Dispatch
import Glibc
import MediaTypes
import Synchronization

/// What holds back the ends of inputs until all jobs have begun.
final class Gate: Sendable {
    private let flag = Atomic(false)
    private let event = DispatchSemaphore(value: 0)

    var isOpen: Bool { flag.load(ordering: .acquiring) }

    func open() { if !flag.exchange(true, ordering: .acquiringAndReleasing) { event.signal() } }

    /// Blocks the thread until the gate is open, or until then.
    ///
    /// - Returns: Whether it is open.
    @discardableResult func wait(until end: DispatchTime = .distantFuture) -> Bool {
        guard event.wait(timeout: end) == .success else { return false }
        // For others that wait.
        event.signal()
        return true
    }
}

/// Writes into the pipe of a job, on a thread of its own.
final class Feeder: Sendable {
    private static let running = Atomic(0)
    /// How many have not ended.
    static var count: Int { running.load(ordering: .acquiring) }

    private let path: String
    private let bytes: [UInt8]
    /// Where the first picture begins, of an input that goes on with it when it is through.
    private let repeated: Int?
    private let gate: Gate
    private let isOver: Gate

    /// - Parameter isOver: Ends it.
    init(_ path: String, _ input: Job.Input, folder: String, gate: Gate, isOver: Gate) throws {
        (self.path, self.gate, self.isOver) = (path, gate, isOver)
        switch input {
        case .held(let clip): (bytes, repeated) = (try Tool.contents("\(folder)/\(clip.rawValue)"), nil)
        case .endless:
            bytes = try Tool.contents("\(folder)/\(Clip.pictures.rawValue)")
            repeated = bytes.firstIndex(of: 0x0A).map { $0 + 1 }
        case .silent, .file: (bytes, repeated) = ([], nil)
        }
    }

    func start() throws {
        Self.running.add(1, ordering: .acquiringAndReleasing)
        do {
            try PlainThread.start(name: "feeder") {
                self.feed()
                Self.running.subtract(1, ordering: .acquiringAndReleasing)
            }
        } catch {
            Self.running.subtract(1, ordering: .acquiringAndReleasing)
            throw error
        }
    }

    private func feed() {
        // On this thread only: the package under test must not need it.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        var pipe: Int32 = -1
        while pipe < 0, !isOver.isOpen {
            pipe = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            if pipe < 0 { usleep(5_000) }
        }
        guard pipe >= 0 else { return }
        defer { close(pipe) }
        if let repeated {
            var part = 0..<bytes.count
            while write(part, to: pipe) { part = repeated..<bytes.count }
        } else {
            let held = bytes.count * 9 / 10
            guard write(0..<held, to: pipe) else { return }
            // It opens before all is over.
            gate.wait()
            _ = write(held..<bytes.count, to: pipe)
        }
    }

    /// - Returns: Whether there is still somebody who reads.
    private func write(_ part: Range<Int>, to pipe: Int32) -> Bool {
        var position = part.lowerBound
        while position < part.upperBound {
            if isOver.isOpen { return false }
            let rest = bytes[position..<part.upperBound]
            let count = rest.withUnsafeBytes { Glibc.write(pipe, $0.baseAddress, $0.count) }
            if count > 0 { position += count }
            if count < 0, errno != EAGAIN, errno != EINTR { return false }
            if count < 0 {
                var entry = pollfd(fd: pipe, events: Int16(POLLOUT), revents: 0)
                poll(&entry, 1, 50)
            }
        }
        return true
    }
}
