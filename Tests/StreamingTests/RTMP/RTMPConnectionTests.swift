// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import BitstreamSyntax
import Glibc
import MediaTypes
import TestSupport
import Testing

@testable import Streaming

/// Runs a body that blocks on a thread of its own, so that other tests run meanwhile.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await PlainThread.result(name: "rtmp test") { () throws(MediaError) in Result { try body() } }.get()
}

/// How an attempt to publish has ended.
struct RTMPAttempt: Sendable {
    var error: MediaError?
    var seconds = 0.0
    var sentUnits = 0
    var measurements = LinkMeasurements()

    /// Calls a body again and again while the server does not listen yet.
    static func onceListening<Value>(_ body: () throws(MediaError) -> Value) throws(MediaError) -> Value {
        let end = ContinuousClock.now + Patience.limit
        while true {
            do throws(MediaError) {
                return try body()
            } catch {
                guard error.status == Int(ECONNREFUSED), .now < end else { throw error }
                usleep(2000)
            }
        }
    }

    /// Connects, sends units and finishes. A server that does not listen yet is waited for.
    ///
    /// - Parameter units: What to send; it is called for each unit until it returns none.
    static func run(
        _ address: RTMPAddress,
        tracks: LiveTracks,
        connecting: Int32 = 60_000,
        silence: Int32 = 60_000,
        authorities: String? = nil,
        stop: StopSignal? = nil,
        units: @escaping @Sendable (Int) -> LiveUnit?
    ) async throws -> RTMPAttempt {
        try await onThread {
            var attempt = RTMPAttempt()
            var limits = ConnectionLimits()
            (limits.connecting, limits.silence) = (connecting, silence)
            let stop = try stop ?? StopSignal()
            let start = ContinuousClock.now
            do throws(MediaError) {
                let connection = try onceListening { () throws(MediaError) in
                    try RTMPConnection(
                        to: address,
                        tracks: tracks,
                        limits: limits,
                        authorities: authorities,
                        stop: stop
                    )
                }
                while let unit = units(attempt.sentUnits) {
                    try connection.send(unit)
                    attempt.sentUnits += 1
                }
                attempt.measurements = connection.measurements
                try connection.finish()
            } catch {
                attempt.error = error
            }
            attempt.seconds = (.now - start) / .seconds(1)
            return attempt
        }
    }
}

@Suite(.blocks) struct RTMPConnectionTests {
    private let tracks: LiveTracks
    private let format: FormatDescription

    init() throws {
        format = try RTMPClip.shared.get().video[0].formatDescription
        tracks = LiveTracks(video: format, videoBitRate: 1_000_000)
    }

    private static let stages: [RTMPPublisher.Stage] = [.handshake, .connecting, .creatingStream, .publishing]

    @Test(arguments: [false, true])
    func aStreamArrives(bytewise: Bool) async throws {
        let clip = try RTMPClip.shared.get()
        let server = try RTMPScriptedServer(bytewise: bytewise)
        let units = clip.units
        let attempt = try await RTMPAttempt.run(server.address, tracks: clip.tracks) { index in
            index < units.count ? units[index] : nil
        }
        #expect(attempt.error == nil)
        #expect(attempt.sentUnits == units.count)
        let isOver = await Patience.wait { server.record.isOver }
        try #require(isOver)
        let record = server.record
        let commands = [
            "connect", "releaseStream", "FCPublish", "createStream", "publish", "FCUnpublish", "deleteStream",
        ]
        #expect(record.commands == commands)
        let pictures = record.payloads(.video).filter { $0[1] == 1 }.map { Array($0.dropFirst(5)) }
        #expect(pictures == clip.video.map { $0.data.withUnsafeBytes { Array($0) } })
        let packets = record.payloads(.audio).filter { $0[1] == 1 }.map { Array($0.dropFirst(2)) }
        #expect(packets == clip.audio.map { $0.data.withUnsafeBytes { Array($0) } })
        #expect(attempt.measurements.roundTrip.map { $0 > 0 && $0 < 60 } == true)
        #expect(attempt.measurements.sentBytes > units.reduce(0) { $0 + $1.byteCount })
    }

    @Test(arguments: stages.dropFirst())
    func refusalsGiveTheServersText(stage: RTMPPublisher.Stage) async throws {
        let server = try RTMPScriptedServer(.refuses(at: stage))
        let attempt = try await RTMPAttempt.run(server.address, tracks: tracks) { _ in nil }
        #expect(attempt.error?.code == .unavailable)
        #expect(attempt.error?.message.contains(RTMPScriptedServer.refusal) == true)
        let isOver = await Patience.wait { server.record.isOver }
        #expect(isOver)
    }

