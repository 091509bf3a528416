// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import Foundation
import MediaTypes
import TestSupport
import Testing

@testable import Streaming

/// RTMP over TLS, to a server with a certificate for `localhost` that it has signed itself.
@Suite(.blocks) struct RTMPSecurityTests {
    private let clip: RTMPClip

    init() throws { clip = try RTMPClip.shared.get() }

    private func publish(
        _ host: String,
        _ port: UInt16,
        authorities: String?,
        connecting: Int32 = 60_000,
        stop: StopSignal? = nil
    ) async throws -> RTMPAttempt {
        let units = clip.units
        return try await RTMPAttempt.run(
            RTMPAddress("rtmps://\(host):\(port)/app/hidden"),
            tracks: clip.tracks,
            connecting: connecting,
            authorities: authorities,
            stop: stop
        ) { index in index < units.count ? units[index] : nil }
    }

    @Test func aTrustedServerReceivesEverything() async throws {
        let server = try RTMPScriptedServer()
        let proxy = try TLSProxy(to: server.port)
        let attempt = try await publish("localhost", proxy.port, authorities: proxy.certificate)
        #expect(attempt.error == nil)
        let isOver = await Patience.wait { server.record.isOver }
        try #require(isOver)
        #expect(server.record.commands.last == "deleteStream")
        let pictures = server.record.payloads(.video).filter { $0[1] == 1 }.map { Array($0.dropFirst(5)) }
        #expect(pictures == clip.video.map { $0.data.withUnsafeBytes { Array($0) } })
        #expect(server.record.payloads(.audio).count == clip.audio.count + 1)
        #expect(try proxy.serverName == "localhost", "the name was sent to the server")
    }

    @Test func aNetworkThatTakesLittleAtATimeGetsEverything() async throws {
        let server = try RTMPScriptedServer()
        let proxy = try TLSProxy(to: server.port)
        let clip = clip
        @Sendable func bytes(_ index: Int) -> [UInt8] {
            var random = SplitMix(UInt64(index))
            return (0..<62_500).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
        }
        let attempt = try await RTMPAttempt.run(
            RTMPAddress("rtmps://localhost:\(proxy.port)/app/hidden"),
            tracks: clip.tracks,
            authorities: proxy.certificate
        ) { index in
            guard index < 20 else { return nil }
            var sample = clip.video[0]
            sample.data = CodedData(bytes(index))
            return .video(sample)
        }
        #expect(attempt.error == nil)
        let isOver = await Patience.wait { server.record.isOver }
        try #require(isOver)
        let pictures = server.record.payloads(.video).filter { $0[1] == 1 }
        try #require(pictures.count == 20)
        for (index, picture) in pictures.enumerated() { #expect(Array(picture.dropFirst(5)) == bytes(index)) }
    }

    @Test func aCertificateThatNobodyIssuedIsRefused() async throws {
        let server = try RTMPScriptedServer()
        let proxy = try TLSProxy(to: server.port)
        let attempt = try await publish("localhost", proxy.port, authorities: nil)
        #expect(attempt.error?.code == .inputOutput)
        #expect(attempt.error?.isPermanent == true)
        #expect(attempt.error?.message.contains("is not trusted") == true)
        #expect(attempt.error?.message.contains("issuer is unknown") == true)
        #expect(server.record.messages.isEmpty)

        let other = try TLSProxy(to: server.port)
        let wrong = try await publish("localhost", proxy.port, authorities: other.certificate)
        #expect(wrong.error?.message.contains("is not trusted") == true, "the certificate of another server")
    }

    @Test func aCertificateForAnotherNameIsRefused() async throws {
        let server = try RTMPScriptedServer()
        let proxy = try TLSProxy(to: server.port)
        let attempt = try await publish("127.0.0.1", proxy.port, authorities: proxy.certificate)
        #expect(attempt.error?.code == .inputOutput)
        #expect(attempt.error?.message.contains("name in the certificate does not match") == true)
        #expect(attempt.error?.remedies.first?.contains("host name") == true)
        #expect(server.record.messages.isEmpty)
    }

    @Test func aCertificateThatHasExpiredIsRefused() async throws {
        let server = try RTMPScriptedServer()
        let proxy = try TLSProxy(to: server.port, until: 2021)
        let attempt = try await publish("localhost", proxy.port, authorities: proxy.certificate)
        #expect(attempt.error?.message.contains("expired") == true)
    }

    @Test func aServerWithoutTLSIsNamed() async throws {
        let nginx = try PlainAnswerer("HTTP/1.1 400 Bad Request\r\n\r\n")
        let attempt = try await publish("localhost", nginx.port, authorities: nil)
        #expect(attempt.error?.code == .inputOutput)
        #expect(attempt.error?.message.contains("the TLS handshake failed") == true)
        #expect(attempt.error?.description.contains("hidden") == false)
    }

    @Test func aHandshakeThatStallsEndsAtTheDeadlineOrTheSignal() async throws {
        let silent = try LoopbackListener(backlog: 8)
        let late = try await publish("127.0.0.1", silent.port, authorities: nil, connecting: 400)
        #expect(late.error?.code == .deadlineExceeded)
        #expect(late.error?.message.contains("the TLS handshake did not end") == true)
        #expect((0.4..<20).contains(late.seconds))

        let stop = try StopSignal()
        try PlainThread.start(name: "stopper") {
            _ = try? stop.wait(for: [], until: 100); stop.stop()
        }
        let stopped = try await publish("127.0.0.1", silent.port, authorities: nil, stop: stop)
        #expect(stopped.error?.code == .cancelled)
    }

    @Test(arguments: ["/does/not/exist", "/etc/hostname"])
    func aFileWithoutCertificatesIsNamed(path: String) async throws {
        let silent = try LoopbackListener(backlog: 8)
        let attempt = try await publish("127.0.0.1", silent.port, authorities: path)
        #expect(attempt.error?.code == .invalidArgument)
        #expect(attempt.error?.given == path)
    }
}

/// A server that sends a text to its first client.
private final class PlainAnswerer: Sendable {
    let port: UInt16
    private let stop: StopSignal

