// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
internal import Glibc
internal import Hummingbird
internal import HummingbirdCore
internal import HummingbirdHTTP2
internal import HummingbirdTLS
internal import Logging
internal import MediaTypes
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import ServiceLifecycle
internal import Streaming
internal import Synchronization

/// A server of low-latency HLS, over HTTP/1.1, or HTTP/2 and HTTP/1.1 with TLS.
///
/// Players are limited: the number of connections and of requests that wait, how long a connection may be idle, and how
/// long a response may make no progress. None of them is ever waited for by the stream.
final class HLSOrigin: HLSPlace {
    private let store: MemoryStore
    private let host: String
    private let wantedPort: UInt16
    private let tls: HLSAddress.TLS?
    private let logger: Logger
    private let state = Mutex(State())
    private let changed = DispatchSemaphore(value: 0)

    private struct State {
        var port: Int?
        var failure: MediaError?
        var group: ServiceGroup?
        /// Lets requests that wait look at the clock.
        var ticking: Task<Void, Never>?
    }

    private static let mostConnections = 4096
    private static let idleTimeout = 60
    private static let stallTimeout = 30

    /// Makes a server that does not listen yet.
    init(_ store: MemoryStore, host: String, port: UInt16, tls: HLSAddress.TLS?, logger: Logger) {
        (self.store, self.host, wantedPort, self.tls, self.logger) = (store, host, port, tls, logger)
    }

    /// The port on which it listens; `nil` before.
    var port: Int? { state.withLock { $0.port } }

    /// Listens, and waits for that.
    ///
    /// - Parameter milliseconds: The longest wait.
    /// - Throws: `unavailable` if the address cannot be used; `invalidArgument` for files of TLS that cannot be used;
    ///   `deadlineExceeded`.
    func start(within milliseconds: Int32) throws(MediaError) {
        let builder = try server()
        let application = Application(
            responder: HLSResponder(store: store),
            server: builder,
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: Int(wantedPort)),
                serverName: "vatoolbox",
                availableConnectionsDelegate: .maximum(Self.mostConnections, logger: logger)
            ),
            onServerRunning: { [weak self] channel in self?.began(channel.localAddress?.port) },
            logger: logger
        )
        let group = ServiceGroup(configuration: ServiceGroupConfiguration(services: [application], logger: logger))
        Task { [weak self] in
            do { try await group.run() } catch { self?.failed(error) }
        }
        let ticking = Task { [weak store] in
            while !Task.isCancelled, let store, !store.isClosed {
                store.wake()
                try? await Task.sleep(for: .milliseconds(500))
            }
        }
        state.withLock { ($0.group, $0.ticking) = (group, ticking) }
        guard changed.wait(timeout: .now() + .milliseconds(Int(milliseconds))) == .success else {
            stop()
            throw MediaError(.deadlineExceeded, "the server does not begin", given: "\(milliseconds) ms")
        }
        if let failure = state.withLock({ $0.failure }) {
            stop()
            throw failure
        }
    }

    /// Lets players have the end of the stream: waits while they ask for it, at most two seconds.
    func finish(_ stop: StopSignal) {
        guard store.requestCount > 0 else { return }
        var (count, rest) = (store.requestCount, 4)
        while rest > 0, (try? stop.wait(for: [], until: 500)) != nil {
            rest = store.requestCount == count ? min(rest - 1, 1) : rest - 1
            count = store.requestCount
        }
    }

    /// Ends it; nobody waits for that.
    func stop() {
        store.close()
        let (group, ticking) = state.withLock { state in
            defer { (state.group, state.ticking) = (nil, nil) }
            return (state.group, state.ticking)
        }
        ticking?.cancel()
        // Not a cancellation: that leaves connections open whose requests wait.
        guard let group else { return }
        Task { await group.triggerGracefulShutdown() }
    }

    private func began(_ port: Int?) {
        state.withLock { $0.port = port ?? Int(wantedPort) }
        changed.signal()
    }

    private func failed(_ error: any Error) {
        let name = host.contains(":") ? "[\(host)]" : host
        let code = (error as? IOError)?.errnoCode
        let failure = MediaError(
            .unavailable,
            "the server cannot listen: \(code.map { String(cString: strerror($0)) } ?? "\(error)")",
            given: "\(name):\(wantedPort)",
            allowed: "an address of this machine and a port that is free",
            call: code == nil ? nil : "bind",
            status: code.map(Int.init)
        )
        state.withLock { $0.failure = $0.failure ?? failure }
        changed.signal()
    }

    private func server() throws(MediaError) -> HTTPServerBuilder {
        var http1 = HTTP1Channel.Configuration(
            additionalChannelHandlers: [StalledResponseHandler(limit: .seconds(Int64(Self.stallTimeout)))],
            idleTimeout: .seconds(Int64(Self.idleTimeout))
        )
        http1.httpDecoder = .init(maxHeaderFieldSize: 8 << 10, maxHeaderListSize: 16 << 10, maxHeaderFieldCount: 64)
        guard let tls else { return .http1(configuration: http1) }
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(tls.certificate).map {
                NIOSSLCertificateSource.certificate($0)
            }
            let key = try NIOSSLPrivateKey(file: tls.key, format: .pem)
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain,
                privateKey: .privateKey(key)
            )
            configuration.minimumTLSVersion = .tlsv12
            return try .http2Upgrade(
                tlsConfiguration: configuration,
                configuration: .init(idleTimeout: .seconds(Self.idleTimeout), streamConfiguration: http1)
            )
        } catch {
            throw MediaError(
                .invalidArgument,
                "the certificate or its key cannot be used: \(error)",
                given: "\(tls.certificate), \(tls.key)",
                allowed: "PEM files that belong together"
            )
        }
    }
}

/// Closes a connection, or a stream of HTTP/2, whose client does not take its response.
final class StalledResponseHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny

    private let limit: TimeAmount
    private var closing: Scheduled<Void>?

    init(limit: TimeAmount) { self.limit = limit }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        closing?.cancel()
        closing = nil
        if !context.channel.isWritable {
            let channel = context.channel
            closing = context.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
        }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        closing?.cancel()
        closing = nil
        context.fireChannelInactive()
    }
}
