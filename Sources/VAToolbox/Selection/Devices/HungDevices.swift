// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Synchronization

/// The devices that hung in a test encode of one selection. They are not tested for its other codec: each test would
/// cost a whole deadline, and a device that hangs with one codec rarely works with the other.
final class HungDevices: Sendable {
    private let codecs = Mutex<[String: VideoCodec]>([:])

    /// Records that a device did not respond when it was tested for a codec.
    func note(_ device: String, triedFor codec: VideoCodec) { codecs.withLock { $0[device] = codec } }

    /// Returns the reason why a device is not tested for a codec; `nil` if it may be.
    func refusal(of device: String, for codec: VideoCodec) -> MediaError? {
        guard let other = codecs.withLock({ $0[device] }), other != codec else { return nil }
        return MediaError(
            .proofFailed,
            "not tried for \(codec.name), because it has just hung in the test encode for \(other.name)",
            isPermanent: true,
            cause: .driverHung
        )
    }
}
