// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// What runs in a helper at the far end of a connection.
enum ConnectionKind: UInt8, Sendable, Hashable, CaseIterable {
    /// An encoder, or the inspection of a driver.
    case encoder
    /// A decoder.
    case decoder
    /// Copies and exports of pictures that decoders have left on the device.
    case pictures
}

extension ConnectionKind: WireValue {}

/// The messages of one kind of connection, in both directions.
protocol ConnectionMessages: SendableMetatype {
    /// The messages from the client.
    associatedtype Client: WireMessage
    /// The messages to the client.
    associatedtype Helper: HelperMessage

    /// The kind of connection.
    static var kind: ConnectionKind { get }
    /// The last message of the client.
    static var close: Client { get }
}

/// A message from an encoder or a decoder in a helper.
protocol HelperMessage: WireMessage {
    /// What the message means for the connection.
    var role: HelperMessageRole { get }

    /// Reports an error that answers no order.
    static func failed(_ error: MediaError) -> Self
}

/// What a helper's message means for the connection.
enum HelperMessageRole {
    /// It answers an order.
    case answer
    /// It answers an order that failed.
    case refusal(MediaError)
    /// The encoder or decoder failed, independently of any order.
    case failure
    /// It answers no order.
    case notice
}

/// The messages of an encoder.
enum EncoderMessages: ConnectionMessages {
    typealias Client = EncoderClientMessage
    typealias Helper = EncoderHelperMessage

    static var kind: ConnectionKind { .encoder }
    static var close: EncoderClientMessage { .close }
}

/// The client's connection to an encoder.
typealias EncoderLink = HelperLink<EncoderMessages>
