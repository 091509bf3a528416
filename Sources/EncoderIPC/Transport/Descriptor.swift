// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Dispatch
internal import Glibc
internal import MediaTypes

/// A descriptor that is closed when its owner lets go of it.
struct Descriptor: ~Copyable, Sendable {
    /// The number, valid as long as this owner lives.
    let number: Int32

    /// Takes over an open descriptor.
    init(owning number: Int32) { self.number = number }

    deinit { close(number) }

    /// Does nothing: up to here the descriptor is open.
    borrowing func keepOpen() {}

    /// A second descriptor of the same file, close-on-exec, whose number is at least `minimum`.
    static func duplicate(_ number: Int32, atLeast minimum: Int32 = 3) throws(MediaError) -> Descriptor {
        let copy = fcntl(number, F_DUPFD_CLOEXEC, minimum)
        guard copy >= 0 else { throw systemError("fcntl(F_DUPFD_CLOEXEC)", "the limit of descriptors is reached") }
        return Descriptor(owning: copy)
    }

    /// Another opening of the same file, for reading only, close-on-exec: it has an offset and flags of its own, which a
    /// duplicate shares.
    static func reopening(_ number: Int32) throws(MediaError) -> Descriptor {
        let opened = linux_open_again(number)
        guard opened >= 0 else { throw systemError("open", "the file of a picture cannot be opened again") }
        return Descriptor(owning: opened)
    }
}

/// Two connected ends.
struct DescriptorPair: ~Copyable {
    let near: Descriptor
    let far: Descriptor

    private init(_ numbers: [Int32]) {
        near = Descriptor(owning: numbers[0])
        far = Descriptor(owning: numbers[1])
    }

    /// The ends of a pipe, both close-on-exec: `near` reads what `far` writes.
    static func pipe() throws(MediaError) -> DescriptorPair {
        var numbers: [Int32] = [-1, -1]
        guard linux_pipe(&numbers) == 0 else { throw systemError("pipe2", "a pipe cannot be created") }
        return DescriptorPair(numbers)
    }

    /// The ends of a socket that keeps messages apart, both close-on-exec.
    static func sockets() throws(MediaError) -> DescriptorPair {
        var numbers: [Int32] = [-1, -1]
        guard linux_message_sockets(&numbers) == 0 else {
            throw systemError("socketpair", "a socket cannot be created")
        }
        return DescriptorPair(numbers)
    }
}

/// The error of a system call that has just failed.
func systemError(_ call: String, _ message: String) -> MediaError {
    let status = errno
    let isScarce = [ENOMEM, EMFILE, ENFILE, ENOBUFS, EAGAIN].contains(status)
    let lacksDescriptors = status == EMFILE || status == ENFILE
    return MediaError(
        isScarce ? .outOfMemory : .inputOutput,
        lacksDescriptors ? "\(message): \(String(cString: strerror(status)))" : message,
        call: call,
        status: Int(status),
        cause: lacksDescriptors ? .outOfDescriptors : nil,
        remedies: lacksDescriptors ? ["allow more open files: ulimit -n 65536"] : []
    )
}

/// A point in time until which something may be waited for. It moves on while the system is suspended, in which nobody
/// works.
struct Deadline: Sendable {
    /// `nil` for no limit.
    private let instant: SuspendingClock.Instant?

    /// Waits as long as it takes.
    static let never = Deadline(instant: nil)
    /// Does not wait.
    static let now = Deadline(instant: .now)
    static func after(_ duration: Duration) -> Deadline { Deadline(instant: .now + duration.asPatience) }

    private init(instant: SuspendingClock.Instant?) { self.instant = instant }

    var isNever: Bool { instant == nil }
    var isOver: Bool { instant.map { SuspendingClock.now >= $0 } ?? false }

    /// What poll(2) takes: milliseconds, rounded up; -1 for no limit.
    var milliseconds: Int32 {
        instant.map { Int32(clamping: ($0 - .now).asPatience.millisecondsRoundedUp) } ?? -1
    }
}

extension DispatchSemaphore {
    /// Waits for a signal.
    ///
    /// Dispatch waits by the time of day, which jumps when a suspended system resumes: what ends too early goes on.
    ///
    /// - Returns: Whether it came in time.
    func wait(until deadline: Deadline) -> Bool {
        while true {
            guard !deadline.isNever else { return wait(timeout: .distantFuture) == .success }
            if wait(timeout: .now() + .milliseconds(Int(deadline.milliseconds))) == .success { return true }
            if deadline.isOver { return false }
        }
    }
}

extension Duration {
    /// The duration as something that is waited for: at least none and at most a year.
    var asPatience: Duration { min(max(self, .zero), .seconds(365 * 86400)) }

    /// How many milliseconds a duration of that kind has.
    var millisecondsRoundedUp: Int {
        let (seconds, attoseconds) = components
        return Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}

/// Waits until something can be done with one of the descriptors, by poll(2).
///
/// - Returns: What happened to each; nothing at all if the deadline passed. Negative numbers are left out.
func waitForEvents(_ wanted: [(number: Int32, events: Int32)], until deadline: Deadline) throws(MediaError) -> [Int32] {
    var entries = wanted.map { pollfd(fd: $0.number, events: Int16(truncatingIfNeeded: $0.events), revents: 0) }
    while true {
        let count = poll(&entries, nfds_t(entries.count), deadline.milliseconds)
        if count > 0 || (count == 0 && deadline.isOver) { return entries.map { Int32($0.revents) } }
        if count < 0 && errno != EINTR { throw systemError("poll", "waiting for a process failed") }
    }
}
