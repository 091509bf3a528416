// SPDX-License-Identifier: GPL-2.0-or-later

import Dispatch
import Foundation
import Glibc
import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import HelperIPC

extension ProcessTests {
    /// A decoder whose pictures are all held waits; that is not its fault, and it does not wait for ever.
    @Suite struct DecoderStarvationTests {
        private let pool: HelperPool

        init() throws { pool = try HelperPrograms.pool("FaultyHelper") }

        private func pictures(_ count: Int) -> [EchoPicture] { (0..<count).map { EchoPicture(seed: UInt64($0)) } }

        /// Runs a call on a thread of its own.
        private final class Call: Sendable {
            private let outcome = Mutex<Result<Void, MediaError>?>(nil)

            init(_ take: DecoderTake, _ body: @escaping (DecoderTake) throws(MediaError) -> Void) {
                nonisolated(unsafe) let (take, body) = (take, body)
                Thread {
                    let result = Result { () throws(MediaError) in try body(take) }
                    self.outcome.withLock { $0 = result }
                }.start()
            }

            var isOver: Bool { outcome.withLock { $0 != nil } }
            var error: MediaError? {
                _ = Patience.block { isOver }
                return outcome.withLock { outcome in
                    if case .failure(let error)? = outcome { error } else { nil }
                }
            }
        }

        /// Much longer than a call may take without progress of the helper.
        @Test(arguments: ["echo", "threaded"]) func aReleaseEndsTheWait(name: String) throws {
            let take = try DecoderTake(name, pool) { options in
                options.pictureLimit = 3
                options.deadlines.call = .seconds(3)
                options.starvationNotice = .milliseconds(200)
            }
            let pictures = pictures(40)
            let call = Call(take) { (take) throws(MediaError) in
                try take.decode(pictures)
                try take.decoder.drain()
            }
            #expect(Patience.block { take.outputs.starvations == [.began(pictures: 3)] })
            usleep(4_000_000)
            #expect(!call.isOver && take.outputs.pictureCount == 3)
            var numbers: [Int64] = []
            while numbers.count < pictures.count {
                let taken = take.outputs.take(1)
                numbers += taken.map(\.number)
                if taken.isEmpty { break }
                #expect(try pictures[Int(taken[0].number)].isEqual(to: taken[0].buffer))
            }
            #expect(numbers == Array(0..<40) && call.error == nil)
            guard case .ended(let duration)? = take.outputs.starvations.dropFirst().first else {
                Issue.record("\(take.outputs.starvations)")
                return
            }
            #expect(duration > .seconds(1))
        }

        /// The helper is not ended for it, and serves others.
        @Test func aCallDoesNotWaitForEver() throws {
            let shared = try HelperPrograms.pool("FaultyHelper") { $0.connectionsPerHelper = 2 }
            let other = try DecoderTake("echo", shared)
            let take = try DecoderTake("echo", shared) { options in
                options.pictureLimit = 2
                options.deadlines.release = .milliseconds(400)
            }
            #expect(other.decoder.processID == take.decoder.processID)
            let error = #expect(throws: MediaError.self) {
                try take.decode(pictures(20))
                try take.decoder.drain()
            }
            #expect(error?.code == .unavailable && error?.isPermanent == true)
            #expect(take.outputs.errors.isEmpty)
            try other.decode(pictures(4))
            try other.decoder.drain()
            #expect(other.outputs.takeAll().count == 4)
        }

        @Test func aDrainDoesNotWaitForEver() throws {
            let take = try DecoderTake("reordering", pool) { options in
                options.pictureLimit = 2
                options.deadlines.release = .milliseconds(400)
            }
            try take.decode(pictures(3))
            let error = #expect(throws: MediaError.self) { try take.decoder.drain() }
            #expect(error?.code == .unavailable && take.outputs.pictureCount == 2)
        }

        /// While no call waits, pictures may be held as long as their consumer likes.
        @Test func aPauseIsNoFault() throws {
            let take = try DecoderTake("echo", pool) { options in
                options.pictureLimit = 2
                (options.deadlines.release, options.deadlines.call) = (.milliseconds(200), .seconds(2))
            }
            try take.decode(pictures(4))
            _ = Patience.block { take.outputs.pictureCount == 2 }
            usleep(3_000_000)
            #expect(take.outputs.errors.isEmpty)
            _ = take.outputs.takeAll()
            try take.decoder.drain()
            #expect(take.outputs.takeAll().map(\.number) == [2, 3])
        }

        @Test(arguments: ["decode", "drain"]) func cancellingEndsACall(name: String) throws {
            let take = try DecoderTake(name == "decode" ? "echo" : "reordering", pool) { options in
                options.pictureLimit = 2
                options.starvationNotice = .milliseconds(100)
            }
            let cancel = take.decoder.cancel
            let isDrained = name == "drain"
            let pictures = pictures(isDrained ? 3 : 30)
            let call = Call(take) { (take) throws(MediaError) in
                try take.decode(pictures)
                if isDrained { try take.decoder.drain() }
            }
            // The call waits, and the client holds everything.
            #expect(Patience.block { take.outputs.starvations == [.began(pictures: 2)] })
            #expect(!call.isOver && take.outputs.pictureCount == 2)
            let start = ContinuousClock.now
            cancel()
            #expect(call.error?.code == .cancelled)
            #expect(ContinuousClock.now - start < .seconds(20))
            #expect(throws: MediaError.self) { try take.decoder.drain() }
            #expect(take.outputs.errors.isEmpty)
        }

        /// A driver that hangs is ended although its client holds pictures, as long as it does not hold all of them.
        @Test func aHangIsNoStarvation() throws {
            let take = try DecoderTake("hang-decoding", pool) { options in
                options.pictureLimit = 3
                options.deadlines.call = .seconds(3)
            }
            // The third sample hangs. Pictures that the helper still holds back then, to send several together, would be lost
            // with it.
            try take.decode(pictures(2))
            #expect(Patience.block { take.outputs.pictureCount == 2 })
            let error = #expect(throws: MediaError.self) {
                try take.decode(pictures(28), from: 2)
                try take.decoder.drain()
            }
            #expect(error?.code == .deadlineExceeded)
            #expect(take.outputs.pictureCount == 2 && take.outputs.starvations.isEmpty)
        }

        /// A decoder may be released while its helper waits.
        @Test func aReleaseOfTheDecoderEndsTheWait() throws {
            let outputs = DecoderOutputs()
            do {
                let take = try DecoderTake("echo", pool, outputs: outputs) { $0.pictureLimit = 2 }
                try take.decode(pictures(6))
                _ = Patience.block { outputs.pictureCount == 2 }
            }
            #expect(outputs.takeAll().count == 2)
            Traces.expectNone()
        }
    }
}
