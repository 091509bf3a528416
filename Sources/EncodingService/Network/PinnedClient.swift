// SPDX-License-Identifier: GPL-2.0-or-later

internal import AsyncHTTPClient
internal import FoundationEssentials
internal import HostSystem
internal import NIOCore

/// A URL whose host has no address that the service may connect to, or that names no host.
struct AddressRefusal: Error, CustomStringConvertible {
    var description: String
}

/// HTTP clients that connect to the very address that was checked: a name server that gives another answer later changes
/// nothing (DNS rebinding). They follow no redirects.
struct PinnedClient: Sendable {
    let policy: AddressPolicy
    /// Asks for the addresses of a host, and may wait.
    var resolve: @Sendable (String) -> [IPAddress] = { IPAddress.resolve($0) }

    /// For how many seconds the addresses are waited for.
    var lookupLimit = 15.0

    /// Calls `body` with a client that reaches the host of a URL at one address, and no other.
    ///
    /// - Parameter patience: After how many seconds without a byte a connection is given up.
    /// - Throws: `AddressRefusal`; `UnknownHost`; errors of `body`.
    func withClient<Value: Sendable>(
        for url: String,
        patience: Double = 30,
        _ body: (HTTPClient) async throws -> Value
    ) async throws -> Value {
        let name: String
        do throws(WebHost.Malformed) { name = try WebHost(of: URL(string: url)).name } catch {
            throw AddressRefusal(description: error.description)
        }
        guard let host = HTTPClient.Request.host(of: url) else {
            throw AddressRefusal(description: "the URL has no host")
        }
        let address = try await address(of: name)
        var configuration = HTTPClient.Configuration.patient(patience)
        configuration.dnsOverride = [host: address.description]
        return try await HTTPClient.withOwn(configuration, body)
    }

    /// The addresses of a host. An address itself is not looked up, so it waits for nobody.
    private func addresses(of host: String) async throws -> [IPAddress] {
        if let address = IPAddress(host) { return [address] }
        let answer = try await WaitingThreads.names.run(within: lookupLimit) { [resolve] in resolve(host) }
        guard let answer else { throw UnknownHost(host: host, waited: lookupLimit) }
        return answer
    }

    /// Asks once for the addresses of a host, and returns the first that is allowed.
    private func address(of host: String) async throws -> IPAddress {
        let addresses = try await addresses(of: host)
        guard !addresses.isEmpty else { throw UnknownHost(host: host) }
        guard let address = addresses.first(where: policy.allows) else {
            throw AddressRefusal(
                description:
                    "the address of \(host) is not public: \(addresses.map(\.description).joined(separator: ", ")) "
                    + "(allowed: public addresses, and those of network.allow)"
            )
        }
        return address
    }

    struct UnknownHost: Error, CustomStringConvertible {
        var host: String
        /// The seconds after which nobody had answered; `nil` if the answer is that there is no such host.
        var waited: Double?

        var description: String {
            guard let waited else { return "there is no host \(host)" }
            return "the address of \(host) was not found within \(waited) seconds"
        }
    }
}

extension HTTPClient {
    /// Calls `body` with a client of its own, which is shut down afterwards.
    static func withOwn<Value: Sendable>(
        _ configuration: Configuration,
        _ body: (HTTPClient) async throws -> Value
    ) async throws -> Value {
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        do {
            let value = try await body(client)
            try await client.shutdown()
            return value
        } catch {
            try? await client.shutdown()
            throw error
        }
    }
}

extension HTTPClient.Configuration {
    /// Follows no redirects, and gives up a connection without a byte after so many seconds.
    static func patient(_ seconds: Double) -> Self {
        var configuration = Self()
        configuration.redirectConfiguration = .disallow
        let patience = TimeAmount.milliseconds(Int64(Int(limiting: seconds * 1000)))
        configuration.timeout = .init(connect: .seconds(10), read: patience, write: patience)
        return configuration
    }
}

extension HTTPClient.Request {
    /// The host of a URL, as the client reads it. It traps for hosts and ports that `WebHost` refuses.
    fileprivate static func host(of url: String) -> String? { try? HTTPClient.Request(url: url).host }
}
