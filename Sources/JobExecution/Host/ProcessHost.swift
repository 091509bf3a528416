// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Foundation
internal import Glibc
package import MediaTypes
internal import Synchronization

/// Runs programs as processes of their own, confined as far as the kernel allows.
///
/// One thread starts all processes, reads what they say and waits for their ends; callers wait without a thread.
/// Between the host and each program is a launcher (``Confinement``), which ends the program and all that it has
/// started: when the program ends, when the host asks for it, and when the host itself is gone, however it went.
package final class ProcessHost: Sendable {
    private let thread: HostThread

    /// Creates a host, which ends with the value and the last run.
    ///
    /// - Parameter launcher: The path of a program that calls ``Confinement/enterAndExecute(_:)``, and the arguments
    ///   that make it do so: that of `vatoolbox-service`, and `confine`.
    /// - Throws: `outOfMemory` if no pipe can be made.
    package init(launcher: [String]) throws(MediaError) {
        thread = try HostThread(launcher: launcher)
        thread.start()
    }

    deinit { thread.order(.stop) }

    /// Runs a program to its end.
    ///
    /// If the calling Swift task is cancelled, the program is ended as ``ConfinedCommand/cancellation`` says. In any
    /// case, the call returns only when neither the program nor anything that it has started is left.
    ///
    /// - Parameters:
    ///   - command: The program, and what it may access.
    ///   - onProgress: Called with each progress, except for those that come faster than the calls return.
    ///   - onProgressLine: Called with the line of each such progress, which may say more.
    ///   - onLogLine: Called with each line of standard error, without control characters. While it works, the process
    ///     may have to wait until it can write more.
    /// - Returns: How the program ended, whatever its status is.
    /// - Throws: `invalidArgument` or `unavailable` if the program cannot be started as described, with what to do;
    ///   `outOfMemory` without descriptors, memory or processes; `cancelled` if the calling task was cancelled before;
    ///   `unavailable`, not permanent, if its launcher was killed.
    package func run(
        _ command: ConfinedCommand,
        onProgress: @Sendable (TaskProgress) -> Void = { _ in },
        onProgressLine: @Sendable ([UInt8]) -> Void = { _ in },
        onLogLine: @Sendable (String) -> Void = { _ in }
    ) async throws(MediaError) -> ExecutionResult {
        try command.validate()
        guard !Task.isCancelled else { throw MediaError(.cancelled, "the task was cancelled before it began") }
        let mailbox = Mailbox()
        thread.order(.start(command, mailbox))
        let result = await withTaskCancellationHandler {
            while true {
                let (letters, wasFull, result) = await mailbox.next()
                if wasFull { thread.order(.look) }
                for letter in letters {
                    switch letter {
                    case .progress(let progress, let line):
                        onProgress(progress)
                        onProgressLine(line)
                    case .line(let line): onLogLine(line)
                    }
                }
                if let result { return result }
            }
        } onCancel: {
            thread.order(.cancel(mailbox))
        }
        return try result.get()
    }
}

/// The thread of a host.
private final class HostThread: Sendable {
    enum Order: Sendable {
        case start(ConfinedCommand, Mailbox)
        case cancel(Mailbox)
        /// A mailbox has room again.
        case look
        /// After the last run.
        case stop
    }

    private let launcher: [String]
    private let orders = Mutex<[Order]>([])
    private let bell: OwnedDescriptor
    private let button: OwnedDescriptor

    init(launcher: [String]) throws(MediaError) {
        self.launcher = launcher
        var ends: [Int32] = [-1, -1]
        guard linux_pipe(&ends) == 0 else { throw callError("pipe2", "a host of processes cannot be created") }
        (bell, button) = (OwnedDescriptor(owning: ends[0]), OwnedDescriptor(owning: ends[1]))
        for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    }

    func start() {
        Thread.detachNewThread { [self] in
            _ = linux_name_thread("process-host")
            work()
        }
    }

    func order(_ order: Order) {
        orders.withLock { $0.append(order) }
        // A full pipe has rung already.
        var byte: UInt8 = 0
        _ = write(button.number, &byte, 1)
    }

    private func work() {
        var runs: [HostedRun] = []
        var isStopped = false
        while true {
            for order in orders.withLock({ orders in
                defer { orders = [] }
                return orders
            }) {
                switch order {
                case .start(let command, let mailbox):
                    do {
                        runs.append(try HostedRun(command, launcher: launcher, mailbox: mailbox))
                    } catch {
                        mailbox.finish(.failure(error))
                    }
                case .cancel(let mailbox): runs.first { $0.mailbox === mailbox }?.cancel()
                case .look: break
                case .stop: isStopped = true
                }
            }
            if isStopped && runs.isEmpty { return }
            wait(&runs)
        }
    }

    private func wait(_ runs: inout [HostedRun]) {
        var owners: [Int?] = [nil]
        var entries = [pollfd(fd: bell.number, events: Int16(POLLIN), revents: 0)]
        for (index, run) in runs.enumerated() {
            for number in run.descriptors {
                owners.append(index)
                entries.append(pollfd(fd: number, events: Int16(POLLIN), revents: 0))
            }
        }
        let patience = runs.compactMap(\.patience).min()
        poll(&entries, nfds_t(entries.count), patience.map { $0.milliseconds } ?? -1)
        var ended: Set<Int> = []
        for (entry, owner) in zip(entries, owners) where entry.revents != 0 {
            if let owner {
                if !ended.contains(owner), runs[owner].read(entry.fd) { ended.insert(owner) }
            } else {
                var bytes = [UInt8](repeating: 0, count: 4096)
                while read(bell.number, &bytes, bytes.count) == bytes.count {}
            }
        }
        for index in ended.sorted(by: >) { runs.remove(at: index) }
        for run in runs { run.tick() }
    }
}

extension Duration {
    /// The timeout for poll(2), rounded up.
    fileprivate var milliseconds: Int32 {
        let (seconds, attoseconds) = max(self, .zero).components
        let rounded = seconds.multipliedReportingOverflow(by: 1000)
        guard !rounded.overflow, rounded.partialValue < Int64(Int32.max) - 1000 else { return .max }
        return Int32(rounded.partialValue + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
