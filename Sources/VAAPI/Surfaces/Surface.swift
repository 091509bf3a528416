// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

/// A picture in the device's memory (`VASurfaceID`): what an encoder reads from, and what it reconstructs into.
///
/// Unlike the other handles a surface has several owners at a time: whoever fills it, a context that names it as its
/// target, a picture in flight that is coded from it. It is destroyed when the last of them lets go.
public final class Surface: Sendable {
    /// The number that libva knows the surface by; parameter structures refer to it.
    public let id: UInt32
    /// Samples in a row, as asked for.
    public let width: Int
    /// Rows, as asked for.
    public let height: Int
    /// The pixel format that was asked for; nil when the choice was the driver's.
    public let format: FourCC?

    let connection: DisplayConnection
    /// What the memory belongs to, if it is not the driver's.
    private let memoryOwner: (any AnyObject & Sendable)?

    fileprivate init(
        id: UInt32,
        _ connection: DisplayConnection,
        _ request: SurfaceRequest,
        memoryOwner: (any AnyObject & Sendable)?
    ) {
        self.id = id
        width = request.width
        height = request.height
        format = request.format
        self.connection = connection
        self.memoryOwner = memoryOwner
    }

    deinit {
        connection.report { () throws(VAError) in
            var id = id
            try check("vaDestroySurfaces", vaDestroySurfaces(connection.handle, &id, 1))
        }
    }

    /// Waits until nothing reads from or writes to the surface any more (`vaSyncSurface2`, `vaSyncSurface`).
    ///
    /// - Parameter timeout: How long; nil is for ever. Drivers without `vaSyncSurface2` wait for ever in any case.
    /// - Returns: Whether that is so.
    public func wait(atMost timeout: Duration? = nil) throws(VAError) -> Bool {
        try connection.wait(forSurface: id, atMost: timeout)
    }

    /// What is going on with the surface now (`vaQuerySurfaceStatus`).
    public func status() throws(VAError) -> SurfaceStatus {
        var status = VASurfaceStatus(rawValue: 0)
        try check("vaQuerySurfaceStatus", vaQuerySurfaceStatus(connection.handle, id, &status))
        return SurfaceStatus(rawValue: status.rawValue)
    }
}

/// What is going on with a surface (`VASurfaceStatus`).
public struct SurfaceStatus: OptionSet, Sendable, Hashable {
    /// The bits of `va.h`.
    public let rawValue: UInt32

    /// Wraps bits of `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A picture in flight uses it.
    public static let rendering = Self(rawValue: VASurfaceRendering.rawValue)
    /// It is on display.
    public static let displaying = Self(rawValue: VASurfaceDisplaying.rawValue)
    /// Nothing uses it.
    public static let ready = Self(rawValue: VASurfaceReady.rawValue)
    /// The encoder has skipped the picture.
    public static let skipped = Self(rawValue: VASurfaceSkipped.rawValue)
}

/// What surfaces to make.
public struct SurfaceRequest: Sendable, Hashable {
    /// Samples in a row.
    public var width: Int
    /// Rows.
    public var height: Int
    /// The format as configs have it; one.
    public var renderTargetFormat: RTFormats
    /// The pixel format, one of ``SurfaceCapabilities/formats``; nil leaves it to the driver.
    public var format: FourCC?
    /// DRM format modifiers to choose from, if not empty; only where ``SurfaceCapabilities/takesModifiers``. Not for
    /// imports, whose memory has its modifier.
    public var modifiers: [UInt64]

    /// Describes surfaces.
    public init(
        width: Int,
        height: Int,
        renderTargetFormat: RTFormats = .yuv420,
        format: FourCC? = nil,
        modifiers: [UInt64] = []
    ) {
        self.width = width
        self.height = height
        self.renderTargetFormat = renderTargetFormat
        self.format = format
        self.modifiers = modifiers
    }

    /// The attributes of the request itself, without the modifiers, which are a pointer.
    fileprivate var attributes: [VASurfaceAttrib] {
        format.map { [.number(VASurfaceAttribPixelFormat, $0.rawValue)] } ?? []
    }
}

extension VASurfaceAttrib {
    static func number(_ type: VASurfaceAttribType, _ value: UInt32) -> VASurfaceAttrib {
        var attribute = VASurfaceAttrib()
        attribute.type = type
        attribute.flags = UInt32(VA_SURFACE_ATTRIB_SETTABLE)
        attribute.value.type = VAGenericValueTypeInteger
        attribute.value.value.i = Int32(bitPattern: value)
        return attribute
    }

    static func pointer(_ type: VASurfaceAttribType, _ pointer: UnsafeMutableRawPointer) -> VASurfaceAttrib {
        var attribute = VASurfaceAttrib()
        attribute.type = type
        attribute.flags = UInt32(VA_SURFACE_ATTRIB_SETTABLE)
        attribute.value.type = VAGenericValueTypePointer
        attribute.value.value.p = pointer
        return attribute
    }
}

// MARK: - Creation

extension Display {
    /// Makes surfaces in memory of the driver's (`vaCreateSurfaces`).
    ///
    /// - Throws: ``VAError`` if the driver refuses; there are none then.
    public func makeSurfaces(_ count: Int, _ request: SurfaceRequest) throws(VAError) -> [Surface] {
        if request.modifiers.isEmpty {
            return try createSurfaces(count, request, memory: [], memoryOwner: nil)
        }
        return try withModifierLists(request.modifiers, max(count, 1)) { (lists) throws(VAError) in
            let attribute = VASurfaceAttrib.pointer(VASurfaceAttribDRMFormatModifiers, lists)
            return try createSurfaces(count, request, memory: [attribute], memoryOwner: nil)
        }
    }

    /// Calls `vaCreateSurfaces` with attributes that describe memory, and wraps what comes.
    func createSurfaces(
        _ count: Int,
        _ request: SurfaceRequest,
        memory: [VASurfaceAttrib],
        memoryOwner: (any AnyObject & Sendable)?
    ) throws(VAError) -> [Surface] {
        guard count > 0 else { return [] }
        var attributes = request.attributes + memory
        var ids = [VASurfaceID](repeating: VA_INVALID_ID, count: count)
        try check(
            "vaCreateSurfaces",
            vaCreateSurfaces(
                connection.handle,
                request.renderTargetFormat.rawValue,
                UInt32(clamping: request.width),
                UInt32(clamping: request.height),
                &ids,
                UInt32(clamping: count),
                &attributes,
                UInt32(attributes.count)
            )
        )
        return ids.map { Surface(id: $0, connection, request, memoryOwner: memoryOwner) }
    }
}

/// Lends libva's form of a list of modifiers, which is there once for each surface, as va_drmcommon.h has it.
private func withModifierLists<Result>(
    _ modifiers: [UInt64],
    _ count: Int,
    _ body: (UnsafeMutableRawPointer) throws(VAError) -> Result
) throws(VAError) -> Result {
    let memory = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: modifiers.count)
    let lists = UnsafeMutablePointer<VADRMFormatModifierList>.allocate(capacity: count)
    defer {
        memory.deallocate()
        lists.deallocate()
    }
    _ = memory.initialize(from: modifiers)
    let list = VADRMFormatModifierList(num_modifiers: UInt32(modifiers.count), modifiers: memory.baseAddress)
    lists.initialize(repeating: list, count: count)
    return try body(lists)
}
