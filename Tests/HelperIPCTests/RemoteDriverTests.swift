// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import Glibc
import MediaTypes
import TestSupport
import Testing

@testable import HelperIPC

extension ProcessTests {
    /// Drivers that are asked over the protocol. What real processes do is tested with the command.
    @Suite struct RemoteDriverTests {
        private static let report = DriverReport(
            majorVersion: 1,
            minorVersion: 17,
            vendor: "a driver",
            file: "/dri/a_drv_video.so",
            profiles: [.init(number: 7, entrypoints: [.init(number: 1), .init(number: 6)])]
        )

        /// Asks a helper in this process.
        private func ask(
            _ inspector: DriverInspector?,
            deadline: Duration = .seconds(20)
        ) throws -> DriverInspection {
            let sockets = try DescriptorPair.sockets()
            let far = Channel(try Descriptor.duplicate(sockets.far.number), peer: "the client")
            let near = sockets.near.number
            var services = HelperServices()
            services.inspector = inspector
            let server = HelperServer(far, services: services)
            // It ends with an error where the client leaves without a word.
            Thread { try? server.run() }.start()
            var options = RemoteDriver.Options()
            options.deadline = deadline
            return RemoteDriver.inspect(path: "/dev/dri/renderD128", options: options) { (log) throws(MediaError) in
                try HelperHost.adopt(try Descriptor.duplicate(near), log: log)
            }
        }

        @Test func aDriverThatAnswers() throws {
            let inspection = try ask { (path, tell) throws(MediaError) in
                #expect(path == "/dev/dri/renderD128")
                try tell(.stage(.askingVendor))
                try tell(.report(Self.report))
            }
            #expect(inspection == .reported(Self.report, [], failure: nil))
            Traces.expectNone()
        }

        /// libva tries one file after the other: the one that came furthest is to blame.
        @Test func aRefusalNamesTheFurthestStage() throws {
            let error = MediaError(.unavailable, "no driver", call: "vaInitialize", status: -1)
            let inspection = try ask { (_, tell) throws(MediaError) in
                for stage in [
                    .choosingDriver, .loading(file: "/a.so"), .initializing(file: "/a.so"), .loading(file: "/b.so"),
                    .closing,
                ] as [DriverStage] { try tell(.stage(stage)) }
                throw error
            }
            let failure = DriverFailure(
                cause: .refused(error),
                stage: .initializing(file: "/a.so"),
                file: "/a.so",
                log: []
            )
            #expect(inspection == .failed(failure))
            Traces.expectNone()
        }

        @Test func aDriverThatFailsToEndHasAnswered() throws {
            let error = MediaError(.unavailable, "no end", call: "vaTerminate", status: 1)
            let inspection = try ask { (_, tell) throws(MediaError) in
                try tell(.report(Self.report))
                try tell(.stage(.closing))
                throw error
            }
            let failure = DriverFailure(cause: .refused(error), stage: .closing, file: Self.report.file, log: [])
            #expect(inspection == .reported(Self.report, [], failure: failure))
        }

        @Test func aDriverThatHangsIsLeft() throws {
            let end = DispatchSemaphore(value: 0)
            defer { end.signal() }
            let inspection = try ask(
                { (_, tell) throws(MediaError) in
                    try tell(.stage(.loading(file: "/a.so")))
                    end.wait()
                },
                deadline: .milliseconds(500)
            )
            guard case .failed(let failure) = inspection else {
                Issue.record("\(inspection)")
                return
            }
            #expect(failure.cause == .deadline(.milliseconds(500)))
            // On a busy machine half a second may not be enough to come so far.
            #expect(failure.stage == nil || failure.file == "/a.so")
        }

        /// A driver may say of itself what it likes, as long as it fits into a message.
        @Test func whatIsTooLongIsCutOrRefused() throws {
            var long = Self.report
            long.vendor = String(repeating: "v", count: 5000)
            let shortened = try ask { [long] (_, tell) throws(MediaError) in try tell(.report(long)) }
            guard case .reported(let cut, [], nil) = shortened else {
                Issue.record("\(shortened)")
                return
            }
            #expect(cut.vendor == String(repeating: "v", count: 4096))

            var wide = Self.report
            let entrypoints = Array(repeating: DriverReport.Entrypoint(number: 6), count: WireLimits.entrypoints)
            let profile = DriverReport.Profile(number: 7, entrypoints: entrypoints)
            wide.profiles = Array(repeating: profile, count: WireLimits.profiles)
            wide.vendor = long.vendor
            wide.file = long.vendor
            let widest = try ask { [wide] (_, tell) throws(MediaError) in try tell(.report(wide)) }
            guard case .reported(let report, [], nil) = widest else {
                Issue.record("the longest report does not fit: \(widest)")
                return
            }
            #expect(report.profiles == wide.profiles)

            wide.profiles.append(profile)
            let tooWide = try ask { [wide] (_, tell) throws(MediaError) in try tell(.report(wide)) }
            guard case .failed(let failure) = tooWide, case .refused(let error) = failure.cause else {
                Issue.record("\(tooWide)")
                return
            }
            #expect(error.code == .invalidArgument)
            Traces.expectNone()
        }

