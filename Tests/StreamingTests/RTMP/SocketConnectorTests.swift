// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import MediaTypes
import Testing

@testable import Streaming

@Suite(.blocks) struct SocketConnectorTests {
    private struct Outcome: Sendable {
        var error: MediaError?
        var seconds: Double
        var peerPort: UInt16?
    }

    private func connect(
        _ connector: SocketConnector,
        host: String = "host.invalid",
        port: UInt16 = 1,
        milliseconds: Int32,
        stop: StopSignal? = nil
    ) async throws -> Outcome {
        try await onThread {
            var outcome = Outcome(seconds: 0)
            let start = ContinuousClock.now
            let stop = try stop ?? StopSignal()
            do throws(MediaError) {
                let socket = try connector.connect(
                    host: host,
                    port: port,
                    stop: stop,
                    deadline: Deadline(milliseconds: milliseconds)
                )
                var address = sockaddr_in()
                var length = socklen_t(MemoryLayout<sockaddr_in>.size)
                withUnsafeMutablePointer(to: &address) { pointer in
                    _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        getpeername(socket.descriptor, $0, &length)
                    }
                }
                outcome.peerPort = UInt16(bigEndian: address.sin_port)
            } catch {
                outcome.error = error
            }
            outcome.seconds = (.now - start) / .seconds(1)
            return outcome
        }
    }

    /// Resolves any name to ports of this machine.
    private func connector(to ports: [UInt16]) -> SocketConnector {
        SocketConnector(
            resolver: HostResolver { (_, _) throws(MediaError) in
                ports.compactMap { HostResolver.address("127.0.0.1", port: $0) }
            }
        )
    }

    @Test func aNameServerThatHangsEndsAtTheDeadline() async throws {
        let never = try StopSignal()
        defer { never.stop() }
        let connector = SocketConnector(
            resolver: HostResolver { (_, _) throws(MediaError) in
                try never.wait(for: [], until: nil)
                return []
            }
        )
        let late = try await connect(connector, milliseconds: 300)
        #expect(late.error?.code == .deadlineExceeded)
        #expect(late.error?.message.contains("name was not resolved") == true)
        #expect((0.3..<20).contains(late.seconds))

        let stop = try StopSignal()
        stop.stop()
        #expect(try await connect(connector, milliseconds: 60_000, stop: stop).error?.code == .cancelled)
    }

    @Test func aHostThatDoesNotAnswerEndsAtTheDeadline() async throws {
        let (listener, filling) = try await onThreadFull()
        let outcome = try await connect(.init(), host: "127.0.0.1", port: listener.port, milliseconds: 300)
        #expect(outcome.error?.code == .deadlineExceeded)
        #expect(outcome.error?.message.contains("did not accept a connection") == true)
        #expect((0.3..<20).contains(outcome.seconds))
        withExtendedLifetime(filling) {}
    }

    @Test func everyAddressIsTried() async throws {
        let closed = try LoopbackListener(backlog: 1).port
        let good = try LoopbackListener(backlog: 8)
        let second = try await connect(connector(to: [closed, good.port]), milliseconds: 60_000)
        #expect(second.peerPort == good.port)

        let (full, filling) = try await onThreadFull()
        let third = try await connect(connector(to: [full.port, closed, good.port]), milliseconds: 60_000)
        #expect(third.peerPort == good.port, "an address that does not answer does not keep the others waiting")
        #expect(third.seconds < 50)
        withExtendedLifetime(filling) {}
    }

    @Test func refusalsAreNamed() async throws {
        let closed = try LoopbackListener(backlog: 1).port
        let outcome = try await connect(.init(), host: "127.0.0.1", port: closed, milliseconds: 60_000)
        #expect(outcome.error?.code == .inputOutput)
        #expect(outcome.error?.message == "no connection: 127.0.0.1: Connection refused")
        #expect(outcome.error?.status == Int(ECONNREFUSED))
        #expect(outcome.error?.isPermanent == false)
    }

    private func onThreadFull() async throws -> (LoopbackListener, FillingSockets) {
        try await onThread {
            let (listener, filling) = try LoopbackListener.full()
            return (listener, FillingSockets(filling))
        }
    }
}

/// Sockets that are kept open.
private final class FillingSockets: @unchecked Sendable {
    private let sockets: [Socket]
    init(_ sockets: [Socket]) { self.sockets = sockets }
}
