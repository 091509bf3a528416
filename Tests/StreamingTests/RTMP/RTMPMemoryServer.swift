// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

@testable import Streaming

/// The answers of a server that a publisher gets without a network.
struct RTMPMemoryServer: Sendable {
    /// S1.
    let serverHandshake = (0..<RTMPHandshake.partByteCount).map { UInt8(truncatingIfNeeded: $0 * 7) }
    /// C2, as it was received.
    private(set) var secondHandshake: [UInt8] = []
    private var reader = RTMPChunkReader()
    private var writer = RTMPChunkWriter()

    /// S0, S1 and S2.
    var handshake: [UInt8] { [3] + serverHandshake + serverHandshake }

    /// Answers a publisher as far as a stage.
    ///
    /// - Returns: The messages of the publisher.
    mutating func accept(
        _ publisher: inout RTMPPublisher,
        until stage: RTMPPublisher.Stage = .accepted
    ) throws -> [RTMPMessage] {
        var output = try bytes(publisher.receive(handshake[...]))
        secondHandshake = Array(output.prefix(RTMPHandshake.partByteCount))
        output.removeFirst(RTMPHandshake.partByteCount)
        var messages = try self.messages(output)
        while publisher.stage != stage {
            let answer = chunks(RTMPMessage(command: Self.answer(to: publisher.stage)))
            messages += try self.messages(bytes(publisher.receive(answer[...])))
        }
        return messages
    }

    /// The command that leads to the next stage.
    static func answer(to stage: RTMPPublisher.Stage) -> [AMF0Value] {
        switch stage {
        case .connecting: [.string("_result"), .number(1), .object([]), .object([.init("level", .string("status"))])]
        case .creatingStream: [.string("_result"), .number(4), .null, .number(1)]
        default:
            [
                .string("onStatus"), .number(0), .null,
                .object([.init("level", .string("status")), .init("code", .string("NetStream.Publish.Start"))]),
            ]
        }
    }

    /// Returns the chunks of a message to the publisher.
    mutating func chunks(_ message: RTMPMessage) -> [UInt8] {
        var bytes: [UInt8] = []
        writer.write(message, on: .commands, to: &bytes)
        return bytes
    }

    /// Returns the messages of the publisher in its bytes.
    mutating func messages(_ bytes: [UInt8]) throws -> [RTMPMessage] { try reader.receive(bytes[...]) }

    private func bytes(_ actions: [RTMPPublisher.Action]) -> [UInt8] {
        actions.flatMap { action in if case .send(let bytes) = action { bytes } else { [UInt8]() } }
    }
}
