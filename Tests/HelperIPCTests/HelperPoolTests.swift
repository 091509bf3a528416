// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import CoreMetrics
import Foundation
import Glibc
import MediaTypes
import MetricsTestKit
import Synchronization
import TestSupport
import Testing

@testable import HelperIPC

extension ProcessTests {
    /// Which encoder works in which helper process.
    @Suite struct HelperPoolTests {
        private func factory(_ name: String, _ pool: HelperPool) -> RemoteEncoderFactory {
            var deadlines = RemoteEncoderFactory.Deadlines()
            deadlines.start = .seconds(30)
            return RemoteEncoderFactory(EncoderIdentity(name: name, codec: .h264), pool: pool, deadlines: deadlines)
        }

        private func take(_ pool: HelperPool, _ name: String = "none-encoding") throws -> Take {
            try Take(factory(name, pool), .small())
        }

        private func process(_ take: Take) throws -> Int32 { try #require(take.remote?.processID) }

        /// Encodes two frames, so that the encoder shows that it works.
        private func use(_ take: Take) throws {
            var pictures = try Pictures(.shared)
            let before = take.outputs.frames.count
            for index in 0..<2 { try take.encode(pictures.next(index)) }
            #expect(take.outputs.frames.count == before + 2)
        }

        private func waitUntil(_ condition: () -> Bool) {
            let isSo = Patience.block(until: condition)
            #expect(isSo)
        }

        @Test func everyEncoderHasAHelperOfItsOwn() throws {
            let pool = try HelperPrograms.pool("FaultyHelper")
            do {
                let takes = try (0..<3).map { _ in try take(pool) }
                #expect(Set(try takes.map(process)).count == 3)
                for take in takes { try use(take) }
            }
            Traces.expectNone()
        }

        @Test func helpersAreCountedFromTheirStartToTheirEnd() throws {
            let metrics = TestMetrics()
            func ended(_ how: String) -> Int64 {
                metrics.counterTotal(label: "vatoolbox_helpers_ended", dimensions: [("ending", how)])
            }
            let pool = try HelperPrograms.pool("FaultyHelper")
            try withMetricsFactory(metrics) {
                do { try use(take(pool)) }
                let crashed = try take(pool)
                kill(try process(crashed), SIGSEGV)
                waitUntil { ended("crashed") == 1 && ended("closed") == 1 }
            }
            #expect(metrics.counterTotal(label: "vatoolbox_helpers_started") == 2)
            #expect(metrics.counterTotal(label: "vatoolbox_helpers_ended") == 2)
            Traces.expectNone()
        }

        @Test func encodersShareHelpersByChoice() throws {
            let pool = try HelperPrograms.pool("FaultyHelper") { $0.connectionsPerHelper = 3 }
            do {
                var takes = try (0..<5).map { _ in try take(pool) }
                let ids = try takes.map(process)
                #expect(Set(ids[..<3]).count == 1 && Set(ids[3...]).count == 1 && Set(ids).count == 2)
                for take in takes { try use(take) }
                // The place of one that is gone is taken by the next.
                takes.remove(at: 1)
                takes.append(try take(pool))
                #expect(try process(takes[4]) == ids[0])
                for take in takes { try use(take) }
            }
            Traces.expectNone()
        }

        /// One thread for each encoder in one helper, at the same time.
        @Test func encodersInOneHelperWorkAtTheSameTime() throws {
            let pool = try HelperPrograms.pool("vatoolbox-helper") { $0.connectionsPerHelper = 8 }
            let results = Mutex<[[[UInt8]]]>([])
            DispatchQueue.concurrentPerform(iterations: 6) { _ in
                #expect(throws: Never.self) {
                    let take = try take(pool, "x264")
                    var pictures = try Pictures(.shared)
                    for index in 0..<30 { try take.encode(pictures.next(index)) }
                    try take.encoder.drain()
                    results.withLock { $0.append(take.outputs.bytes) }
                }
            }
            let all = results.withLock { $0 }
            #expect(all.count == 6 && all.allSatisfy { $0.count == 30 && $0 == all[0] })
            Traces.expectNone()
        }

        @Test func theEndOfAHelperIsTheEndOfEveryEncoderInIt() throws {
            let pool = try HelperPrograms.pool("FaultyHelper") { $0.connectionsPerHelper = 4 }
            do {
                let (good, bad) = (try take(pool), try take(pool, "crash-encoding"))
                let id = try process(good)
                #expect(try process(bad) == id)
                let crash = #expect(throws: MediaError.self) {
                    try use(bad)
                    try use(bad)
                }
                #expect(crash?.message.contains("was killed by SIGSEGV") == true)
                waitUntil { !good.outputs.errors.isEmpty }
                #expect(good.outputs.errors.first?.message.contains("was killed by SIGSEGV") == true)
                #expect(good.outputs.errors.first?.isPermanent == false)
                let next = try take(pool)
                #expect(try process(next) != id)
                try use(next)
            }
            Traces.expectNone()
        }

