// SPDX-License-Identifier: GPL-2.0-or-later

internal import NIOSSL

/// An encoding service, as a program uses it from elsewhere.
///
/// A client is a value without state; all clients of a process share its connections. Its calls may be made from any
/// task and at any time.
///
/// Calls repeat what has failed because the connection broke, or because the service asks to come back later
/// (429, 503), with growing pauses, until ``Settings/patience`` is over. They repeat only what has the same effect if the
/// service receives it twice. Submitting is among that: the client adds a key by which the service recognises the
/// request.
public struct ServiceClient: Sendable {
    /// How a client behaves.
    public struct Settings: Sendable, Hashable {
        /// The seconds for which calls are repeated, from their first failure on. 0 repeats nothing.
        public var patience = 30.0
        /// The seconds for which sequences, ``ServiceClient/wait(for:onEvent:)``, uploads and downloads try to continue
        /// after their connection broke. Whatever arrives ends an outage.
        public var longPatience = 300.0
        /// The seconds in which the service must begin to answer.
        public var timeout = 60.0
        /// The path of a PEM file with the authorities that may have signed the certificate of the service; `nil` for
        /// those of the system.
        public var authorities: String?

        /// Makes settings with the defaults.
        public init() {}
    }

    /// The settings.
    public let settings: Settings

    let transport: Transport
    /// The same with the patience of what takes long.
    let longTransport: Transport

    /// Makes a client. Nothing is sent.
    ///
    /// - Parameters:
    ///   - url: `http` or `https`, a host, and perhaps a port and a path, such as `http://127.0.0.1:8080`.
    ///   - key: A key or the token of the service; `nil` if it needs none.
    ///   - settings: How the client behaves.
    /// - Throws: `invalidValue`; `file` if the authorities cannot be read.
    public init(url: String, key: String? = nil, settings: Settings = Settings()) throws(ClientError) {
        let address = try ServiceAddress(url)
        if let key, key.isEmpty || !key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) {
            throw ClientError(.invalidValue, "the key is empty, or has spaces or characters that keys do not have")
        }
        var tls: TLSConfiguration?
        if let path = settings.authorities {
            let certificates: [NIOSSLCertificate]
            do {
                certificates = try NIOSSLCertificate.fromPEMFile(path)
            } catch {
                throw ClientError(.file, "the certificates of the authorities cannot be read from \(path): \(error)")
            }
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.trustRoots = .certificates(certificates)
            tls = configuration
        }
        self.settings = settings
        func transport(_ patience: Double) -> Transport {
            Transport(
                address: address,
                key: key,
                timeout: settings.timeout,
                policy: RetryPolicy(patience: patience),
                tls: tls
            )
        }
        self.transport = transport(settings.patience)
        longTransport = transport(settings.longPatience)
    }

    /// The URL of the service, without a slash at its end.
    public var url: String { transport.address.text }

    /// The URL of a path that the service gave, such as that of a playlist.
    public func url(ofPath path: String) -> String { url + path }
}
