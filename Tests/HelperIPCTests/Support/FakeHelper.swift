// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import Glibc
import MediaTypes
import Testing

@testable import HelperIPC

/// A helper of a test, in this process, that sends whatever its script says.
final class FakePeer<Messages: ConnectionMessages>: Sendable {
    typealias Script = @Sendable (FakePeer) throws -> Void

    let channel: Channel
    private let socket: Int32

    init(_ socket: consuming Descriptor, script: @escaping Script) {
        self.socket = socket.number
        channel = Channel(socket, peer: "the client")
        let thread = Thread {
            do { try script(self) } catch { Issue.record(error, "the script of the helper") }
            self.channel.shutDown()
        }
        thread.start()
    }

    func receive() throws -> Messages.Client? {
        try channel.receive(Messages.Client.self, until: .after(.seconds(20)))
    }

    func send(_ messages: Messages.Helper...) {
        // The client may have gone already: it was lied to.
        for message in messages { try? channel.send(message) }
    }

    /// Says something again and again, until nobody listens any more.
    func repeatForever(_ message: Messages.Helper) {
        while (try? channel.send(message)) != nil {}
    }

    /// Bytes as they are.
    func send(raw bytes: [UInt8]) { _ = Glibc.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
}

/// A helper with an encoder.
typealias FakeHelper = FakePeer<EncoderMessages>

extension FakePeer<EncoderMessages> {
    /// What an honest helper says until the first frame.
    func behave(_ properties: EncoderProperties = FakeHelper.properties) throws {
        _ = try receive()
        send(.created(properties))
    }

    /// Waits for a frame.
    func waitForFrame() throws {
        while let message = try receive() { if case .frame = message { return } }
    }

    static var format: FormatDescription {
        FormatDescription(codec: .h264, width: 96, height: 64, parameterSets: [[0x67]])
    }

    static var properties: EncoderProperties {
        EncoderProperties(
            name: "fake",
            profile: "none",
            level: "none",
            reorderDepth: 0,
            maximumDelay: 0,
            pixelFormats: [.nv12],
            supportedProperties: [],
            formatDescription: format
        )
    }

    static func coded(
        _ number: Int64 = 0,
        offset: Int = 0,
        byteCount: Int = 8,
        format: FormatDescription? = nil
    ) -> EncoderHelperMessage {
        .coded(
            CodedNotice(
                number: number,
                isKeyFrame: true,
                isReference: true,
                isDropped: false,
                offset: offset,
                byteCount: byteCount,
                formatDescription: format
            )
        )
    }
}

/// One lie.
struct Lie<Messages: ConnectionMessages>: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let script: FakePeer<Messages>.Script

    /// A lie in the place of the first answers.
    init(_ name: String, script: @escaping FakePeer<Messages>.Script) {
        testDescription = name
        self.script = script
    }
}

extension Lie<EncoderMessages> {
    /// Messages instead of an answer to the first frame.
    init(frame name: String, _ messages: EncoderHelperMessage...) {
        self.init(name) { helper in
            try helper.behave()
            try helper.waitForFrame()
            for message in messages { helper.send(message) }
            while try helper.receive() != nil {}
        }
    }

    /// An encoder that cannot be.
    init(properties name: String, _ change: @escaping @Sendable (inout EncoderProperties) -> Void) {
        self.init(name) { helper in
            var properties = FakeHelper.properties
            change(&properties)
            try helper.behave(properties)
            while try helper.receive() != nil {}
        }
    }
}