        /// The others are told why, and nobody waits for the one that hangs.
        @Test func aHelperThatHangsIsEndedForAll() throws {
            let pool = try HelperPrograms.pool("FaultyHelper") { $0.connectionsPerHelper = 4 }
            do {
                var hanging = factory("hang-encoding", pool)
                var deadlines = hanging.deadlines
                deadlines.call = .milliseconds(700)
                hanging = RemoteEncoderFactory(hanging.identity, pool: pool, deadlines: deadlines)
                let (good, bad) = (try take(pool), try Take(hanging, .small()))
                #expect(try process(good) == process(bad))
                let hang = #expect(throws: MediaError.self) {
                    try use(bad)
                    try use(bad)
                }
                #expect(hang?.code == .deadlineExceeded)
                waitUntil { !good.outputs.errors.isEmpty }
                #expect(good.outputs.errors.first?.message.contains("because another connection to it failed") == true)
            }
            Traces.expectNone()
        }

        /// Encoders come and go at the same time: none is put into a helper that is about to end.
        @Test func encodersComeAndGoAtTheSameTime() throws {
            let pool = try HelperPrograms.pool("FaultyHelper") { $0.connectionsPerHelper = 2 }
            DispatchQueue.concurrentPerform(iterations: 4) { _ in
                #expect(throws: Never.self) {
                    for _ in 0..<25 { try use(take(pool)) }
                }
            }
            Traces.expectNone()
        }

        @Test func theLastOneClosesTheDoor() throws {
            do {
                let sockets = try DescriptorPair.sockets()
                let host = try HelperHost.adopt(try Descriptor.duplicate(sockets.near.number))
                #expect(host.reserve(limit: 2) && host.reserve(limit: 2) && !host.reserve(limit: 2))
                host.release()
                #expect(host.reserve(limit: 2))
                host.release()
                host.release()
                #expect(!host.reserve(limit: 2) && !host.isOpen)
            }
            Traces.expectNone()
        }

        /// An encoder that failed may have left its driver in any state.
        @Test func aHelperInWhichAnEncoderFailedTakesNoMore() throws {
            let pool = try HelperPrograms.pool("FaultyHelper") { $0.connectionsPerHelper = 4 }
            do {
                let (good, bad) = (try take(pool), try take(pool, "fail-encoding"))
                #expect(throws: MediaError.self) {
                    try use(bad)
                    try use(bad)
                }
                try use(good)
                #expect(try process(take(pool)) != process(good))
            }
            Traces.expectNone()
        }

        @Test func theSpareIsTakenAndReplaced() throws {
            do {
                let pool = try HelperPrograms.pool("FaultyHelper") { $0.keepsSpare = true }
                waitUntil { pool.spareProcessID != nil }
                let first = try #require(pool.spareProcessID)
                let one = try take(pool)
                #expect(try process(one) == first)
                waitUntil { pool.spareProcessID != nil && pool.spareProcessID != first }
                let second = try #require(pool.spareProcessID)
                // A spare that has died meanwhile is of no use, and does no harm.
                kill(second, SIGKILL)
                waitUntil { pool.spareProcessID == nil }
                let two = try take(pool)
                #expect(try process(two) != second)
                try use(one)
                try use(two)
            }
            Traces.expectNone()
        }

        /// What the system lacks for a moment is no reason to give an encoder up for good.
        @Test func shortagesPass() {
            for status in [EAGAIN, ENOMEM, EMFILE, ENFILE, ETXTBSY] {
                #expect(!HelperProcess.error(status, .encoding, "helper").isPermanent)
            }
            #expect(HelperProcess.error(ENOENT, .encoding, "helper").isPermanent)
            #expect(HelperProcess.error(EACCES, .encoding, "helper").code == .unavailable)
        }

        @Test func theNumberOfEncodersIsChecked() {
            for count in [0, -1, 1001] {
                let error = #expect(throws: MediaError.self) {
                    try HelperPrograms.pool("FaultyHelper") { $0.connectionsPerHelper = count }
                }
                #expect(error?.given == "\(count)" && error?.allowed == "1...1000")
            }
        }
    }

    /// Devices that a helper has open: this process keeps copies, so that the kernel shows what the GPU does for them.
    @Suite struct HelperDeviceTests {
        /// A helper, and the ends of a pipe. The read end tells whether this process still has a copy of the other one.
        private func withHelper(
            _ body: (HelperHost, Channel, borrowing DescriptorPair) throws -> Void
        ) throws {
            let sockets = try DescriptorPair.sockets()
            let helper = Channel(try Descriptor.duplicate(sockets.far.number), peer: "the client")
            let host = try HelperHost.adopt(try Descriptor.duplicate(sockets.near.number))
            defer { host.close() }
            try helper.send(ControlNotice.hello(Greeting(build: "fake")))
            try host.awaitGreeting(within: .seconds(20))
            try body(host, helper, try DescriptorPair.pipe())
        }

        private func send(_ helper: Channel, _ number: Int32, _ pipe: borrowing DescriptorPair) throws {
            try helper.send(ControlNotice.device(DeviceNumber(number)), descriptor: pipe.far.number)
        }

        /// Waits until everything that was sent before has arrived.
        private func settle(_ host: HelperHost, _ helper: Channel) throws {
            let hasArrived = Mutex(false)
            host.setLog { line in if line.text == "so far" { hasArrived.withLock { $0 = true } } }
            try helper.send(ControlNotice.log(LogLine(level: "debug", text: "so far")))
            #expect(Patience.block { hasArrived.withLock { $0 } })
        }

        /// The descriptors of this process on the same pipe.
        private func copies(_ pipe: borrowing DescriptorPair) throws -> Int {
            let link = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(pipe.near.number)")
            return ProcessFiles.names("/proc/self/fd").count { name in
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")) == link
            } - 2
        }

        @Test func aCopyIsKeptUntilTheHelperClosesTheDevice() throws {
            try withHelper { host, helper, pipe in
                try send(helper, 7, pipe)
                try send(helper, 8, pipe)
                try settle(host, helper)
                #expect(try copies(pipe) == 2)
                // Neither a number that is used again nor one that is unknown matters.
                try send(helper, 8, pipe)
                try helper.send(ControlNotice.deviceClosed(DeviceNumber(9)))
                try settle(host, helper)
                #expect(try Patience.block { try copies(pipe) == 2 })
                try helper.send(ControlNotice.deviceClosed(DeviceNumber(7)))
                try settle(host, helper)
                #expect(try Patience.block { try copies(pipe) == 1 })
            }
            Traces.expectNone()
        }

        @Test func copiesAreClosedWithTheHelper() throws {
            try withHelper { host, helper, pipe in
                try send(helper, 7, pipe)
                try settle(host, helper)
                helper.shutDown()
                #expect(host.ending(within: .seconds(20)) != nil)
                #expect(try Patience.block { try copies(pipe) == 0 })
            }
            Traces.expectNone()
        }

        @Test func aHelperCannotUseAllDescriptorsUp() throws {
            try withHelper { host, helper, pipe in
                for number in 0..<Int32(HelperHost.mostDevices) + 20 { try send(helper, number, pipe) }
                try settle(host, helper)
                #expect(try copies(pipe) == HelperHost.mostDevices)
            }
            Traces.expectNone()
        }

        @Test func aDeviceWithoutADescriptorIsRefused() throws {
            try withHelper { host, helper, pipe in
                try helper.send(ControlNotice.device(DeviceNumber(1)))
                #expect(host.ending(within: .seconds(20))?.code == .malformedData)
            }
            Traces.expectNone()
        }

        /// Held by this process, it would hide the end of the helper.
        @Test func aSocketIsNoDevice() throws {
            let sockets = try DescriptorPair.sockets()
            try withHelper { host, helper, pipe in
                try helper.send(ControlNotice.device(DeviceNumber(1)), descriptor: sockets.far.number)
                #expect(host.ending(within: .seconds(20))?.code == .malformedData)
            }
            sockets.near.keepOpen()
        }
    }

    /// What a helper process says on its control socket.
    @Suite struct HelperGreetingTests {
        private func greet(_ speak: @escaping @Sendable (Channel, Int32) throws -> Void) throws -> MediaError? {
            let sockets = try DescriptorPair.sockets()
            let far = sockets.far.number
            let helper = Channel(try Descriptor.duplicate(far), peer: "the client")
            let host = try HelperHost.adopt(try Descriptor.duplicate(sockets.near.number))
            defer { host.close() }
            try speak(helper, far)
            do throws(MediaError) {
                try host.awaitGreeting(within: .seconds(20))
            } catch {
                return error
            }
            // What comes behind the greeting.
            return host.ending(within: .milliseconds(1))
        }

        @Test func aGreetingIsEnough() throws {
            let error = try greet { helper, _ in
                try helper.send(ControlNotice.log(LogLine(level: "info", text: "hello")))
                try helper.send(ControlNotice.hello(Greeting(build: "fake", limitations: ["no Landlock"])))
            }
            #expect(error == nil)
            Traces.expectNone()
        }

        @Test func anythingElseIsRefused() throws {
            let noise = try greet { _, socket in
                let bytes = [UInt8](repeating: 0x5A, count: 100)
                #expect(send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == 100)
            }
            #expect(noise?.code == .malformedData)
            let wrongSocket = try greet { helper, _ in try helper.send(EncoderHelperMessage.drained) }
            #expect(wrongSocket?.code == .malformedData)
            let version = try greet { _, socket in
                var bytes = try ControlNotice.hello(Greeting(build: "other")).bytes(sequence: 0)
                bytes[4] += 1
                #expect(send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
            }
            #expect(version?.code == .malformedData && version?.message.contains("version of the protocol") == true)
            let end = try greet { helper, _ in helper.shutDown() }
            #expect(end?.message == "the helper process closed its connection")
            Traces.expectNone()
        }

        @Test func aSilentHelperIsNotWaitedForAnyLonger() throws {
            do {
                let sockets = try DescriptorPair.sockets()
                let host = try HelperHost.adopt(try Descriptor.duplicate(sockets.near.number))
                let error = #expect(throws: MediaError.self) { try host.awaitGreeting(within: .milliseconds(30)) }
                #expect(error?.code == .deadlineExceeded)
            }
            Traces.expectNone()
        }
    }
}
