// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
package import MediaTypes
internal import Synchronization

/// Executes a ``StreamRequest`` in a separate process, which is another instance of this program.
package final class RunProcess: Sendable {
    private struct State {
        var process: pid_t?
        var isEnded = false
    }

    private let command: [String]
    private let state = Mutex(State())

    /// - Parameter command: The program and its first arguments; the paths of the request and of the record follow.
    package init(command: [String]) { self.command = command }

    /// Executes a request. Blocks until the process has ended.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - path: The file for the record; the request is stored next to it meanwhile.
    /// - Throws: `cancelled` after ``end()``; the error that the process reported; `frameFailed` if it crashed.
    package func run(_ request: StreamRequest, record path: String) throws(MediaError) -> StreamRecord {
        let requestPath = path + ".request"
        unlink(path)
        try BenchmarkFile.write(request, to: requestPath)
        defer { unlink(requestPath) }
        let status = try wait(for: try start(command + [requestPath, path]))
        if state.withLock(\.isEnded) { throw MediaError(.cancelled, "the benchmark was interrupted") }
        let answer: StreamAnswer? = try? BenchmarkFile.read(path)
        switch answer {
        case .record(let record): return record
        case .failure(let failure): throw MediaError(.frameFailed, failure)
        case nil:
            let signal = status & 0x7F
            let ending = signal == 0 ? "exit status \(status >> 8 & 0xFF)" : "signal \(signal)"
            throw MediaError(.frameFailed, "the encoding process ended with \(ending) and without a result")
        }
    }

    /// Ends the process, and all later ones immediately. Safe on any thread.
    package func end() {
        state.withLock { state in
            state.isEnded = true
            if let process = state.process { kill(process, SIGKILL) }
        }
    }

    private func start(_ words: [String]) throws(MediaError) -> pid_t {
        try state.withLock { state throws(MediaError) in
            if state.isEnded { throw MediaError(.cancelled, "the benchmark was interrupted") }
            let process = try startProgram(words, "the encoding process cannot be started")
            state.process = process
            return process
        }
    }

    private func wait(for process: pid_t) throws(MediaError) -> Int32 {
        // The process ID stays reserved until it is reaped below, so that no other process is ended in its place.
        var information = siginfo_t()
        while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        return state.withLock { state in
            var status: Int32 = 0
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
            state.process = nil
            return status
        }
    }

    /// The main function of the process: reads the request, executes it, and writes the result.
    ///
    /// - Returns: Whether there is a record.
    package static func serve(request path: String, record: String) async -> Bool {
        _ = linux_die_with_parent()
        do throws(MediaError) {
            let request: StreamRequest = try BenchmarkFile.read(path)
            let answer: StreamAnswer
            do throws(MediaError) {
                answer = .record(try await StreamRunner(request).run())
            } catch {
                answer = .failure(error.description)
            }
            try BenchmarkFile.write(answer, to: record)
            if case .record = answer { return true }
            return false
        } catch {
            return false
        }
    }
}

/// The result of an encoding process.
package enum StreamAnswer: Codable, Sendable {
    /// The measurement.
    case record(StreamRecord)
    /// The reason why it could not start.
    case failure(String)
}
