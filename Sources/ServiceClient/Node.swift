// SPDX-License-Identifier: GPL-2.0-or-later

internal import NIOHTTP1
public import ServiceAPI

/// The node, and what it encodes with.
extension ServiceClient {
    /// What answers, and where its resources are.
    public func service() async throws(ClientError) -> ServiceInfo {
        try await transport.value(Exchange(.GET, ServicePath()))
    }

    /// The encoders and GPUs of the node.
    public func capabilities() async throws(ClientError) -> Capabilities {
        try await transport.value(Exchange(.GET, ServicePath("capabilities")))
    }

    /// What the node does.
    public func status() async throws(ClientError) -> NodeStatus {
        try await transport.value(Exchange(.GET, ServicePath("status")))
    }

    /// What a file contains.
    public func probe(_ input: Input) async throws(ClientError) -> MediaReport {
        var request = ProbeRequest()
        request.input = input
        return try await transport.value(Exchange(.POST, ServicePath("probe"), body: request.jsonBytes))
    }

    /// Lets the node begin no more tasks.
    ///
    /// - Parameter waits: Whether to wait until none runs. Other clients may end that by resuming the node.
    public func drain(waits: Bool = false) async throws(ClientError) -> NodeStatus {
        var status: NodeStatus = try await transport.value(Exchange(.POST, ServicePath("drain")))
        while waits, status.draining, status.running > 0 {
            try await Self.pauseBetweenLooks()
            status = try await longTransport.value(Exchange(.GET, ServicePath("status")))
        }
        return status
    }

    /// Lets the node begin tasks again.
    public func resume() async throws(ClientError) -> NodeStatus {
        try await transport.value(Exchange(.POST, ServicePath("resume")))
    }

    /// The descriptions of errors and failures.
    public func errors() async throws(ClientError) -> [ErrorDescription] {
        let list: ErrorList = try await transport.value(Exchange(.GET, ServicePath("errors")))
        return list.errors
    }

    /// Asking again survives breaks of the connection, which a request that waits for hours does not.
    private static func pauseBetweenLooks() async throws(ClientError) {
        do {
            try await Task.sleep(for: .seconds(1))
        } catch {
            throw ClientError.cancelled
        }
    }
}

/// Queues.
extension ServiceClient {
    /// The queues, by name.
    public func queues() async throws(ClientError) -> [QueueObject] {
        let list: QueueList = try await transport.value(Exchange(.GET, ServicePath("queues")))
        return list.queues
    }

    /// A queue.
    public func queue(_ name: String) async throws(ClientError) -> QueueObject {
        try await transport.value(Exchange(.GET, ServicePath("queues", name)))
    }

    /// Makes a queue, or replaces its settings.
    public func setQueue(_ name: String, _ settings: QueueRequest) async throws(ClientError) -> QueueObject {
        try await transport.value(Exchange(.PUT, ServicePath("queues", name), body: settings.jsonBytes))
    }

    /// Deletes a queue without jobs.
    public func deleteQueue(_ name: String) async throws(ClientError) { try await delete(ServicePath("queues", name)) }

    /// Lets a queue begin no more tasks; those that run go on.
    public func pauseQueue(_ name: String) async throws(ClientError) -> QueueObject {
        try await transport.value(Exchange(.POST, ServicePath("queues", name, "pause")))
    }

    /// Lets a queue begin tasks again.
    public func resumeQueue(_ name: String) async throws(ClientError) -> QueueObject {
        try await transport.value(Exchange(.POST, ServicePath("queues", name, "resume")))
    }

    /// Lets a queue begin no more tasks.
    ///
    /// - Parameters:
    ///   - name: The queue.
    ///   - waits: Whether to wait until none runs. Other clients may end that by resuming the queue.
    public func drainQueue(_ name: String, waits: Bool = false) async throws(ClientError) -> QueueObject {
        var queue: QueueObject = try await transport.value(Exchange(.POST, ServicePath("queues", name, "drain")))
        while waits, queue.settings.paused, queue.running > 0 {
            try await Self.pauseBetweenLooks()
            queue = try await longTransport.value(Exchange(.GET, ServicePath("queues", name)))
        }
        return queue
    }
}

/// Presets.
extension ServiceClient {
    /// The latest version of each preset, by name.
    public func presets() async throws(ClientError) -> [Preset] {
        let list: PresetList = try await transport.value(Exchange(.GET, ServicePath("presets")))
        return list.presets
    }

    /// A preset.
    ///
    /// - Parameters:
    ///   - name: The preset.
    ///   - version: The latest one by default.
    public func preset(_ name: String, version: Int? = nil) async throws(ClientError) -> Preset {
        let path = ServicePath("presets", name).query("version", version.map(String.init))
        return try await transport.value(Exchange(.GET, path))
    }

    /// Makes a preset, or a new version of it.
    public func setPreset(_ name: String, _ content: PresetRequest) async throws(ClientError) -> Preset {
        // Each time it is received, there is another version.
        let exchange = Exchange(.PUT, ServicePath("presets", name), .unsafe, body: content.jsonBytes)
        return try await transport.value(exchange)
    }

    /// Deletes a preset with all versions.
    public func deletePreset(_ name: String) async throws(ClientError) {
        try await delete(ServicePath("presets", name))
    }
}

/// Keys and links.
extension ServiceClient {
    /// The keys, the newest first, without their secrets.
    public func keys() async throws(ClientError) -> [Key] {
        let list: KeyList = try await transport.value(Exchange(.GET, ServicePath("keys")))
        return list.keys
    }

    /// Makes a key. Only this answer has its secret.
    public func makeKey(_ request: KeyRequest) async throws(ClientError) -> NewKey {
        try await transport.value(Exchange(.POST, ServicePath("keys"), .unsafe, body: request.jsonBytes))
    }

    /// Replaces the secret of a key.
    public func rotateKey(_ id: String) async throws(ClientError) -> NewKey {
        try await transport.value(Exchange(.POST, ServicePath("keys", id, "rotate")))
    }

    /// Deletes a key, which is no longer valid.
    public func deleteKey(_ id: String) async throws(ClientError) { try await delete(ServicePath("keys", id)) }

    /// Makes a signed URL, with which others can read a result or upload a file without a key.
    public func makeLink(_ request: LinkRequest) async throws(ClientError) -> Link {
        try await transport.value(Exchange(.POST, ServicePath("links"), body: request.jsonBytes))
    }
}
