// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

// MARK: - Encoder switches

extension SessionMachine {
    /// The known part of a switch before the new encoder has its first frame.
    struct PendingSwitch {
        var from: EncoderIdentity
        var refresh: RefreshReason?
        var failures: [EncoderFailure] = []
        var repeatedFrames = 0
    }

    /// Requests a new encoder at the next group boundary. The first reason is kept until the switch.
    mutating func refresh(because reason: RefreshReason) {
        // A system suspend does not affect an encoder on the CPU.
        if reason == .resume, !isHardwareInUse { return }
        refreshReason = refreshReason ?? reason
    }

    private var isHardwareInUse: Bool {
        let candidates = selection.candidates
        return candidates.indices.contains(attempts.candidate) && candidates[attempts.candidate].identity.isHardware
    }

    mutating func noteForSwitch(_ failure: EncoderFailure) {
        openSwitch()
        pendingSwitch?.failures.append(failure)
    }

    /// Notes that a new encoder is created now, which also satisfies a pending refresh.
    mutating func beginSwitch() {
        openSwitch()
        if let pending = pendingSwitch { pendingSwitch?.refresh = pending.refresh ?? refreshReason }
        refreshReason = nil
    }

    /// Starts a switch, unless there is no encoder yet.
    private mutating func openSwitch() {
        guard pendingSwitch == nil, let encoder else { return }
        pendingSwitch = PendingSwitch(from: encoder.identity)
    }

    /// Reports the switch in progress when the new encoder receives its first frame.
    mutating func completeSwitch(at frame: EncoderFrame) {
        guard let pending = pendingSwitch.take(), let encoder else { return }
        // The encoder that was created before the first picture specified its colour has encoded nothing.
        if pending.refresh == .firstPicture, pending.failures.isEmpty { return }
        statistics.encoderSwitches += 1
        if pending.refresh != nil { statistics.refreshes += 1 }
        let change = EncoderSwitch(
            from: pending.from,
            to: encoder.identity,
            refresh: pending.refresh,
            failures: pending.failures,
            frame: Int(frame.number),
            presentationTime: frame.presentationTime,
            repeatedFrames: pending.repeatedFrames
        )
        actions.append(.report(.encoderSwitched(change)))
    }
}
