// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Synchronization

/// What a process says, on its way from the host's thread to the caller of a run.
///
/// Its size is bounded: while it is full, the host reads no log, so that the process waits, and a progress replaces the
/// one before.
final class Mailbox: Sendable {
    enum Letter: Sendable {
        /// A progress, and the line that told it.
        case progress(TaskProgress, [UInt8])
        case line(String)
    }

    private struct State {
        var letters: [Letter] = []
        var bytes = 0
        var result: Result<ExecutionResult, MediaError>?
        var reader: CheckedContinuation<Void, Never>?
    }

    /// The bytes of log above which it is full.
    private static let capacity = 256 << 10
    private let state = Mutex(State())

    var isFull: Bool { state.withLock { $0.bytes >= Self.capacity } }

    /// Adds a letter. A progress replaces one that was not taken.
    func post(_ letter: Letter) {
        let reader = state.withLock { state in
            switch (letter, state.letters.last) {
            case (.progress, .progress): state.letters[state.letters.count - 1] = letter
            default: state.letters.append(letter)
            }
            if case .line(let text) = letter { state.bytes += text.utf8.count + 64 }
            return state.reader.take()
        }
        reader?.resume()
    }

    /// Ends the run.
    func finish(_ result: Result<ExecutionResult, MediaError>) {
        let reader = state.withLock { state in
            state.result = result
            return state.reader.take()
        }
        reader?.resume()
    }

    /// Waits for letters or the result.
    ///
    /// - Returns: The letters, whether the mailbox was full, and the result, after which nothing comes.
    func next() async -> (letters: [Letter], wasFull: Bool, result: Result<ExecutionResult, MediaError>?) {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isReady = state.withLock { state in
                if !state.letters.isEmpty || state.result != nil { return true }
                state.reader = continuation
                return false
            }
            if isReady { continuation.resume() }
        }
        return state.withLock { state in
            let wasFull = state.bytes >= Self.capacity
            defer { (state.letters, state.bytes) = ([], 0) }
            return (state.letters, wasFull, state.result)
        }
    }
}
