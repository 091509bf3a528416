// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Dispatch
internal import Glibc
internal import MediaTypes

/// A descriptor that is closed when its owner releases it.
struct Descriptor: ~Copyable, Sendable {
    /// The descriptor number, valid as long as this owner exists.
    let number: Int32

    /// Takes ownership of an open descriptor.
    init(owning number: Int32) { self.number = number }

    deinit { close(number) }

    /// Does nothing, but keeps the descriptor open up to this call.
    borrowing func keepOpen() {}

    /// Whether it is a socket.
    var isSocket: Bool {
        var status = stat()
        return fstat(number, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    }

    /// Duplicates a descriptor, close-on-exec, with a number of at least `minimum`.
    static func duplicate(_ number: Int32, atLeast minimum: Int32 = 3) throws(MediaError) -> Descriptor {
        let copy = fcntl(number, F_DUPFD_CLOEXEC, minimum)
        guard copy >= 0 else { throw systemError("fcntl(F_DUPFD_CLOEXEC)", "the limit of descriptors is reached") }
        return Descriptor(owning: copy)
    }

    /// Opens the same file again, read-only and close-on-exec. Unlike a duplicate, it has a separate offset and flags.
    static func reopening(_ number: Int32) throws(MediaError) -> Descriptor {
        let opened = linux_open_again(number)
        guard opened >= 0 else { throw systemError("open", "the file of a picture cannot be reopened") }
        return Descriptor(owning: opened)
    }
}

/// A descriptor that is closed with its last reference.
final class SharedDescriptor: Sendable {
    private let descriptor: Descriptor

    /// The descriptor number, valid as long as this object exists.
    var number: Int32 { descriptor.number }

    init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
}

/// Two connected descriptors.
struct DescriptorPair: ~Copyable {
    let near: Descriptor
    let far: Descriptor

    private init(_ numbers: [Int32]) {
        near = Descriptor(owning: numbers[0])
        far = Descriptor(owning: numbers[1])
    }

    /// Creates a pipe with both ends close-on-exec: `near` reads what `far` writes.
    static func pipe() throws(MediaError) -> DescriptorPair {
        var numbers: [Int32] = [-1, -1]
        guard linux_pipe(&numbers) == 0 else { throw systemError("pipe2", "a pipe cannot be created") }
        return DescriptorPair(numbers)
    }

    /// Creates a socket pair that preserves message boundaries, with both ends close-on-exec.
    static func sockets() throws(MediaError) -> DescriptorPair {
        var numbers: [Int32] = [-1, -1]
        guard linux_message_sockets(&numbers) == 0 else {
            throw systemError("socketpair", "a socket cannot be created")
        }
        return DescriptorPair(numbers)
    }
}

/// Returns the error of a system call that has just failed.
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

/// The end of a wait. It moves on while the system is suspended, because no process works then.
struct Deadline: Sendable {
    /// `nil` for no limit.
    private let instant: SuspendingClock.Instant?

    /// Waits without a limit.
    static let never = Deadline(instant: nil)
    /// Does not wait.
    static let now = Deadline(instant: .now)
    static func after(_ duration: Duration) -> Deadline { Deadline(instant: .now + duration.asPatience) }

    private init(instant: SuspendingClock.Instant?) { self.instant = instant }

    var isNever: Bool { instant == nil }
    var isOver: Bool { instant.map { SuspendingClock.now >= $0 } ?? false }

    /// The timeout for poll(2): milliseconds, rounded up; -1 for no limit.
    var milliseconds: Int32 {
        instant.map { Int32(clamping: ($0 - .now).asPatience.millisecondsRoundedUp) } ?? -1
    }
}

extension DispatchSemaphore {
    /// Waits for a signal.
    ///
    /// Dispatch waits by wall-clock time, which jumps when a suspended system resumes: a wait that ends too early is
    /// continued.
    ///
    /// - Returns: Whether the signal arrived in time.
    func wait(until deadline: Deadline) -> Bool {
        while true {
            guard !deadline.isNever else { return wait(timeout: .distantFuture) == .success }
            if wait(timeout: .now() + .milliseconds(Int(deadline.milliseconds))) == .success { return true }
            if deadline.isOver { return false }
        }
    }
}

extension Duration {
    /// The duration limited to the range of a timeout: zero to one year.
    var asPatience: Duration { min(max(self, .zero), .seconds(365 * 86400)) }

    /// The milliseconds of such a duration, rounded up.
    var millisecondsRoundedUp: Int {
        let (seconds, attoseconds) = components
        return Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}

/// Waits with poll(2) until one of the descriptors is ready.
///
/// - Returns: The events of each descriptor; none at all if the deadline passed. Negative numbers are ignored.
func waitForEvents(_ wanted: [(number: Int32, events: Int32)], until deadline: Deadline) throws(MediaError) -> [Int32] {
    var entries = wanted.map { pollfd(fd: $0.number, events: Int16(truncatingIfNeeded: $0.events), revents: 0) }
    while true {
        let count = poll(&entries, nfds_t(entries.count), deadline.milliseconds)
        if count > 0 || (count == 0 && deadline.isOver) { return entries.map { Int32($0.revents) } }
        if count < 0 && errno != EINTR { throw systemError("poll", "waiting for a process failed") }
    }
}
