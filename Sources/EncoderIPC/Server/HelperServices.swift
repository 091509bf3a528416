// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// What a helper process does for its client.
package struct HelperServices: Sendable {
    /// The available encoders, by ``EncoderIdentity/name`` and codec.
    package var encoders: [any EncoderFactory]
    /// Creates a factory for an encoder that is not among them, such as one on a device that the client names; `nil` if
    /// there is no such encoder.
    package var otherEncoders: @Sendable (EncoderIdentity) -> (any EncoderFactory)? = { _ in nil }
    /// Inspects drivers; `nil` if this helper does not.
    package var inspector: DriverInspector?

    /// Creates the services of a helper with these encoders.
    package init(encoders: [any EncoderFactory] = []) { self.encoders = encoders }
}
