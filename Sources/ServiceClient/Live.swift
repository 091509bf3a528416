// SPDX-License-Identifier: GPL-2.0-or-later

internal import NIOHTTP1
public import ServiceAPI

/// Live jobs.
extension ServiceClient {
    /// Starts a live job.
    ///
    /// A request that is repeated after a failure does not start another one, because it has an idempotency key.
    public func startLive(_ request: LiveRequest) async throws(ClientError) -> LiveJob {
        var exchange = Exchange(.POST, ServicePath("live"), body: request.jsonBytes)
        exchange.headers.append((name: "Idempotency-Key", value: Self.makeKey()))
        return try await transport.value(exchange)
    }

    /// The live jobs, the newest first.
    ///
    /// - Parameter state: Only those in this state.
    public func liveJobs(state: LiveState? = nil) async throws(ClientError) -> [LiveJob] {
        var jobs: [LiveJob] = []
        var cursor: String?
        repeat {
            let path = ServicePath("live").query("state", state?.rawValue).query("limit", "200").query("cursor", cursor)
            let list: LiveJobList = try await transport.value(Exchange(.GET, path))
            jobs += list.jobs
            cursor = list.nextCursor
        } while cursor != nil
        return jobs
    }

    /// A live job.
    public func liveJob(_ id: String) async throws(ClientError) -> LiveJob {
        try await transport.value(Exchange(.GET, ServicePath("live", id)))
    }

    /// Ends a live job.
    public func stopLive(_ id: String) async throws(ClientError) -> LiveJob {
        try await transport.value(Exchange(.POST, ServicePath("live", id, "stop")))
    }

    /// Uses another input of a live job from now on.
    ///
    /// - Parameters:
    ///   - id: The identifier of the live job.
    ///   - input: The index of the input in the request.
    public func switchLive(_ id: String, to input: Int) async throws(ClientError) -> LiveJob {
        let body = LiveSwitch { $0.input = input }
        return try await transport.value(Exchange(.POST, ServicePath("live", id, "switch"), body: body.jsonBytes))
    }

    /// Changes the highest bit rate of a live job from now on.
    ///
    /// - Parameters:
    ///   - id: The identifier of the live job.
    ///   - bitRate: The average bit rate of the video in bit/s.
    public func updateLive(_ id: String, bitRate: Int) async throws(ClientError) -> LiveJob {
        let body = LiveUpdate { $0.bitRate = bitRate }
        return try await transport.value(Exchange(.POST, ServicePath("live", id, "update"), body: body.jsonBytes))
    }

    /// Deletes a live job that has ended.
    public func deleteLive(_ id: String) async throws(ClientError) { try await delete(ServicePath("live", id)) }
}