        /// The encoders of a report come one by one. What a driver refuses for one of them says nothing of the others.
        @Test func encodersJoinTheReport() throws {
            let encoders = [
                DriverReport.Encoder(
                    profile: 7,
                    entrypoint: 6,
                    attributes: [.init(number: 5, value: 0x16)],
                    surfaces: [.init(number: 1, flags: 3, value: 0x3231_564E), .init(number: 6, flags: 2, value: nil)]
                ),
                DriverReport.Encoder(
                    profile: 7,
                    entrypoint: 1,
                    refusal: MediaError(.unavailable, "no", call: "vaCreateConfig", status: 12)
                ),
            ]
            let inspection = try ask { (_, tell) throws(MediaError) in
                try tell(.report(Self.report))
                for encoder in encoders { try tell(.encoder(encoder)) }
            }
            #expect(inspection == .reported(Self.report, encoders, failure: nil))
        }

        /// What was said before a driver failed is kept.
        @Test func aDriverThatFailsOverAnEncoderHasAnswered() throws {
            let error = MediaError(.unavailable, "no", call: "vaGetConfigAttributes", status: 1)
            let inspection = try ask { (_, tell) throws(MediaError) in
                try tell(.report(Self.report))
                try tell(.encoder(.init(profile: 7, entrypoint: 6)))
                try tell(.stage(.askingAttributes(profile: 7, entrypoint: 1)))
                throw error
            }
            guard case .reported(_, let encoders, let failure?) = inspection else {
                Issue.record("\(inspection)")
                return
            }
            #expect(encoders == [.init(profile: 7, entrypoint: 6)])
            #expect(failure.stage == .askingAttributes(profile: 7, entrypoint: 1) && failure.cause == .refused(error))
        }

        /// The longest encoder fits into a message; what a driver says beyond that is cut.
        @Test func encodersAreBounded() throws {
            let text = String(repeating: "e", count: 5000)
            var endless = DriverReport.Encoder(
                profile: 7,
                entrypoint: 6,
                attributes: (0..<300).map { .init(number: $0, value: .max) },
                surfaces: (0..<1100).map { .init(number: $0, flags: .max, value: .min) },
                refusal: MediaError(.unavailable, text, given: text, allowed: text, call: text)
            )
            let inspection = try ask { [endless] (_, tell) throws(MediaError) in
                try tell(.report(Self.report))
                try tell(.encoder(endless))
            }
            endless.attributes.removeLast(300 - WireLimits.configAttributes)
            endless.surfaces.removeLast(1100 - WireLimits.surfaceAttributes)
            guard case .reported(_, let encoders, nil) = inspection, let encoder = encoders.first else {
                Issue.record("\(inspection)")
                return
            }
            #expect(encoder.attributes == endless.attributes && encoder.surfaces == endless.surfaces)
            #expect(encoder.refusal?.message.utf8.count == String.wireLimit)
        }

        @Test func aHelperThatAsksNoDrivers() throws {
            guard case .failed(let failure) = try ask(nil), case .refused(let error) = failure.cause else {
                Issue.record("asked")
                return
            }
            #expect(error.code == .unsupported && failure.stage == nil)
        }

        @Test func aMissingProgramIsNamed() {
            var options = RemoteDriver.Options()
            for path in ["/nowhere/helper", "/etc"] {
                options.helperPath = path
                let inspection = RemoteDriver.inspect(path: "/dev/dri/renderD128", options: options)
                guard case .failed(let failure) = inspection, case .helper(let error) = failure.cause else {
                    Issue.record("\(inspection)")
                    return
                }
                #expect(error.code == .unavailable && error.given == path && failure.stage == nil)
            }
            Traces.expectNone()
        }