    @Test(arguments: stages + [.accepted])
    func aServerThatClosesIsNoticed(stage: RTMPPublisher.Stage) async throws {
        let server = try RTMPScriptedServer(.closes(at: stage))
        let unit = unit(byteCount: 1000)
        let attempt = try await RTMPAttempt.run(server.address, tracks: tracks) { _ in unit }
        #expect(attempt.error?.code == .inputOutput)
        #expect(attempt.error?.isPermanent == false)
        if stage != .accepted { #expect(attempt.error?.message.contains("while \(stage.activity)") == true) }
        #expect(server.record.hasFault)
        #expect(attempt.error?.description.contains("hidden") == false)
    }

    @Test(arguments: stages)
    func aServerThatStallsIsLeftAtTheDeadline(stage: RTMPPublisher.Stage) async throws {
        let server = try RTMPScriptedServer(.stalls(at: stage))
        let attempt = try await RTMPAttempt.run(server.address, tracks: tracks, connecting: 400) { _ in nil }
        #expect(attempt.error?.code == .deadlineExceeded)
        #expect(attempt.error?.message.contains("while \(stage.activity)") == true)
        #expect((0.4..<20).contains(attempt.seconds), "\(attempt.seconds) s")
        let isOver = await Patience.wait { server.record.isOver }
        #expect(isOver, "the connection was closed")
    }

    @Test func aServerThatOnlyAsksIsLeft() async throws {
        let deaf = try RTMPScriptedServer(.floods(reads: false))
        let limited = try await RTMPAttempt.run(deaf.address, tracks: tracks) { _ in nil }
        #expect(limited.error?.message == "the server asks for more answers than it takes")
        #expect(limited.error?.code == .malformedData)

        let busy = try RTMPScriptedServer(.floods(reads: true))
        let late = try await RTMPAttempt.run(busy.address, tracks: tracks, connecting: 500) { _ in nil }
        #expect([.deadlineExceeded, .malformedData].contains(late.error?.code))
        #expect(late.seconds < 20)
    }

    @Test func aServerThatTakesNothingIsLeftAfterTheSilence() async throws {
        let server = try RTMPScriptedServer(.stalls(at: .accepted))
        let unit = unit(byteCount: 10_000)
        let attempt = try await RTMPAttempt.run(server.address, tracks: tracks, silence: 400) { _ in unit }
        #expect(attempt.error?.code == .deadlineExceeded)
        #expect(attempt.error?.message.contains("while publishing") == true)
        #expect(attempt.seconds >= 0.4 && attempt.seconds < 30)
        #expect(attempt.sentUnits * 10_000 < 1_000_000, "the kernel must not hide seconds of the stream")
        let isOver = await Patience.wait { server.record.isOver }
        #expect(isOver)
    }

    @Test func theEndWaitsForTheReceiver() async throws {
        let server = try RTMPScriptedServer(.stalls(at: .accepted))
        let unit = unit(byteCount: 20_000)
        let attempt = try await RTMPAttempt.run(server.address, tracks: tracks, silence: 500) { index in
            index == 0 ? unit : nil
        }
        #expect(attempt.sentUnits == 1)
        #expect(attempt.measurements.unsentBytes > 0)
        #expect(attempt.error?.code == .deadlineExceeded)
        #expect(attempt.error?.message.contains("while ending the stream") == true)
        #expect(attempt.seconds >= 0.5)
    }

    @Test func aSlowReceiverIsNotSilent() async throws {
        let server = try RTMPScriptedServer(.reads(bytes: 2000, pause: 20))
        let unit = unit(byteCount: 25_000)
        let attempt = try await RTMPAttempt.run(server.address, tracks: tracks, silence: 3000) { index in
            index < 16 ? unit : nil
        }
        #expect(attempt.error == nil)
        #expect(attempt.seconds > 3, "it takes longer than the limit of silence: \(attempt.seconds) s")
        let isOver = await Patience.wait { server.record.isOver }
        #expect(isOver)
        #expect(server.record.payloads(.video).map { $0[1] } == [0] + [UInt8](repeating: 1, count: 16) + [2])
    }

    @Test(arguments: stages + [.accepted])
    func theStopSignalEndsEveryWait(stage: RTMPPublisher.Stage) async throws {
        let server = try RTMPScriptedServer(.stalls(at: stage))
        let stop = try StopSignal()
        let unit = unit(byteCount: 10_000)
        async let attempt = RTMPAttempt.run(server.address, tracks: tracks, stop: stop) { _ in unit }
        let hasStalled = await Patience.wait { server.record.hasFault }
        #expect(hasStalled)
        stop.stop()
        #expect(try await attempt.error?.code == .cancelled)
        #expect(try await attempt.seconds < 50)
    }

    @Test func aRequestToReconnectIsFollowedAtAKeyFrame() async throws {
        let server = try RTMPScriptedServer(.asksToReconnect)
        let (picture, keyFrame) = (unit(byteCount: 100, isKeyFrame: false), unit(byteCount: 100))
        let attempt = try await RTMPAttempt.run(server.address, tracks: tracks) { index in
            // The request comes some time after the acceptance.
            index < 10 ? keyFrame : index < 20 ? picture : index < 1_000_000 ? keyFrame : nil
        }
        #expect(attempt.error?.message.contains("asks for a new connection: maintenance") == true)
        #expect(attempt.error?.isPermanent == false)
        #expect(attempt.sentUnits < 10 || attempt.sentUnits >= 20, "no picture begins the next connection")
        let isOver = await Patience.wait { server.record.isOver }
        #expect(isOver)
        #expect(server.record.commands.last == "deleteStream", "the stream was ended in order")
    }

    @Test func aClosedConnectionRefusesUnits() async throws {
        let server = try RTMPScriptedServer()
        let (address, tracks, unit) = (try server.address, tracks, unit(byteCount: 10))
        let codes = try await onThread {
            let connection = try RTMPConnection(to: address, tracks: tracks, stop: try StopSignal())
            try connection.finish()
            return [{ try connection.send(unit) }, { try connection.finish() }].map { call in
                do { try call() } catch { return (error as? MediaError)?.code }
                return nil
            }
        }
        #expect(codes == [.invalidState, .invalidState])
    }

    private func unit(byteCount: Int, isKeyFrame: Bool = true) -> LiveUnit {
        .video(
            SampleBuffer(
                data: CodedData([UInt8](repeating: 1, count: byteCount)),
                presentationTime: .zero,
                decodeTime: .zero,
                duration: .invalid,
                isKeyFrame: isKeyFrame,
                formatDescription: format
            )
        )
    }
}
