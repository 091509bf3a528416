// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

// MARK: - From one encoder to the next

extension SessionMachine {
    /// What is known of a switch before the new encoder has its first frame.
    struct PendingSwitch {
        var from: EncoderIdentity
        var refresh: RefreshReason?
        var failures: [EncoderFailure] = []
        var repeatedFrames = 0
    }

    /// Asks for a new encoder at the next group boundary. The first reason counts until it is there.
    mutating func refresh(because reason: RefreshReason) {
        // Suspending the system takes nothing from an encoder on the CPU.
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

    /// Notes that a new encoder is made now, which does what a refresh would do.
    mutating func beginSwitch() {
        openSwitch()
        if let pending = pendingSwitch { pendingSwitch?.refresh = pending.refresh ?? refreshReason }
        refreshReason = nil
    }

    /// Before the first encoder is there, there is nothing to switch from.
    private mutating func openSwitch() {
        guard pendingSwitch == nil, let encoder else { return }
        pendingSwitch = PendingSwitch(from: encoder.identity)
    }

    /// Reports the switch that is under way, now that the new encoder gets its first frame.
    mutating func completeSwitch(at frame: EncoderFrame) {
        guard let pending = pendingSwitch.take(), let encoder else { return }
        // The encoder that was made before the first picture had told its colour has coded nothing.
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
