// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// What a helper process does for its client.
package struct HelperServices: Sendable {
    /// The available encoders, by ``EncoderIdentity/name`` and codec.
    package var encoders: [any EncoderFactory]
    /// Creates a factory for an encoder that is not among them, such as one on a device that the client names; `nil` if
    /// there is no such encoder.
    package var otherEncoders: @Sendable (EncoderIdentity) -> (any EncoderFactory)? = { _ in nil }
    /// The available decoders, by ``DecoderIdentity/name`` and codec.
    package var decoders: [any DecoderFactory] = []
    /// Creates a factory for a decoder that is not among them, such as one on a device that the client names; `nil` if
    /// there is no such decoder.
    package var otherDecoders: @Sendable (DecoderIdentity) -> (any DecoderFactory)? = { _ in nil }
    /// Inspects drivers; `nil` if this helper does not.
    package var inspector: DriverInspector?

    /// Creates the services of a helper with these encoders.
    package init(encoders: [any EncoderFactory] = []) { self.encoders = encoders }
}