    init(_ text: String) throws {
        let listener = try LoopbackListener(backlog: 8)
        (port, stop) = (listener.port, try StopSignal())
        try PlainThread.start(name: "answerer") { [stop] in
            guard (try? stop.wait(for: [(listener.descriptor, Int16(POLLIN))], until: nil)) != nil else { return }
            let descriptor = accept(listener.descriptor, nil, nil)
            _ = send(descriptor, text, text.utf8.count, Int32(MSG_NOSIGNAL))
            _ = try? stop.wait(for: [], until: nil)
            close(descriptor)
        }
    }

    deinit { stop.stop() }
}

/// A program that takes TLS from connections and passes them on to a port; it ends with the object.
private final class TLSProxy: Sendable {
    let port: UInt16
    let certificate: String
    private let folder: RTMPFolder
    private let process: Process

    /// - Parameter year: The year in which the certificate expires.
    init(to backend: UInt16, until year: Int = 2090) throws {
        let folder = try RTMPFolder()
        self.folder = folder
        certificate = folder.path("certificate.pem")
        try folder.write(Self.authority.replacing("FOLDER", with: folder.path), to: "authority")
        try folder.write("", to: "index")
        try folder.write("01", to: "serial")
        let keys = ["-newkey", "rsa:2048", "-nodes", "-keyout", folder.path("key.pem")]
        let request = folder.path("request.pem")
        try RTMPTool.run("openssl", ["req", "-new", "-subj", "/CN=localhost"] + keys + ["-out", request])
        let dates = ["-startdate", "20200101000000Z", "-enddate", "\(year)0101000000Z"]
        let files = ["-keyfile", folder.path("key.pem"), "-in", request, "-out", certificate]
        try RTMPTool.run(
            "openssl",
            ["ca", "-batch", "-notext", "-selfsign", "-config", folder.path("authority")] + dates + files
        )
        try folder.write(Self.program, to: "proxy.py")
        let arguments = [folder.path("proxy.py"), certificate, folder.path("key.pem"), "\(backend)"]
        let process = try RTMPTool.start("python3", arguments, in: folder)
        self.process = process
        var port: UInt16?
        _ = Patience.block {
            port = (try? folder.lines("output"))?.first.flatMap { UInt16($0) }
            return port != nil || !process.isRunning
        }
        let errors = try folder.lines("errors")
        self.port = try #require(port, "\(errors)")
    }

    deinit { RTMPTool.kill(process) }

    /// The name that the last client has sent (SNI).
    var serverName: String? {
        get throws { try folder.lines("output").dropFirst().last }
    }

    private static let authority = """
        [ca]
        default_ca = default
        [default]
        database = FOLDER/index
        serial = FOLDER/serial
        new_certs_dir = FOLDER
        default_md = sha256
        policy = policy
        x509_extensions = extensions
        [policy]
        commonName = supplied
        [extensions]
        subjectAltName = DNS:localhost
        """

    private static let program = """
        import asyncio, ssl, sys

        async def copy(reader, writer):
            try:
                while data := await reader.read(65536):
                    writer.write(data)
                    await writer.drain()
                if writer.can_write_eof():
                    writer.write_eof()
            except OSError:
                writer.close()

        async def serve(reader, writer):
            other_reader, other_writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[3]))
            await asyncio.gather(copy(reader, other_writer), copy(other_reader, writer))
            other_writer.close()
            writer.close()

        async def main():
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[1], sys.argv[2])
            context.sni_callback = lambda sock, name, context: print(name, flush=True)
            server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
            print(server.sockets[0].getsockname()[1], flush=True)
            await server.serve_forever()

        asyncio.run(main())
        """
}

extension RTMPFolder {
    fileprivate func lines(_ name: String) throws -> [String] {
        try String(contentsOfFile: path(name), encoding: .utf8).split(separator: "\n").map(String.init)
    }
}
