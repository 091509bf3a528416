// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

/// A profile and an entrypoint with selected attributes (`VAConfigID`). It is destroyed when it is released.
public struct Config: ~Copyable, Sendable {
    /// The libva ID of the config.
    public let id: UInt32
    /// The profile.
    public let profile: Profile
    /// The entrypoint.
    public let entrypoint: Entrypoint
    /// The requested attributes. The driver chooses all others, see ``attributes()``.
    public let asked: [ConfigAttributeValue]

    let connection: DisplayConnection

    fileprivate init(
        _ connection: DisplayConnection,
        _ profile: Profile,
        _ entrypoint: Entrypoint,
        _ asked: [ConfigAttributeValue]
    ) throws(VAError) {
        var pairs = asked.map(\.pair)
        var id = VA_INVALID_ID
        try check(
            "vaCreateConfig",
            vaCreateConfig(
                connection.handle,
                VAProfile(rawValue: profile.rawValue),
                VAEntrypoint(rawValue: entrypoint.rawValue),
                &pairs,
                Int32(pairs.count),
                &id
            )
        )
        self.id = id
        self.profile = profile
        self.entrypoint = entrypoint
        self.asked = asked
        self.connection = connection
    }

    deinit {
        connection.report { [connection, id] () throws(VAError) in
            try check("vaDestroyConfig", vaDestroyConfig(connection.handle, id))
        }
    }

    /// Returns all attributes of this config (`vaQueryConfigAttributes`). Drivers report their capabilities, their
    /// choices, or nothing.
    public func attributes() throws(VAError) -> [ConfigAttributeValue] {
        var profile = VAProfileNone
        var entrypoint = VAEntrypoint(rawValue: 0)
        // Some drivers report a smaller number than they write.
        let room = max(Int(vaMaxNumConfigAttributes(connection.handle)), ConfigAttribute.all.count)
        var pairs = [VAConfigAttrib](repeating: VAConfigAttrib(), count: room)
        var count: Int32 = 0
        try check(
            "vaQueryConfigAttributes",
            vaQueryConfigAttributes(connection.handle, id, &profile, &entrypoint, &pairs, &count)
        )
        return pairs.prefix(Int(max(count, 0))).map { ConfigAttributeValue($0) }
    }

    /// The maximum number of surface attributes.
    private static let mostSurfaceAttributes: UInt32 = 4096

    /// Returns the surfaces that fit the config (`vaQuerySurfaceAttributes`).
    public func surfaceCapabilities() throws(VAError) -> SurfaceCapabilities {
        var count: UInt32 = 0
        try check("vaQuerySurfaceAttributes", vaQuerySurfaceAttributes(connection.handle, id, nil, &count))
        // A driver lists a few dozen attributes. The limit protects against a driver that reports millions.
        count = min(count, Self.mostSurfaceAttributes)
        var list = [VASurfaceAttrib](repeating: VASurfaceAttrib(), count: Int(count))
        if list.isEmpty { return SurfaceCapabilities(attributes: []) }
        try check("vaQuerySurfaceAttributes", vaQuerySurfaceAttributes(connection.handle, id, &list, &count))
        return SurfaceCapabilities(attributes: list.prefix(Int(count)).map { SurfaceAttributeValue($0) })
    }
}

extension Display {
    /// Creates a config (`vaCreateConfig`).
    ///
    /// - Parameters:
    ///   - attributes: Choices among the driver's capabilities, see ``EncodeCapabilities``. Drivers refuse unsupported
    ///     values, unsupported attributes, and more than one rate control mode; some accept them and crash later.
    /// - Throws: ``VAError`` if the driver refuses.
    public func makeConfig(
        profile: Profile,
        entrypoint: Entrypoint,
        attributes: [ConfigAttributeValue] = []
    ) throws(VAError) -> Config {
        try Config(connection, profile, entrypoint, attributes)
    }

    /// Queries all capabilities of a profile and an entrypoint: ``encodeAttributes(profile:entrypoint:)`` and
    /// ``surfaceCapabilities(profile:entrypoint:)``.
    public func encodeCapabilities(profile: Profile, entrypoint: Entrypoint) throws(VAError) -> EncodeCapabilities {
        EncodeCapabilities(
            profile: profile,
            entrypoint: entrypoint,
            attributes: try encodeAttributes(profile: profile, entrypoint: entrypoint),
            surfaces: try surfaceCapabilities(profile: profile, entrypoint: entrypoint)
        )
    }

    /// Queries every attribute of a profile and an entrypoint (`vaGetConfigAttributes`), including those that the
    /// driver does not support, see ``ConfigAttributeValue/isNotSupported``.
    public func encodeAttributes(
        profile: Profile,
        entrypoint: Entrypoint
    ) throws(VAError) -> [ConfigAttributeValue] {
        onStage(.askingAttributes(profile, entrypoint))
        var pairs = ConfigAttribute.all.map { ConfigAttributeValue($0, VA_ATTRIB_NOT_SUPPORTED).pair }
        try check(
            "vaGetConfigAttributes",
            vaGetConfigAttributes(
                connection.handle,
                VAProfile(rawValue: profile.rawValue),
                VAEntrypoint(rawValue: entrypoint.rawValue),
                &pairs,
                Int32(pairs.count)
            )
        )
        return pairs.map { ConfigAttributeValue($0) }
    }

    /// Queries the surfaces that fit a config with the driver's defaults (`vaCreateConfig`,
    /// `vaQuerySurfaceAttributes`).
    public func surfaceCapabilities(
        profile: Profile,
        entrypoint: Entrypoint
    ) throws(VAError) -> SurfaceCapabilities {
        onStage(.askingSurfaces(profile, entrypoint))
        return try makeConfig(profile: profile, entrypoint: entrypoint).surfaceCapabilities()
    }
}
