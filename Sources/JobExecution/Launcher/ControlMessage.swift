// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc

/// A message from the launcher to its host. Both are this package's own code; the confined program has no access to the
/// connection.
enum LauncherMessage: Sendable, Hashable {
    /// The process of the program is there; its number is that of the group of all its processes.
    case started(pid_t)
    /// A part of the confinement is missing.
    case limitation(String)
    /// The program could not be started: what failed, and `errno`.
    case failed(String, status: Int32)
    /// The program has ended, and nothing that it started is left.
    case ended(LauncherReport)

    /// The longest message.
    static let capacity = 4096

    init?(_ bytes: some Collection<UInt8>) {
        let words = String(decoding: bytes, as: UTF8.self).split(separator: " ", maxSplits: 1)
        guard words.count == 2 else { return nil }
        switch words[0] {
        case "started":
            // No other group is ever signalled: 0 would be the host's own, and -1 every process.
            guard let process = pid_t(words[1]), process > 1 else { return nil }
            self = .started(process)
        case "limitation": self = .limitation(String(words[1]))
        case "failed":
            let parts = words[1].split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let status = Int32(parts[0]) else { return nil }
            self = .failed(String(parts[1]), status: status)
        case "ended":
            guard let report = LauncherReport(words[1]) else { return nil }
            self = .ended(report)
        default: return nil
        }
    }

    var text: String {
        switch self {
        case .started(let process): "started \(process)"
        case .limitation(let text): "limitation \(text)"
        case .failed(let what, let status): "failed \(status) \(what)"
        case .ended(let report): "ended \(report.text)"
        }
    }

    /// Sends the message. If the host does not take it, it has ended.
    func send(to socket: Int32) { JobExecution.send(text, to: socket) }
}

/// The result of a launcher.
struct LauncherReport: Sendable, Hashable {
    /// What a program can have too much of.
    enum Excess: Int64, Sendable, Hashable { case none, memory, processes }

    /// The exit status, or the negative number of the signal that killed the program.
    var status: Int32
    /// Why it was killed, if it was.
    var excess: Excess
    /// The number of processes that it left behind.
    var leftProcesses: Int
    /// Microseconds of processor time of all processes.
    var processorTime: Int64
    /// The most memory of one process, and of all together, in bytes.
    var largestProcess: UInt64
    var memory: UInt64

    init(
        status: Int32,
        excess: Excess,
        leftProcesses: Int,
        processorTime: Int64,
        largestProcess: UInt64,
        memory: UInt64
    ) {
        self.status = status
        self.excess = excess
        self.leftProcesses = leftProcesses
        self.processorTime = processorTime
        self.largestProcess = largestProcess
        self.memory = memory
    }

    init?(_ text: Substring) {
        let numbers = text.split(separator: " ").map { Int64($0) }
        guard numbers.count == 6, let status = numbers[0].flatMap({ Int32(exactly: $0) }),
            let excess = numbers[1].flatMap({ Excess(rawValue: $0) }),
            let left = numbers[2].flatMap({ Int(exactly: $0) }), let time = numbers[3],
            let largest = numbers[4].flatMap({ UInt64(exactly: $0) }),
            let memory = numbers[5].flatMap({ UInt64(exactly: $0) })
        else { return nil }
        self.init(
            status: status,
            excess: excess,
            leftProcesses: left,
            processorTime: time,
            largestProcess: largest,
            memory: memory
        )
    }

    var text: String {
        "\(status) \(excess.rawValue) \(leftProcesses) \(processorTime) \(largestProcess) \(memory)"
    }
}

/// A message from the host to the launcher.
enum HostMessage: String, Sendable, Hashable {
    /// SIGTERM to the program.
    case terminate
    /// SIGKILL to all processes.
    case kill

    func send(to socket: Int32) { JobExecution.send(rawValue, to: socket) }
}

/// Sends a text as one message, cut to the capacity. It neither waits nor raises a signal.
func send(_ text: String, to socket: Int32) {
    let bytes = Array(text.utf8.prefix(LauncherMessage.capacity))
    _ = linux_send_message(socket, bytes, bytes.count, nil, 0)
}

/// The result of asking for a message.
enum Reception: Sendable, Hashable {
    case message([UInt8])
    case nothing
    /// The other side has ended.
    case end
}

/// Takes the next message, without waiting.
func receiveMessage(_ socket: Int32) -> Reception {
    var bytes = [UInt8](repeating: 0, count: LauncherMessage.capacity)
    var descriptors = [Int32](repeating: -1, count: Int(LINUX_MESSAGE_DESCRIPTORS))
    var count: Int32 = 0
    let received = linux_receive_message(socket, 0, &bytes, bytes.count, &descriptors, &count)
    if received > 0 { return .message(Array(bytes[..<received])) }
    return received < 0 && wouldBlock() ? .nothing : .end
}
