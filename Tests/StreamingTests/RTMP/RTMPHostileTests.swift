// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import TestSupport
import Testing

@testable import Streaming

/// Servers that send anything: nothing traps, and errors are errors of the data.
@Suite(.blocks) struct RTMPHostileTests {
    private func publisher(_ random: inout SplitMix) throws -> RTMPPublisher {
        let video = FormatDescription(codec: .h264, width: 64, height: 64, parameterSets: [])
        return try RTMPPublisher(
            RTMPAddress("rtmp://host/app/key"),
            tracks: LiveTracks(video: video),
            random: &random
        )
    }

    private func feed(_ publisher: inout RTMPPublisher, _ bytes: [UInt8], _ random: inout SplitMix) {
        var rest = bytes[...]
        do throws(MediaError) {
            while !rest.isEmpty {
                let count = 1 + random.below(200)
                let actions = try publisher.receive(rest.prefix(count))
                rest = rest.dropFirst(count)
                #expect(actions.count <= 2 * count)
            }
        } catch {
            #expect(error.code == .malformedData)
        }
    }

    @Test(arguments: 0..<300)
    func randomBytes(seed: UInt64) throws {
        var random = SplitMix(seed)
        let stages: [RTMPPublisher.Stage] = [.handshake, .connecting, .creatingStream, .publishing, .accepted]
        for stage in stages {
            var publisher = try publisher(&random)
            var server = RTMPMemoryServer()
            if stage != .handshake { _ = try server.accept(&publisher, until: stage) }
            let first: [UInt8] = stage == .handshake && random.isOne(of: 2) ? [3] : []
            feed(&publisher, first + (0..<random.below(9000)).map { _ in UInt8(random.below(256)) }, &random)
        }
    }

    /// A dialogue of which some bytes are changed, left out or doubled.
    @Test(arguments: 0..<300)
    func damagedDialogues(seed: UInt64) throws {
        var random = SplitMix(seed)
        var publisher = try publisher(&random)
        var server = RTMPMemoryServer()
        var bytes: [UInt8] = []
        for stage in [RTMPPublisher.Stage.connecting, .creatingStream, .publishing] {
            bytes += server.chunks(RTMPMessage(.windowAcknowledgementSize, number: UInt32(random.below(1000))))
            bytes += server.chunks(RTMPMessage(command: RTMPMemoryServer.answer(to: stage)))
            bytes += server.chunks(RTMPMessage(command: [.random(&random, depth: 0), .random(&random, depth: 0)]))
        }
        for _ in 0..<(1 + random.below(6)) {
            let position = random.below(bytes.count)
            switch random.below(3) {
            case 0: bytes[position] = UInt8(random.below(256))
            case 1: bytes.remove(at: position)
            default: bytes.insert(bytes[position], at: position)
            }
        }
        feed(&publisher, server.handshake + bytes, &random)
    }

    @Test func anotherProtocolIsNamed() throws {
        var random = SplitMix(0)
        var publisher = try publisher(&random)
        let error = #expect(throws: MediaError.self) {
            try publisher.receive(Array("HTTP/1.1 400 Bad Request\r\n".utf8)[...])
        }
        #expect(error?.message == "the server does not answer as an RTMP server does")
    }

    @Test func repliesThatNobodyTakesAreLimited() throws {
        var output = OutputBuffer()
        let error = #expect(throws: MediaError.self) {
            for _ in 0..<20_000 { try output.append(reply: [UInt8](repeating: 0, count: 18)) }
        }
        #expect(error?.code == .malformedData)
        #expect(output.count <= OutputBuffer.greatestReplies)
    }
}
