// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA
public import RenderNodes

/// A connection to a driver (`VADisplay`), with its render node.
///
/// Surfaces, contexts and all other objects of a display keep the connection open. It is closed, together with the
/// node, when the display and its last object are released. All of them may be used from any thread.
public struct Display: ~Copyable, Sendable {
    /// The VA-API version of libva.
    public let version: APIVersion

    private(set) var connection: DisplayConnection
    let openingMessages: [DriverMessage]
    let onStage: @Sendable (DisplayStage) -> Void

    /// Loads the driver for a node and initializes it (`vaGetDisplayDRM`, `vaInitialize`).
    ///
    /// A driver is foreign code in this process: it may take seconds, and a faulty one can crash or hang. A program
    /// that must survive this opens the display in a helper process, and lets it report the stages to another process.
    ///
    /// - Parameters:
    ///   - node: The node. The display owns it from now on, even if this initializer throws.
    ///   - onStage: Called before every step in which the driver may crash or hang, on the thread of the step. It must
    ///     have forwarded the stage before it returns.
    ///   - onMessage: Called with every line that libva and the driver would print, on any thread, possibly until the
    ///     end of the display.
    /// - Throws: ``DisplayError`` with the messages of libva up to the failure.
    public init(
        node: consuming OpenRenderNode,
        onStage: @escaping @Sendable (DisplayStage) -> Void = { _ in },
        onMessage: @escaping @Sendable (DriverMessage) -> Void = { _ in }
    ) throws(DisplayError) {
        onStage(.choosingDriver)
        guard let handle = vaGetDisplayDRM(node.descriptor) else {
            throw DisplayError(path: node.path, reason: .notADRMDevice, messages: [])
        }
        let relay = MessageRelay(onStage: onStage, handler: onMessage)
        Self.listen(to: handle, relay)
        let connection = DisplayConnection(handle: handle, relay: relay, node: node, onStage: onStage)
        var major: Int32 = 0
        var minor: Int32 = 0
        do throws(VAError) {
            try check("vaInitialize", DriverTurn.take { vaInitialize(handle, &major, &minor) })
        } catch {
            throw DisplayError(path: connection.path, reason: .failed(error), messages: relay.endRecord())
        }
        self.connection = connection
        self.onStage = onStage
        version = APIVersion(major: major, minor: minor)
        openingMessages = relay.endRecord()
    }

    /// Opens the node at a path and continues as ``init(node:onStage:onMessage:)``.
    public init(
        path: String,
        onStage: @escaping @Sendable (DisplayStage) -> Void = { _ in },
        onMessage: @escaping @Sendable (DriverMessage) -> Void = { _ in }
    ) throws(DisplayError) {
        onStage(.openingNode)
        let node: OpenRenderNode
        do throws(NodeRefusal) {
            node = try OpenRenderNode(path: path)
        } catch {
            throw DisplayError(path: path, reason: .refused(error), messages: [])
        }
        self = try Display(node: node, onStage: onStage, onMessage: onMessage)
    }

    /// Closes the connection, as the release of the display does, and reports failures. The connection stays open while
    /// objects of the display exist. It is then closed with the last object, and only the message handler is informed.
    ///
    /// - Throws: ``VAError`` if the driver fails to close; its memory is then leaked.
    public consuming func close() throws(VAError) {
        guard isKnownUniquelyReferenced(&connection) else { return }
        try connection.end()
    }

    /// The `VADisplay`, for a library that uses the connection as well. It is valid as long as the display or one of its
    /// objects exists, and must not be terminated.
    package var address: UnsafeMutableRawPointer { handle }

    /// The descriptor of the render node. It is valid as long as the display or one of its objects exists.
    package var descriptor: Int32 { connection.descriptor }

    /// Returns another display for the same connection.
    public func share() -> Display { Display(connection, version, openingMessages, onStage) }

    /// Whether another display is for the same connection.
    package func isShared(with other: borrowing Display) -> Bool { connection === other.connection }

    /// Creates another display for a connection.
    init(
        _ connection: DisplayConnection,
        _ version: APIVersion,
        _ openingMessages: [DriverMessage],
        _ onStage: @escaping @Sendable (DisplayStage) -> Void
    ) {
        self.version = version
        self.connection = connection
        self.openingMessages = openingMessages
        self.onStage = onStage
    }

    private var handle: VADisplay { connection.handle }

    /// Queries the driver's name and capabilities.
    ///
    /// - Throws: ``VAError`` with the query that the driver refused.
    public func describe() throws(VAError) -> DriverDescription {
        onStage(.askingVendor)
        let vendor = vaQueryVendorString(handle).map { String(cString: $0) } ?? ""
        onStage(.askingProfiles)
        var profiles: [ProfileDescription] = []
        for profile in try self.profiles() {
            onStage(.askingEntrypoints(profile))
            profiles.append(ProfileDescription(profile: profile, entrypoints: try entrypoints(of: profile)))
        }
        return DriverDescription(
            version: version,
            vendor: vendor,
            file: DriverDescription.loadedFile(accordingTo: openingMessages),
            profiles: profiles
        )
    }

    private func profiles() throws(VAError) -> [Profile] {
        var list = [VAProfile](repeating: VAProfileNone, count: Int(max(vaMaxNumProfiles(handle), 0)))
        var count: Int32 = 0
        try check("vaQueryConfigProfiles", vaQueryConfigProfiles(handle, &list, &count))
        return list.prefix(Int(max(count, 0))).map { Profile(rawValue: $0.rawValue) }
    }

    private func entrypoints(of profile: Profile) throws(VAError) -> [Entrypoint] {
        let unset = VAEntrypoint(rawValue: 0)
        var list = [VAEntrypoint](repeating: unset, count: Int(max(vaMaxNumEntrypoints(handle), 0)))
        var count: Int32 = 0
        let query = VAProfile(rawValue: profile.rawValue)
        try check("vaQueryConfigEntrypoints", vaQueryConfigEntrypoints(handle, query, &list, &count))
        return list.prefix(Int(max(count, 0))).map { Entrypoint(rawValue: $0.rawValue) }
    }

    /// The relay outlives the connection, which retains it until after `vaTerminate`.
    private static func listen(to handle: VADisplay, _ relay: MessageRelay) {
        let context = Unmanaged.passUnretained(relay).toOpaque()
        vaSetErrorCallback(handle, { MessageRelay.at($0)?.receive(.error, $1) }, context)
        vaSetInfoCallback(handle, { MessageRelay.at($0)?.receive(.info, $1) }, context)
    }
}

extension MessageRelay {
    /// Returns the relay from a callback's context.
    fileprivate static func at(_ context: UnsafeMutableRawPointer?) -> MessageRelay? {
        context.map { Unmanaged<MessageRelay>.fromOpaque($0).takeUnretainedValue() }
    }
}
