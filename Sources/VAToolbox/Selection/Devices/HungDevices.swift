// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Synchronization

/// Devices that hung in a test encode of one selection, which are not tried for its other codec: each time would cost a
/// whole deadline, and what hangs with one codec seldom does better with the other.
final class HungDevices: Sendable {
    private let codecs = Mutex<[String: VideoCodec]>([:])

    /// Takes note that a device did not answer when it was tried for a codec.
    func note(_ device: String, triedFor codec: VideoCodec) { codecs.withLock { $0[device] = codec } }

    /// Why a device is not tried for a codec; `nil` if it may be.
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
