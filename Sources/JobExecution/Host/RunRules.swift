// SPDX-License-Identifier: GPL-2.0-or-later

/// When a process is ended, and how. Times are those since its start.
struct RunRules: Sendable, Hashable {
    /// What the host does.
    enum Action: Sendable, Hashable { case terminate, kill }

    private let stallTimeout: Duration?
    private let timeLimit: Duration?
    private let cancellation: ConfinedCommand.Cancellation
    private(set) var progress: TaskProgress?
    private(set) var interruption: ExecutionResult.Interruption?
    private var lastAdvance = Duration.zero
    private var end: Duration?
    private var isKilled = false

    init(_ limits: ConfinedCommand.Limits, _ cancellation: ConfinedCommand.Cancellation) {
        (stallTimeout, timeLimit, self.cancellation) = (limits.stallTimeout, limits.timeLimit, cancellation)
    }

    /// Takes a progress.
    mutating func advance(to progress: TaskProgress, at time: Duration) {
        if progress.hasAdvanced(since: self.progress) { lastAdvance = time }
        self.progress = progress
    }

    /// Takes the cancellation of the caller. Only the first counts.
    mutating func cancel(at time: Duration) -> Action? {
        guard interruption == nil else { return nil }
        interruption = .cancelled
        switch cancellation {
        case .gentle(let grace):
            end = time + max(grace, .zero)
            return .terminate
        case .immediate:
            isKilled = true
            return .kill
        }
    }

    /// The time at which ``tick(at:)`` has something to do; `nil` for never.
    var next: Duration? {
        guard !isKilled else { return nil }
        if interruption != nil { return end }
        return [stallTimeout.map { lastAdvance + $0 }, timeLimit].compactMap(\.self).min()
    }

    /// Looks at the time.
    mutating func tick(at time: Duration) -> Action? {
        guard let next, time >= next else { return nil }
        if interruption == nil {
            interruption = timeLimit.map { time >= $0 } == true ? .timeLimit : .stalled
        }
        isKilled = true
        return .kill
    }
}
