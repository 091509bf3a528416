// SPDX-License-Identifier: GPL-2.0-or-later

package import ServiceAPI

/// How the command ends, by the numbers of `vatoolbox encode`.
package enum ClientStatus: Int32, Sendable, Hashable {
    case done = 0
    case failed = 1
    case usage = 2
    case damagedInput = 3
    case interrupted = 130

    /// The status of a job that has ended.
    ///
    /// - Parameter wasInterrupted: Whether a signal to this command asked for the job's cancellation.
    package init(_ job: Job, wasInterrupted: Bool = false) {
        switch job.state {
        case .succeeded: self = Self.isDamaged(job) ? .damagedInput : .done
        case .cancelled where wasInterrupted: self = .interrupted
        case .failed, .cancelled, .waiting, .running: self = .failed
        }
    }

    /// The status of several jobs: the worst one.
    package static func worst(_ statuses: [ClientStatus]) -> ClientStatus {
        let order: [ClientStatus] = [.done, .damagedInput, .interrupted, .usage, .failed]
        return statuses.max { (order.firstIndex(of: $0) ?? 0) < (order.firstIndex(of: $1) ?? 0) } ?? .done
    }

    /// Whether a result lacks a part of the input, as the command says in its document of the output.
    private static func isDamaged(_ job: Job) -> Bool {
        job.outputs.contains { $0.result?["status"] == .string("damaged-input") }
    }
}
