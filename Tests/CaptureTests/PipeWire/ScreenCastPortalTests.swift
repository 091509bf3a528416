// SPDX-License-Identifier: GPL-2.0-or-later

import Capture
import Glibc
import MediaTypes
import TestSupport
import Testing

/// Everything with a portal of the tests that answers as it is told, on a real bus, in front of a real server.
@Suite("The desktop portal", .blocks, .serialized)
struct ScreenCastPortalTests {
    private let rig: PipeWireRig
    private let stop: StopSignal

    init() throws {
        rig = try PipeWireRig()
        stop = try StopSignal()
    }

    private func request(_ change: (inout ScreenCastPortal.Request) -> Void = { _ in }) -> ScreenCastPortal.Request {
        var request = ScreenCastPortal.Request()
        request.bus = rig.bus
        change(&request)
        return request
    }

    private func error(_ body: () throws -> Void) -> MediaError? {
        do {
            try body()
            return nil
        } catch {
            return error as? MediaError
        }
    }

    // MARK: - Permissions

    @Test("grants a screen, and grants it again with the word that it gave")
    func granted() throws {
        let source = try rig.source(["class=Stream/Output/Video"])
        let service = try rig.portal(source)
        let path = rig.folder + "/state/vatoolbox/screen-cast"
        let portal = ScreenCastPortal(request { $0.tokenPath = path })
        do {
            let stream = try portal.open(stop: stop)
            #expect(stream.node.id == source.node)
            var sequence = PatternSequence()
            for _ in 0..<5 { #expect(try sequence.check(stream.read()) == nil) }
        }
        #expect(try x11Output("stat -c %a \(path)") == Array("600\n".utf8))
        #expect(portal.restoreToken == "word 1")
        let calls = service.lines()
        #expect(calls.map { $0.contains("restore_token") } == [false, false, false])
        let selection = try #require(calls.first { $0.contains("SelectSources") })
        for part in [#""types": 3"#, #""cursor_mode": 2"#, #""persist_mode": 2"#, #""multiple": 0"#] {
            #expect(selection.contains(part))
        }
        _ = try ScreenCastPortal(request { $0.tokenPath = path }).open(stop: stop).read()
        #expect(service.lines().contains { $0.contains(#""restore_token": "word 1""#) })
        _ = try ScreenCastPortal(request { $0.restoreToken = "word 7" }).open(stop: stop).read()
        #expect(service.lines().contains { $0.contains(#""restore_token": "word 7""#) })
    }

    @Test("may answer before its calls return, or keep no permissions", arguments: ["early", "old"])
    func variants(answer: String) throws {
        let source = try rig.source()
        let service = try rig.portal(source, [answer])
        let portal = ScreenCastPortal(request())
        _ = try portal.open(stop: stop).read()
        let asksToKeep = service.lines().contains { $0.contains("persist_mode") }
        #expect(asksToKeep == (answer != "old"))
        #expect((portal.restoreToken == nil) == (answer == "old"))
    }

    @Test("is not asked again after a refusal", arguments: [("cancelled", 1), ("failed", 2)])
    func refused(answer: String, response: Int) throws {
        let source = try rig.source()
        let service = try rig.portal(source, [answer])
        let portal = ScreenCastPortal(request())
        let first = error { _ = try portal.open(stop: stop) }
        #expect(first?.code == .cancelled && first?.status == response && first?.remedies.isEmpty == false)
        #expect(service.lines().contains { $0.contains("Start") })
        #expect(error { _ = try portal.open(stop: stop) } == first)
        #expect(service.lines().isEmpty)
    }

    @Test("is a failure for a reader when the user refuses")
    func reader() async throws {
        let service = try rig.portal(nil, ["cancelled"])
        let portal = ScreenCastPortal(request())
        let reader = try DeviceReader<PictureStream, Int>(name: "reader") { stop throws(MediaError) in
            let stream = try portal.open(stop: stop)
            return (stream.stream, { () throws(MediaError) in try stream.read().buffer.width })
        }
        guard case .failed(let error)? = await reader.next() else {
            Issue.record("no failure")
            return
        }
        #expect(error.code == .cancelled)
        #expect(await reader.next() == nil)
        withExtendedLifetime(service) {}
    }

    // MARK: - Ends

    @Test("ends the capture for good when the user stops sharing")
    func closed() throws {
        let source = try rig.source()
        let service = try rig.portal(source)
        let portal = ScreenCastPortal(request())
        let stream = try portal.open(stop: stop)
        _ = try stream.read()
        service.send("close")
        #expect(error { while true { _ = try stream.read() } }?.code == .cancelled)
        _ = service.lines()
        #expect(error { _ = try portal.open(stop: stop) }?.code == .cancelled)
        #expect(service.lines().isEmpty)
    }

    @Test("ends the capture when the portal or the bus ends", arguments: [true, false])
    func gone(isPortal: Bool) throws {
        let source = try rig.source()
        let service = try rig.portal(source)
        let portal = ScreenCastPortal(request())
        let stream = try portal.open(stop: stop)
        _ = try stream.read()
        if isPortal { service.kill() } else { rig.killBus() }
        #expect(error { while true { _ = try stream.read() } }?.code == .unavailable)
        #expect(error { _ = try portal.open(stop: stop) }?.code == .unavailable)
    }

    @Test("ends with the source")
    func sourceEnds() throws {
        let source = try rig.source()
        let service = try rig.portal(source)
        let stream = try ScreenCastPortal(request()).open(stop: stop)
        _ = try stream.read()
        source.end()
        #expect(error { while true { _ = try stream.read() } }?.code == .unavailable)
        withExtendedLifetime(service) {}
    }

    // MARK: - Failures

    @Test("explains answers that do not come", arguments: ["silent", "mute"])
    func noAnswer(answer: String) throws {
        let source = try rig.source()
        let service = try rig.portal(source, [answer])
        let impatient = request { request in
            if answer == "silent" { request.patience = 1 } else { request.answerLimit = 700 }
        }
        let portal = ScreenCastPortal(impatient)
        let error = error { _ = try portal.open(stop: stop) }
        #expect(error?.code == .deadlineExceeded && error?.remedies.isEmpty == false, "\(String(describing: error))")
        withExtendedLifetime(service) {}
    }

    @Test("ends the wait for the user with the stop signal, which is no refusal")
    func stopped() throws {
        let source = try rig.source()
        let service = try rig.portal(source, ["silent"])
        let portal = ScreenCastPortal(request())
        let signal = try StopSignal()
        let lines = Lines(service)
        try PlainThread.start(name: "stopper") {
            lines.wait(for: "Start")
            signal.stop()
        }
        #expect(error { _ = try portal.open(stop: signal) }?.code == .cancelled)
        let later = ScreenCastPortal(request { $0.patience = 1 })
        #expect(error { _ = try later.open(stop: stop) }?.code == .deadlineExceeded)
        var other = request()
        other.patience = 0
        #expect(error { _ = try portal.open(stop: signal) }?.code == .cancelled)
    }

    /// The lines of a program, for another thread.
    private final class Lines: @unchecked Sendable {
        private let program: TestProgram
        init(_ program: TestProgram) { self.program = program }
        func wait(for text: String) { while let line = program.line(), !line.contains(text) {} }
    }

    @Test(
        "explains what the desktop does not have",
        arguments: [
            ("no-screens", MediaError.Code.unsupported), ("no-cursor", .unsupported), ("no-stream", .malformedData),
        ]
    )
    func lacking(answer: String, code: MediaError.Code) throws {
        let source = try rig.source()
        let service = try rig.portal(source, [answer])
        let error = error { _ = try ScreenCastPortal(request()).open(stop: stop) }
        #expect(error?.code == code)
        if answer == "no-cursor" {
            _ = try ScreenCastPortal(request { $0.drawsCursor = false }).open(stop: stop).read()
        }
        let virtual = self.error { _ = try ScreenCastPortal(request { $0.sources = .virtual }).open(stop: stop) }
        #expect(virtual?.code == .unsupported)
        withExtendedLifetime(service) {}
    }

    @Test("explains that the portal or the bus is missing, or grants a node that does not exist")
    func missing() throws {
        let service = error { _ = try ScreenCastPortal(request()).open(stop: stop) }
        #expect(service?.code == .unavailable && service?.remedies.first?.contains("xdg-desktop-portal") == true)
        let bus = request { $0.bus = "unix:path=\(rig.folder)/nothing" }
        let none = error { _ = try ScreenCastPortal(bus).open(stop: stop) }
        #expect(none?.code == .unavailable && none?.remedies.isEmpty == false)
        let portal = try rig.portal(node: 99_999)
        let node = error { _ = try ScreenCastPortal(request()).open(stop: stop) }
        #expect(node?.code == .unavailable && node?.given == "node 99999")
        withExtendedLifetime(portal) {}
    }

    // MARK: - Cameras

    @Test("grants cameras, or refuses them once")
    func camera() throws {
        let source = try rig.source()
        var service = try rig.portal(source)
        let stream = try CameraPortal(patience: 60, bus: rig.bus).open(stop: stop)
        var sequence = PatternSequence()
        for _ in 0..<5 { #expect(try sequence.check(stream.read()) == nil) }
        service.closeInput()
        service.waitForEnd()
        service = try rig.portal(source, ["cancelled"])
        let portal = CameraPortal(patience: 60, bus: rig.bus)
        #expect(error { _ = try portal.open(stop: stop) }?.code == .cancelled)
        #expect(service.lines().count == 1)
        #expect(error { _ = try portal.open(stop: stop) }?.code == .cancelled)
        #expect(service.lines().isEmpty)
    }
}
