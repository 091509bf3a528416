// SPDX-License-Identifier: GPL-2.0-or-later

internal import CPipeWire
internal import Glibc
internal import MediaTypes

/// A connection to a PipeWire server, and the nodes of the server. Made, used and released by one thread.
final class PipeWireConnection {
    /// A server.
    enum Remote {
        /// The name of a socket in `XDG_RUNTIME_DIR`, or its path; the default one if `nil`.
        case socket(String?)
        /// A connection, as the desktop portal gives it. It belongs to this class from then on.
        case descriptor(Int32)
    }

    /// The longest time for an answer of the server, in milliseconds.
    static let answerLimit: Int64 = 20_000

    /// `pw_core`.
    let core: OpaquePointer
    private let loop: UnsafeMutablePointer<pw_loop>
    private let context: OpaquePointer
    private let events: Events
    private var registry: OpaquePointer?

    /// The nodes that the server has at present, as far as this program may see them.
    var nodes: [UInt32: PipeWireNode] { events.nodes }

    private static let isLibraryReady: Bool = {
        pw_init(nil, nil)
        return true
    }()

    /// Connects to a server.
    ///
    /// - Throws: `unavailable` if there is none, or if it refuses this user; `creationFailed` or `outOfMemory` if the
    ///   client library does not start.
    init(_ remote: Remote) throws(MediaError) {
        var descriptor: Int32 = -1
        if case .descriptor(let given) = remote { descriptor = given }
        guard Self.isLibraryReady, let loop = pw_loop_new(nil) else {
            let status = errno
            if descriptor >= 0 { close(descriptor) }
            throw PipeWireFailure.starting("pw_loop_new", status: status)
        }
        pipewire_enter(loop)
        guard let context = pw_context_new(loop, nil, 0) else {
            let status = errno
            if descriptor >= 0 { close(descriptor) }
            Self.release(loop, nil)
            throw PipeWireFailure.starting("pw_context_new", status: status)
        }
        let connected: OpaquePointer?
        var name: String?
        switch remote {
        case .socket(let given):
            name = given
            connected = pw_context_connect(context, given.flatMap { pipewire_properties(PW_KEY_REMOTE_NAME, $0) }, 0)
        case .descriptor:
            // The library closes the descriptor, also after a failure.
            connected = pw_context_connect_fd(context, descriptor, nil, 0)
        }
        guard let core = connected else {
            let status = errno
            Self.release(loop, context)
            throw PipeWireFailure.connecting(name, status: status)
        }
        (self.loop, self.context, self.core) = (loop, context, core)
        events = Events()
        events.listen(to: core)
        registry = events.watch(core)
    }

    deinit {
        events.end()
        if let registry { pw_proxy_destroy(registry) }
        pw_core_disconnect(core)
        Self.release(loop, context)
    }

    private static func release(_ loop: UnsafeMutablePointer<pw_loop>, _ context: OpaquePointer?) {
        if let context { pw_context_destroy(context) }
        pipewire_leave(loop)
        pw_loop_destroy(loop)
    }

    /// Asks a node for the formats that it offers.
    ///
    /// - Throws: As ``synchronise(_:)``.
    func formats(of node: UInt32, _ stop: StopSignal) throws(MediaError) -> PipeWireOffered {
        guard let registry else { return PipeWireOffered() }
        let survey = PipeWireSurvey(node, of: registry)
        try synchronise(stop)
        return survey.offered
    }

    // MARK: - Waiting

    /// Waits for the server or another descriptor, and then handles what the server has sent.
    ///
    /// - Parameters:
    ///   - others: Descriptors that also end the wait when they are readable.
    ///   - end: The end of the wait on `CLOCK_MONOTONIC` in nanoseconds; `nil` for no limit.
    /// - Returns: Whether the end was not reached yet.
    /// - Throws: `unavailable` if the server has ended the connection; `cancelled` after the stop signal.
    func wait(_ stop: StopSignal, others: [(descriptor: Int32, events: Int16)], until end: Int64?) throws(MediaError)
        -> Bool
    {
        let rest = end.map { max($0 - MonotonicClock.now.value, 0) }
        let all = [(descriptor: pipewire_descriptor(loop), events: Int16(POLLIN))] + others
        try stop.wait(for: all, until: rest.map { Int32(clamping: ($0 + 999_999) / 1_000_000) })
        try iterate()
        return rest != 0
    }

