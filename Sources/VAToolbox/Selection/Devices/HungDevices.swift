// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Synchronization

/// The devices that hung in a test of one selection. They are not tested for its other codec: each test would cost a
/// whole deadline, and a device that hangs with one codec rarely works with the other.
final class HungDevices: Sendable {
    private let tasks = Mutex<[String: DeviceTask]>([:])

    /// Records that a device did not respond when it was tested for a task.
    func note(_ device: String, triedFor task: DeviceTask) { tasks.withLock { $0[device] = task } }

    /// Returns the reason why a device is not tested for a task; `nil` if it may be.
    func refusal(of device: String, for task: DeviceTask) -> MediaError? {
        guard let other = tasks.withLock({ $0[device] }), other != task else { return nil }
        return MediaError(
            .proofFailed,
            "not tried for \(task.codec.name), because it has just hung in the \(other.testName) for \(other.codec.name)",
            isPermanent: true,
            cause: .driverHung
        )
    }
}
