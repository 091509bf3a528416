// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import Glibc
import MediaTypes
import TestSupport
import Testing

@testable import HelperIPC

extension ProcessTests {
    /// Decoders whose helpers crash, abort, hang and are killed.
    @Suite struct DecoderFaultTests {
        private let pool: HelperPool

        init() throws { pool = try HelperPrograms.pool("FaultyHelper") }

        /// Decodes six samples and drains.
        private func play(
            _ name: String,
            deadline: Duration = .seconds(30),
            creation: Duration = .seconds(30)
        ) throws(MediaError) -> [Int64] {
            let take = try DecoderTake(name, pool) { options in
                options.deadlines.call = deadline
                options.deadlines.creation = creation
            }
            try take.decode((0..<6).map { EchoPicture(seed: $0) })
            try take.decoder.drain()
            return take.outputs.takeAll().map(\.number)
        }

        @Test func theFaultlessOneWorks() throws {
            #expect(try play("none-decoding") == [0, 1, 2, 3, 4, 5])
            #expect(try play("silence-decoding") == [0, 1])
            Traces.expectNone()
        }

        @Test(arguments: ["creating", "decoding", "draining"])
        func crashesNameTheSignalAndTheLastLines(moment: String) {
            let crash = #expect(throws: MediaError.self) { try play("crash-\(moment)") }
            #expect(crash?.message.contains("was killed by SIGSEGV; it said: the driver is about to crash") == true)
            #expect(crash?.status == Int(SIGSEGV) && crash?.isPermanent == false)
            let abort = #expect(throws: MediaError.self) { try play("abort-\(moment)") }
            #expect(abort?.message.contains("SIGABRT; it said: amdgpu: The CS has been rejected") == true)
            let exit = #expect(throws: MediaError.self) { try play("exit-\(moment)") }
            #expect(exit?.message.contains("exited with status 7") == true)
            Traces.expectNone()
        }

        @Test(arguments: ["creating", "decoding", "draining"]) func errorsOfTheDecoderComeThrough(moment: String) {
            let error = #expect(throws: MediaError.self) { try play("fail-\(moment)") }
            #expect(error == MediaError(.frameFailed, "the driver refuses", call: "vaEndPicture", status: 24))
            Traces.expectNone()
        }

        @Test(arguments: ["creating", "decoding", "draining"]) func aHelperThatHangsIsEnded(moment: String) {
            let short = Duration.milliseconds(1500)
            let creation = moment == "creating" ? short : .seconds(30)
            let error = #expect(throws: MediaError.self) {
                try play("hang-\(moment)", deadline: short, creation: creation)
            }
            #expect(error?.code == .deadlineExceeded && error?.isPermanent == false)
            Traces.expectNone()
        }

        /// Kills or stops helpers at random times, in calls and between them.
        @Test(arguments: [SIGKILL, SIGSTOP]) func signalsAtRandomTimes(signal: Int32) throws {
            var random = SeededGenerator(seed: UInt64(signal) + 100)
            for _ in 0..<(signal == SIGKILL ? 12 : 4) {
                let outputs = DecoderOutputs(use: { _ in })
                let take = try DecoderTake("reordering", pool, outputs: outputs) { options in
                    // A helper that is killed is noticed without a deadline.
                    options.deadlines.call = signal == SIGKILL ? .seconds(60) : .milliseconds(700)
                }
                let id = try #require(take.decoder.processID)
                let delay = UInt32.random(in: 0...20_000, using: &random)
                Thread {
                    usleep(delay)
                    kill(id, signal)
                }.start()
                var number: Int64 = 0
                let start = ContinuousClock.now
                let error = #expect(throws: MediaError.self) {
                    while ContinuousClock.now - start < .seconds(60) {
                        try take.decoder.decode(EchoPicture(seed: UInt64(number)).sample(number))
                        number += 1
                        if number % 50 == 0 { try take.decoder.drain() }
                    }
                }
                if signal == SIGKILL {
                    #expect(error?.message.contains("was killed by SIGKILL") == true)
                } else {
                    #expect(error?.code == .deadlineExceeded)
                }
                #expect(outputs.errors.count <= 1)
            }
            Traces.expectNone()
        }

        @Test func aHelperThatEndsBetweenCallsIsTold() throws {
            let take = try DecoderTake("echo", pool)
            kill(try #require(take.decoder.processID), SIGKILL)
            #expect(Patience.block { !take.outputs.errors.isEmpty })
            #expect(take.outputs.errors.first?.message.contains("was killed by SIGKILL") == true)
            #expect(throws: MediaError.self) { try take.decoder.drain() }
        }

        /// A failed decoder ends no other in its helper, which takes no more.
        @Test func aFailedDecoderHarmsNoOther() throws {
            let shared = try HelperPrograms.pool("FaultyHelper") { $0.connectionsPerHelper = 3 }
            let good = try DecoderTake("reordering", shared)
            let bad = try DecoderTake("fail-decoding", shared)
            #expect(good.decoder.processID == bad.decoder.processID)
            #expect(throws: MediaError.self) {
                try bad.decode((0..<6).map { EchoPicture(seed: $0) })
                try bad.decoder.drain()
            }
            try good.decode((0..<50).map { EchoPicture(seed: $0) }.prefix(6).map { $0 })
            try good.decoder.drain()
            #expect(good.outputs.takeAll().count == 6)
            let next = try DecoderTake("echo", shared)
            #expect(next.decoder.processID != good.decoder.processID)
        }
    }
}