    /// Handles what the server has sent, without a wait.
    func iterate() throws(MediaError) {
        while pipewire_iterate(loop) > 0 && events.failure == nil {}
        if let failure = events.failure { throw failure }
    }

    /// Waits until the server has handled everything that was sent to it, so that ``nodes`` are complete.
    ///
    /// - Throws: `deadlineExceeded` if it does not answer; as ``wait(_:others:until:)``.
    func synchronise(_ stop: StopSignal) throws(MediaError) {
        let number = pipewire_sync(core)
        guard number >= 0 else { throw PipeWireFailure.serverGone(PipeWireFailure.text(-number)) }
        let end = MonotonicClock.now.value + Self.answerLimit * 1_000_000
        while events.done != number {
            guard try wait(stop, others: [], until: end) else { throw PipeWireFailure.silent("a list of its nodes") }
        }
    }
}

// MARK: - Events

/// What a server tells, on the thread of the connection.
private final class Events {
    private(set) var nodes: [UInt32: PipeWireNode] = [:]
    /// The number of the latest `done` event.
    private(set) var done: Int32 = -1
    /// Why the connection has ended.
    private(set) var failure: MediaError?

    private let coreHook = UnsafeMutablePointer<spa_hook>.allocate(capacity: 1)
    private let registryHook = UnsafeMutablePointer<spa_hook>.allocate(capacity: 1)
    private let coreEvents = UnsafeMutablePointer<pw_core_events>.allocate(capacity: 1)
    private let registryEvents = UnsafeMutablePointer<pw_registry_events>.allocate(capacity: 1)
    private var isWatching = false

    init() {
        coreHook.initialize(to: spa_hook())
        registryHook.initialize(to: spa_hook())
        coreEvents.initialize(to: pw_core_events())
        registryEvents.initialize(to: pw_registry_events())
    }

    deinit {
        coreHook.deallocate()
        registryHook.deallocate()
        coreEvents.deallocate()
        registryEvents.deallocate()
    }

    private static func from(_ data: UnsafeMutableRawPointer?) -> Events? {
        data.map { Unmanaged<Events>.fromOpaque($0).takeUnretainedValue() }
    }

    func listen(to core: OpaquePointer) {
        coreEvents.pointee.version = UInt32(PW_VERSION_CORE_EVENTS)
        coreEvents.pointee.done = { data, id, number in
            if id == PW_ID_CORE { Events.from(data)?.done = number }
        }
        coreEvents.pointee.error = { data, id, _, status, message in
            guard id == PW_ID_CORE, status == -EPIPE else { return }
            Events.from(data)?.failure = PipeWireFailure.serverGone(message.map { String(cString: $0) } ?? "")
        }
        pipewire_listen_core(core, coreHook, coreEvents, Unmanaged.passUnretained(self).toOpaque())
    }

    func watch(_ core: OpaquePointer) -> OpaquePointer? {
        registryEvents.pointee.version = UInt32(PW_VERSION_REGISTRY_EVENTS)
        registryEvents.pointee.global = { data, id, _, type, _, properties in
            guard let type, pipewire_is_node(type) != 0 else { return }
            func property(_ key: String) -> String {
                guard let properties, let text = spa_dict_lookup(properties, key) else { return "" }
                return String(cString: text)
            }
            Events.from(data)?.nodes[id] = PipeWireNode(
                id: id,
                name: property(PW_KEY_NODE_NAME),
                description: property(PW_KEY_NODE_DESCRIPTION),
                mediaClass: property(PW_KEY_MEDIA_CLASS),
                priority: Int(property(PW_KEY_PRIORITY_SESSION)) ?? 0
            )
        }
        registryEvents.pointee.global_remove = { data, id in Events.from(data)?.nodes[id] = nil }
        let registry = pipewire_registry(
            core,
            registryHook,
            registryEvents,
            Unmanaged.passUnretained(self).toOpaque()
        )
        isWatching = registry != nil
        return registry
    }

    /// Ends all events.
    func end() {
        pipewire_remove_hook(coreHook)
        if isWatching { pipewire_remove_hook(registryHook) }
    }
}
