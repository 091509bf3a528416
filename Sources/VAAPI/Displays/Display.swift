// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA
public import RenderNodes

/// A connection to a driver (`VADisplay`), and the render node that belongs to it.
///
/// Surfaces, contexts and whatever else was made with a display keep the connection: it ends, and the node is closed,
/// when the last of them and the display itself are gone. All of them may be used from any thread.
public struct Display: ~Copyable, Sendable {
    /// The version of VA-API that libva speaks.
    public let version: APIVersion

    private(set) var connection: DisplayConnection
    private let openingMessages: [DriverMessage]
    let onStage: @Sendable (DisplayStage) -> Void

    /// Loads the driver for a node and initializes it (`vaGetDisplayDRM`, `vaInitialize`).
    ///
    /// A driver is foreign code in this process: it may take seconds, and a faulty one can crash or hang. Who must
    /// outlive that opens the display in a helper process, and has the stages told to another one.
    ///
    /// - Parameters:
    ///   - node: The node, which the display owns from now on, also when this throws.
    ///   - onStage: Called before every step in which the driver may crash or hang, on the thread of the step. It has
    ///     to have passed the stage on when it returns.
    ///   - onMessage: Called with every line that libva and the driver would print, on any thread, possibly until
    ///     the display's end.
    /// - Throws: ``DisplayError`` with what libva said on the way.
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

    /// Opens the node at a path, then as ``init(node:onStage:onMessage:)``.
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

    /// Ends the connection, as the end of the display's life does, and tells how that went. While something that was
    /// made with the display lives, the connection lasts; its end is then that thing's, and tells only the handler.
    ///
    /// - Throws: ``VAError`` if the driver fails to; its memory is lost then.
    public consuming func close() throws(VAError) {
        guard isKnownUniquelyReferenced(&connection) else { return }
        try connection.end()
    }

    /// Another display that stands for the same connection.
    public func share() -> Display { Display(sharing: self) }

    private init(sharing other: borrowing Display) {
        version = other.version
        connection = other.connection
        openingMessages = other.openingMessages
        onStage = other.onStage
    }

    private var handle: VADisplay { connection.handle }

    /// Asks the driver who it is and what it offers.
    ///
    /// - Throws: ``VAError`` naming the query that the driver refused.
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

    /// The relay outlives the connection, which holds it until after `vaTerminate`.
    private static func listen(to handle: VADisplay, _ relay: MessageRelay) {
        let context = Unmanaged.passUnretained(relay).toOpaque()
        vaSetErrorCallback(handle, { MessageRelay.at($0)?.receive(.error, $1) }, context)
        vaSetInfoCallback(handle, { MessageRelay.at($0)?.receive(.info, $1) }, context)
    }
}

extension MessageRelay {
    /// The relay behind a callback's context.
    fileprivate static func at(_ context: UnsafeMutableRawPointer?) -> MessageRelay? {
        context.map { Unmanaged<MessageRelay>.fromOpaque($0).takeUnretainedValue() }
    }
}
