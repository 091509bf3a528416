// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import Glibc
import MediaTypes
import Testing

@testable import HelperIPC

extension ProcessTests {
    /// Helpers that crash, abort, hang and are killed.
    @Suite struct FaultTests {
        private let pool: HelperPool

        init() throws { pool = try HelperPrograms.pool("FaultyHelper") }

        private func factory(
            _ name: String,
            deadline: Duration = .seconds(30),
            creation: Duration = .seconds(30)
        ) -> RemoteEncoderFactory {
            var deadlines = RemoteEncoderFactory.Deadlines()
            deadlines.start = .seconds(30)
            deadlines.creation = creation
            deadlines.call = deadline
            return RemoteEncoderFactory(EncoderIdentity(name: name, codec: .h264), pool: pool, deadlines: deadlines)
        }

        /// Encodes four frames, updates and drains.
        private func play(_ factory: RemoteEncoderFactory) throws(MediaError) -> [CodedFrame] {
            do {
                let take = try Take(factory, .small())
                var pictures = try Pictures(.shared)
                for index in 0..<4 { try take.encode(pictures.next(index)) }
                _ = try take.encoder.update(take.configuration)
                try take.encoder.drain()
                return take.outputs.frames
            } catch let error as MediaError {
                throw error
            } catch {
                throw MediaError(.invalidState, "\(error)")
            }
        }

        @Test func theFaultlessOneWorks() throws {
            #expect(try play(factory("none-encoding")).map(\.number) == [0, 1, 2, 3])
            Traces.expectNone()
        }

        @Test(arguments: ["creating", "encoding", "updating", "draining"])
        func crashesNameTheSignalAndTheLastLines(moment: String) {
            let crash = #expect(throws: MediaError.self) { try play(factory("crash-\(moment)")) }
            #expect(crash?.message.contains("was killed by SIGSEGV; it said: the driver is about to crash") == true)
            #expect(crash?.status == Int(SIGSEGV) && crash?.isPermanent == false)
            let abort = #expect(throws: MediaError.self) { try play(factory("abort-\(moment)")) }
            #expect(abort?.message.contains("SIGABRT; it said: amdgpu: The CS has been rejected | and no line") == true)
            let exit = #expect(throws: MediaError.self) { try play(factory("exit-\(moment)")) }
            #expect(exit?.message.contains("exited with status 7") == true)
            Traces.expectNone()
        }

        @Test(arguments: ["creating", "encoding", "updating", "draining"])
        func errorsOfTheEncoderComeThrough(moment: String) {
            let error = #expect(throws: MediaError.self) { try play(factory("fail-\(moment)")) }
            #expect(error == MediaError(.frameFailed, "the driver refuses", call: "vaEndPicture", status: 24))
            Traces.expectNone()
        }

        @Test(arguments: ["creating", "encoding", "updating", "draining"])
        func aHelperThatHangsIsEnded(moment: String) {
            let short = Duration.milliseconds(1500)
            let creation = moment == "creating" ? short : .seconds(30)
            let error = #expect(throws: MediaError.self) {
                try play(factory("hang-\(moment)", deadline: short, creation: creation))
            }
            #expect(error?.code == .deadlineExceeded && error?.isPermanent == false)
            Traces.expectNone()
        }

        /// Kills or stops helpers at random times, in calls and between them.
        @Test(arguments: [SIGKILL, SIGSTOP]) func signalsAtRandomTimes(signal: Int32) throws {
            var random = SeededGenerator(seed: UInt64(signal))
            for _ in 0..<(signal == SIGKILL ? 12 : 4) {
                let take = try Take(factory("none-encoding", deadline: .milliseconds(700)), .small())
                let id = try #require(take.remote?.processID)
                let delay = UInt32.random(in: 0...20_000, using: &random)
                let sender = Thread {
                    usleep(delay)
                    kill(id, signal)
                }
                sender.start()
                var pictures = try Pictures(.shared)
                let picture = try pictures.next(0)
                var sent = 0
                let start = ContinuousClock.now
                let error = #expect(throws: MediaError.self) {
                    while ContinuousClock.now - start < .seconds(60) {
                        try take.encode(picture)
                        sent += 1
                    }
                }
                if signal == SIGKILL {
                    #expect(error?.message.contains("was killed by SIGKILL") == true)
                } else {
                    #expect(error?.code == .deadlineExceeded)
                }
                // Every frame whose call returned has come out, in order.
                #expect(take.outputs.frames.map(\.number).prefix(sent).elementsEqual(0..<Int64(sent)))
                #expect(take.outputs.frames.count <= sent + 1 && take.outputs.errors.count <= 1)
            }
            Traces.expectNone()
        }

        @Test func aHelperThatEndsBetweenCallsIsTold() throws {
            let take = try Take(factory("none-encoding"), .small())
            kill(try #require(take.remote?.processID), SIGKILL)
            take.outputs.waitForError()
            #expect(take.outputs.errors.first?.message.contains("was killed by SIGKILL") == true)
            #expect(throws: MediaError.self) { try take.encoder.drain() }
        }
    }
}
