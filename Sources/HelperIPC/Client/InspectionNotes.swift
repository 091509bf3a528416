// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Synchronization

/// The messages that a helper has sent about a driver so far.
final class InspectionNotes: Sendable {
    /// The number of log lines to keep.
    static let lineCount = 20

    private struct State {
        var stages = StageRecord()
        var report: DriverReport?
        var encoders: [DriverReport.Encoder] = []
        var log: [HelperLogLine] = []
    }

    private let state = Mutex(State())

    /// Handles a message that answers no order.
    ///
    /// - Throws: `malformedData` if it does not belong to an inspection.
    func handle(_ message: EncoderHelperMessage) throws(MediaError) {
        switch message {
        case .stage(let stage): state.withLock { $0.stages.add(stage) }
        case .report(let report):
            let isFirst = state.withLock { state in
                defer { state.report = report }
                return state.report == nil
            }
            guard isFirst else { throw MediaError(.malformedData, "\(HelperHost.peer) reported a driver twice") }
        case .encoder(let encoder):
            let isListed = state.withLock { state in
                guard let report = state.report, report.lists(encoder),
                    !state.encoders.contains(where: { $0.isOf(encoder) })
                else { return false }
                state.encoders.append(encoder)
                return true
            }
            guard isListed else {
                throw MediaError(.malformedData, "\(HelperHost.peer) described an encoder that it did not announce")
            }
        default:
            throw MediaError(
                .malformedData,
                "\(HelperHost.peer) sent an unexpected message",
                given: "\(message.kind)"
            )
        }
    }

    func add(_ line: HelperLogLine) {
        state.withLock { state in
            state.log.append(line)
            if state.log.count > Self.lineCount { state.log.removeFirst() }
        }
    }

    /// Whether the driver has been described.
    var hasReport: Bool { state.withLock { $0.report != nil } }

    /// Returns the result of the inspection, with everything that is known so far.
    ///
    /// - Parameter cause: The cause of a failure; `nil` if the helper has finished.
    func inspection(_ cause: DriverFailure.Cause?) -> DriverInspection {
        state.withLock { state in
            if cause == nil, let report = state.report { return .reported(report, state.encoders, failure: nil) }
            let cause = cause ?? .helper(MediaError(.malformedData, "\(HelperHost.peer) did not report the driver"))
            var stage = state.stages.last
            if case .refused = cause, state.report == nil { stage = state.stages.furthest }
            let file = stage?.file ?? state.report?.file ?? state.stages.lastFile
            let failure = DriverFailure(cause: cause, stage: stage, file: file, log: state.log)
            return state.report.map { .reported($0, state.encoders, failure: failure) } ?? .failed(failure)
        }
    }
}

extension DriverReport {
    /// Returns whether the driver lists the profile and entrypoint of an encoder.
    fileprivate func lists(_ encoder: Encoder) -> Bool {
        profiles.contains { profile in
            profile.number == encoder.profile && profile.entrypoints.contains { $0.number == encoder.entrypoint }
        }
    }
}

extension DriverReport.Encoder {
    /// Returns whether both have the same profile and entrypoint.
    fileprivate func isOf(_ other: DriverReport.Encoder) -> Bool {
        profile == other.profile && entrypoint == other.entrypoint
    }
}

/// The reported stages that matter later.
struct StageRecord {
    private(set) var last: DriverStage?
    /// The furthest stage, except for closing; of equal stages, the last one. libva continues with the next file if one
    /// fails, and often the next file does not exist.
    private(set) var furthest: DriverStage?
    /// The last reported file.
    private(set) var lastFile: String?

    mutating func add(_ stage: DriverStage) {
        last = stage
        lastFile = stage.file ?? lastFile
        guard stage != .closing else { return }
        furthest = furthest.map { $0.rank > stage.rank ? $0 : stage } ?? stage
    }
}
