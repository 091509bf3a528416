// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import BitstreamSyntax
import MediaTypes
import TestSupport
import Testing

@testable import Streaming

@Suite(.blocks) struct RTMPPublisherTests {
    private let address: RTMPAddress
    private let clip: RTMPClip

    init() throws {
        address = try RTMPAddress("rtmp://host:1940/app/instance/hidden?token=1")
        clip = try RTMPClip.shared.get()
    }

    private func newPublisher(_ tracks: LiveTracks? = nil) throws -> RTMPPublisher {
        var random = SplitMix(1)
        return try RTMPPublisher(address, tracks: tracks ?? clip.tracks, random: &random)
    }

    private func accepted() throws -> (RTMPPublisher, RTMPMemoryServer) {
        var (publisher, server) = (try newPublisher(), RTMPMemoryServer())
        _ = try server.accept(&publisher)
        return (publisher, server)
    }

    @Test func theCommandsAndTheirOrder() throws {
        var publisher = try newPublisher()
        var server = RTMPMemoryServer()
        let opening = publisher.opening
        #expect(opening.count == 1537)
        #expect(opening.prefix(9) == [3, 0, 0, 0, 0, 0, 0, 0, 0])
        let commands = try server.accept(&publisher)
        #expect(server.secondHandshake == server.serverHandshake, "C2 repeats S1")
        #expect(publisher.stage == .accepted)
        let names = commands.filter { $0.kind == .commandAMF0 }.map { try? AMF0Value.values(in: $0.payload) }
        let key = AMF0Value.string("hidden?token=1")
        let expected: [[AMF0Value]] = [
            [
                .string("connect"), .number(1),
                .object([
                    .init("app", .string("app/instance")), .init("type", .string("nonprivate")),
                    .init("flashVer", .string("FMLE/3.0 (compatible; VAToolbox/\(PackageVersion.current))")),
                    .init("tcUrl", .string("rtmp://host:1940/app/instance")),
                ]),
            ],
            [.string("releaseStream"), .number(2), .null, key],
            [.string("FCPublish"), .number(3), .null, key],
            [.string("createStream"), .number(4), .null],
            [.string("publish"), .number(5), .null, key, .string("live")],
        ]
        #expect(names == expected)
        #expect(commands.last { $0.kind == .commandAMF0 }?.streamID == 1, "publish uses the stream that was created")

        let media = commands.drop { $0.kind != .dataAMF0 }
        #expect(media.map(\.kind) == [.dataAMF0, .video, .audio])
        #expect(media.allSatisfy { $0.streamID == 1 && $0.timestamp == 0 })
        let metadata = try AMF0Value.values(in: try #require(media.first).payload)
        #expect(metadata.prefix(2) == [.string("@setDataFrame"), .string("onMetaData")])
        let numbers = [
            "width": 192.0, "height": 112, "framerate": 25, "videodatarate": 1000, "videocodecid": 7,
            "audiosamplerate": 48000, "audiocodecid": 10,
        ]
        for (name, number) in numbers { #expect(metadata[2][name] == .number(number), "\(name)") }
        let record = try clip.video[0].formatDescription.decoderConfigurationRecord()
        #expect(media.dropFirst().first?.payload == [0x17, 0, 0, 0, 0] + record)
        #expect(media.last?.payload == [0xAF, 0] + clip.audioDescription.configuration)
    }

    @Test func unitsBecomeTags() throws {
        var (publisher, server) = try accepted()
        for (index, sample) in clip.video.enumerated() {
            let messages = try server.messages(publisher.send(.video(sample)))
            try #require(messages.count == 1)
            let offset = UInt32((sample.presentationTime - sample.decodeTime).seconds * 1000)
            var expected: [UInt8] = [sample.isKeyFrame ? 0x17 : 0x27, 1]
            expected.append(bigEndian: offset, count: 3)
            sample.data.withUnsafeBytes { expected += $0 }
            #expect(messages[0].payload == expected)
            #expect(messages[0].timestamp == UInt32(index * 40))
        }
        let messages = try server.messages(publisher.send(.audio(clip.audio[1], track: 0)))
        #expect(messages.map(\.timestamp) == [21], "1024 / 48000 s")
        #expect(messages.first?.payload.prefix(2) == [0xAF, 1])

        let ending = try server.messages(publisher.finish())
        #expect(ending.first?.payload == [0x17, 2, 0, 0, 0])
        let commands = try ending.dropFirst().map { try AMF0Value.values(in: $0.payload) }
        #expect(commands.map { $0.first } == [.string("FCUnpublish"), .string("deleteStream")])
        #expect(commands.last?.last == .number(1))
        #expect(throws: MediaError.self) { try publisher.send(.video(clip.video[0])) }
    }

    @Test func hevcIsCarriedByEnhancedRTMP() throws {
        let clip = try RTMPClip(.hevc, frames: 30)
        var publisher = try newPublisher(clip.tracks)
        var server = RTMPMemoryServer()
        let commands = try server.accept(&publisher)
        let connect = try AMF0Value.values(in: try #require(commands.first).payload)
        #expect(connect.last?["fourCcList"] == .strictArray([.string("hvc1")]))
        let record = try clip.video[0].formatDescription.decoderConfigurationRecord()
        let code = Array("hvc1".utf8)
        #expect(commands.first { $0.kind == .video }?.payload == [0x90] + code + record)
        var kinds: Set<UInt8> = []
        for sample in clip.video {
            let messages = try server.messages(publisher.send(.video(sample)))
            let payload = try #require(messages.first).payload
            kinds.insert(payload[0])
            let hasOffset = sample.presentationTime != sample.decodeTime
            #expect(payload[0] == 0x80 | (sample.isKeyFrame ? 0x10 : 0x20) | (hasOffset ? 1 : 3))
            #expect(payload[1..<5] == code[...])
            #expect(payload.count == sample.data.count + (hasOffset ? 8 : 5))
        }
        #expect(kinds.isSuperset(of: [0x91, 0xA1, 0xA3]))
        #expect(try server.messages(publisher.finish()).first?.payload == [0x92] + code)
    }

    @Test func aNewFormatSendsItsHeader() throws {
        let other = try RTMPClip(frames: 5, size: "128x96")
        var (publisher, server) = try accepted()
        _ = try server.messages(publisher.send(.video(clip.video[0])))
        var sample = other.video[0]
        sample.decodeTime = MediaTime(value: 2, timescale: 1)
        sample.presentationTime = sample.decodeTime
        let messages = try server.messages(publisher.send(.video(sample)))
        #expect(messages.map(\.kind) == [.dataAMF0, .video, .video])
        #expect(try AMF0Value.values(in: messages[0].payload)[2]["width"] == .number(128))
        let record = try sample.formatDescription.decoderConfigurationRecord()
        #expect(messages[1].payload == [0x17, 0, 0, 0, 0] + record)
        #expect(messages.map(\.timestamp) == [2000, 2000, 2000])

        var packet = clip.audio[0]
        packet.newConfiguration = try AudioSpecificConfig(sampleRate: 44100, channelConfiguration: 1).bytes()
        let sounds = try server.messages(publisher.send(.audio(packet, track: 0)))
        #expect(sounds.map { $0.payload[1] } == [0, 1])
        #expect(try server.messages(publisher.send(.audio(clip.audio[1], track: 0))).count == 1)
    }

    @Test func timesWrapAndNeverGoBack() throws {
        var (publisher, server) = try accepted()
        func timestamp(_ milliseconds: Int64) throws -> UInt32? {
            var sample = clip.video[0]
            sample.decodeTime = MediaTime(value: milliseconds, timescale: 1000)
            sample.presentationTime = sample.decodeTime
            return try server.messages(publisher.send(.video(sample))).last?.timestamp
        }
        #expect(try timestamp(0xFFFFFE) == 0xFFFFFE)
        #expect(try timestamp(0xFFFFFF) == 0xFFFFFF)
        #expect(try timestamp(0x1000100) == 0x1000100)
        #expect(try timestamp(0x1000000) == 0x1000100, "never before the last one")
        #expect(try timestamp(0x7FFF_FFFF) == 0x7FFF_FFFF)
        #expect(try timestamp(0xFFFF_FFF0) == 0xFFFF_FFF0)
        #expect(try timestamp(0x1_0000_0010) == 0x10)
        #expect(try timestamp(0x1_0000_0038) == 0x38)
    }

    @Test func unitsThatCannotBeCarried() throws {
        func refuses(_ code: MediaError.Code, _ unit: LiveUnit) throws {
            var (publisher, _) = try accepted()
            let error = #expect(throws: MediaError.self) { try publisher.send(unit) }
            #expect(error?.code == code)
        }
        var sample = clip.video[0]
        sample.presentationTime = MediaTime(value: 10_000, timescale: 1)
        try refuses(.unsupported, .video(sample))
        sample.decodeTime = .invalid
        try refuses(.invalidArgument, .video(sample))
        sample.decodeTime = MediaTime(value: -1, timescale: 25)
        try refuses(.invalidArgument, .video(sample))
        sample.decodeTime = MediaTime(value: .max, timescale: 1)
        try refuses(.invalidArgument, .video(sample))
        sample = clip.video[0]
        sample.data = CodedData(capacity: 1 << 24) { $0.count }
        try refuses(.unsupported, .video(sample))
        try refuses(.unsupported, .audio(clip.audio[0], track: 1))
        try refuses(.unsupported, .audio(clip.audio[0], track: -1))
        try refuses(.unsupported, .video(RTMPClip(.hevc, frames: 2).video[0]))

        var dropped = clip.video[0]
        (dropped.data, dropped.isDropped) = (CodedData([]), true)
        var (publisher, _) = try accepted()
        #expect(try publisher.send(.video(dropped)) == [])
    }

    @Test func tracksThatCannotBeCarried() throws {
        func refuses(_ code: MediaError.Code, _ tracks: LiveTracks) {
            let error = #expect(throws: MediaError.self) { try newPublisher(tracks) }
            #expect(error?.code == code)
        }
        var tracks = clip.tracks
        tracks.audio.append(tracks.audio[0])
        refuses(.unsupported, tracks)
        tracks = clip.tracks
        tracks.audio[0].codecName = "opus"
        refuses(.unsupported, tracks)
        tracks = clip.tracks
        tracks.audio[0].configuration = []
        refuses(.unsupported, tracks)
        refuses(.invalidArgument, LiveTracks(video: nil))
        let broken = FormatDescription(codec: .h264, width: 64, height: 64, parameterSets: [[0x67, 1, 2]])
        refuses(.malformedData, LiveTracks(video: broken))
    }

    @Test func theProtocolIsAnswered() throws {
        var (publisher, server) = try accepted()
        func answers(_ message: RTMPMessage) throws -> [RTMPMessage] {
            let actions = try publisher.receive(server.chunks(message)[...])
            return try actions.flatMap { action throws -> [RTMPMessage] in
                guard case .send(let bytes) = action else { return [] }
                return try server.messages(bytes)
            }
        }
        let ping = RTMPMessage(kind: .userControl, payload: [0, 6, 1, 2, 3, 4])
        #expect(try answers(ping).map(\.payload) == [[0, 7, 1, 2, 3, 4]])
        let bandwidth = RTMPMessage(kind: .setPeerBandwidth, payload: [0, 1, 0, 0, 2])
        let answer = RTMPMessage(.windowAcknowledgementSize, number: 0x10000)
        #expect(try answers(bandwidth) == [answer])
        #expect(try answers(bandwidth) == [], "nothing new")
        #expect(try answers(RTMPMessage(.windowAcknowledgementSize, number: 3000)) == [])
        var acknowledged: [RTMPMessage] = []
        for _ in 0..<10 {
            acknowledged += try answers(RTMPMessage(kind: .dataAMF0, payload: [UInt8](repeating: 5, count: 990)))
        }
        #expect(acknowledged.allSatisfy { $0.kind == .acknowledgement })
        #expect((2...4).contains(acknowledged.count))
    }
}

@Suite(.blocks) struct RTMPRefusalTests {
    private func refusal(
        at stage: RTMPPublisher.Stage,
        _ values: [AMF0Value],
        address: String = "rtmp://host/app/hidden"
    ) throws -> RTMPPublisher.Action? {
        let video = FormatDescription(codec: .h264, width: 64, height: 64, parameterSets: [])
        var random = SplitMix(1)
        var publisher = try RTMPPublisher(RTMPAddress(address), tracks: LiveTracks(video: video), random: &random)
        var server = RTMPMemoryServer()
        _ = try server.accept(&publisher, until: stage)
        #expect(publisher.stage == stage)
        return try publisher.receive(server.chunks(RTMPMessage(command: values))[...]).last
    }

    private func information(_ code: String, _ text: String, level: String = "error") -> AMF0Value {
        .object([.init("level", .string(level)), .init("code", .string(code)), .init("description", .string(text))])
    }

    private func error(_ action: RTMPPublisher.Action?) throws -> MediaError {
        guard case .refused(let error) = action else {
            Issue.record("not refused: \(String(describing: action))")
            throw MediaError(.invalidState, "not refused")
        }
        return error
    }

    @Test func theServersTextIsInTheError() throws {
        let status = information("NetStream.Publish.BadName", "Stream hidden is\nalready publishing")
        let bad = try error(refusal(at: .publishing, [.string("onStatus"), .number(0), .null, status]))
        #expect(
            bad.message
                == "the RTMP server refuses the stream: Stream *** is already publishing (NetStream.Publish.BadName)"
        )
        #expect(bad.code == .unavailable && !bad.isPermanent)
        #expect(bad.given == "rtmp://host/app/***")

        let rejected = information("NetConnection.Connect.Rejected", "no such application")
        let refused = try error(refusal(at: .connecting, [.string("_error"), .number(1), .null, rejected]))
        #expect(refused.message.contains("no such application (NetConnection.Connect.Rejected)"))
        #expect(refused.isPermanent)

        let plain = try error(
            refusal(at: .creatingStream, [.string("_error"), .number(4), .null, .string("too many")])
        )
        #expect(plain.message.contains("too many"))
        let silent = try error(refusal(at: .publishing, [.string("_error"), .number(5)]))
        #expect(silent.message.contains("without a reason"))

        let flash = try error(refusal(at: .publishing, [.string("onFCPublish"), .number(0), .null, status]))
        #expect(flash.message == bad.message)
    }

    @Test func aRedirectNamesTheOtherAddress() throws {
        let redirect = AMF0Value.object([
            .init("level", .string("error")), .init("code", .string("NetConnection.Connect.Rejected")),
            .init("ex", .object([.init("code", .number(302)), .init("redirect", .string("rtmp://other/app"))])),
        ])
        let moved = try error(refusal(at: .connecting, [.string("_error"), .number(1), .null, redirect]))
        #expect(moved.message == "the RTMP server sends publishers to another address: rtmp://other/app")
    }

    @Test func whatEndsAnAcceptedStream() throws {
        let failed = information("NetStream.Publish.Failed", "disk full")
        let lost = try error(refusal(at: .accepted, [.string("onStatus"), .number(0), .null, failed]))
        #expect(lost.code == .inputOutput && !lost.isPermanent)
        #expect(lost.message == "the RTMP server ended the stream: disk full (NetStream.Publish.Failed)")

        let ended = information("NetStream.Unpublish.Success", "stopped", level: "status")
        _ = try error(refusal(at: .accepted, [.string("onStatus"), .number(0), .null, ended]))

        let note = information("NetStream.Publish.Idle", "", level: "status")
        #expect(try refusal(at: .accepted, [.string("onStatus"), .number(0), .null, note]) == nil)
    }

    @Test func aRequestToReconnectIsNoRefusal() throws {
        let request = AMF0Value.object([
            .init("level", .string("status")), .init("code", .string(RTMPStatus.reconnectRequest)),
            .init("tcUrl", .string("rtmp://other/app")), .init("description", .string("maintenance")),
        ])
        let action = try refusal(at: .accepted, [.string("onStatus"), .number(0), .null, request])
        guard case .reconnect(let error) = action else {
            Issue.record("\(String(describing: action))")
            return
        }
        #expect(error.message == "the RTMP server asks for a new connection to rtmp://other/app: maintenance")
        #expect(!error.isPermanent)
    }

    @Test func errorsOfOptionalCommandsMeanNothing() throws {
        for transaction in [2.0, 3, 99] {
            #expect(try refusal(at: .creatingStream, [.string("_error"), .number(transaction), .null]) == nil)
        }
    }

    @Test func streamNumbersAreChecked() throws {
        for number in [AMF0Value.number(-1), .number(.nan), .number(.infinity), .number(5e9), .string("1")] {
            let error = #expect(throws: MediaError.self) {
                try refusal(at: .creatingStream, [.string("_result"), .number(4), .null, number])
            }
            #expect(error?.code == .malformedData)
        }
    }
}