        /// What ends a process that has left its client and goes on is not its own doing.
        @Test func aProgramThatLeavesAndStaysIsEnded() throws {
            let path = NSTemporaryDirectory() + "vatoolbox-stays-" + UUID().uuidString
            defer { try? FileManager.default.removeItem(atPath: path) }
            try ProgramText.write("#!/bin/sh\nexec 3>&-\nexec sleep 600\n", to: path)
            var options = RemoteDriver.Options()
            options.helperPath = path
            options.deadline = .seconds(60)
            let inspection = RemoteDriver.inspect(path: "/dev/dri/renderD128", options: options)
            guard case .failed(let failure) = inspection, case .helper(let error) = failure.cause else {
                Issue.record("\(inspection)")
                return
            }
            #expect(error.message.hasSuffix("closed its connection but did not exit"), "\(error)")
            Traces.expectNone()
        }

        // MARK: - Lies

        /// Asks a helper that says other things than it should.
        private func ask(liar: @escaping FakeHelper.Script) throws -> DriverInspection {
            let sockets = try DescriptorPair.sockets()
            let control = Channel(try Descriptor.duplicate(sockets.far.number), peer: "the client")
            let near = sockets.near.number
            Thread {
                do {
                    var descriptor: Descriptor?
                    let end = Deadline.after(.seconds(20))
                    while let order = try control.receive(ControlOrder.self, descriptor: &descriptor, until: end) {
                        switch order {
                        case .hello: try control.send(ControlNotice.hello(Greeting(build: "fake")))
                        case .attach: if let socket = descriptor.take() { _ = FakeHelper(socket, script: liar) }
                        case .close: return
                        }
                    }
                } catch {
                    Issue.record(error)
                }
            }
            .start()
            return RemoteDriver.inspect(path: "/dev/dri/renderD128", options: .init()) { (log) throws(MediaError) in
                try HelperHost.adopt(try Descriptor.duplicate(near), log: log)
            }
        }

        private static let encoder = DriverReport.Encoder(profile: 7, entrypoint: 6)

        private static let lies: [Lie<EncoderMessages>] = [
            Lie("two reports") { $0.send(.report(report), .report(report), .inspected) },
            Lie("an encoder before the report") { $0.send(.encoder(encoder), .report(report), .inspected) },
            Lie("an encoder twice") { $0.send(.report(report), .encoder(encoder), .encoder(encoder), .inspected) },
            Lie("an encoder that is not listed") {
                $0.send(.report(report), .encoder(.init(profile: 7, entrypoint: 8)), .inspected)
            },
            Lie("an encoder of a profile that is not listed") {
                $0.send(.report(report), .encoder(.init(profile: 6, entrypoint: 6)), .inspected)
            },
            Lie("done without a report") { $0.send(.stage(.openingNode), .inspected) },
            Lie("another answer") { $0.send(.drained) },
            Lie("a refusal of another order") { $0.send(.refused(MediaError(.unavailable, "no"))) },
            Lie("an encoder") { $0.send(.created(FakeHelper.properties)) },
            Lie("two answers") { $0.send(.report(report), .inspected, .inspected, .inspected) },
            Lie("a frame") { $0.send(FakeHelper.coded()) },
            Lie("a failed frame") { $0.send(.failed(MediaError(.frameFailed, "no"))) },
            Lie("noise") { $0.send(raw: Array("noise".utf8)) },
            Lie("nothing more") { $0.channel.shutDown() },
        ]

        @Test(arguments: lies) func aHelperThatLies(_ lie: Lie<EncoderMessages>) throws {
            let inspection = try ask { helper in
                _ = try helper.receive()
                try lie.script(helper)
                while try helper.receive() != nil {}
            }
            switch inspection {
            case .failed(let failure), .reported(_, _, let failure?):
                guard case .helper = failure.cause else {
                    Issue.record("\(failure)")
                    return
                }
            case .reported(let report, _, nil): #expect(lie.testDescription == "two answers" && report == Self.report)
            }
            Traces.expectNone()
        }
    }
}

@Suite struct StageRecordTests {
    @Test func theLastOfEqualsIsTheFurthest() {
        var record = StageRecord()
        #expect(record.last == nil && record.furthest == nil)
        for stage in [.loading(file: "/a"), .initializing(file: "/a"), .loading(file: "/b"), .initializing(file: "/b")]
            as [DriverStage]
        {
            record.add(stage)
        }
        record.add(.loading(file: "/c"))
        #expect(record.last == .loading(file: "/c") && record.lastFile == "/c")
        #expect(record.furthest == .initializing(file: "/b"))
        record.add(.askingEntrypoints(profile: 1))
        record.add(.askingEntrypoints(profile: 2))
        record.add(.closing)
        #expect(record.last == .closing && record.furthest == .askingEntrypoints(profile: 2))
    }
}
