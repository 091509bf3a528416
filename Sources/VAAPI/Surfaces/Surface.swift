// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

/// A picture in device memory (`VASurfaceID`), which an encoder reads or reconstructs into.
///
/// Unlike the other handles, a surface can have several owners at a time: the code that fills it, a context that has it
/// as a render target, and a picture in progress that is encoded from it. It is destroyed when the last owner releases
/// it.
public final class Surface: Sendable {
    /// The libva ID of the surface, which parameter structures refer to.
    public let id: UInt32
    /// The requested width in samples.
    public let width: Int
    /// The requested height in rows.
    public let height: Int
    /// The requested pixel format; nil if the driver chose it.
    public let format: FourCC?

    let connection: DisplayConnection
    /// The owner of the memory, if it is not the driver's, or of the surface, if it is not this object.
    private let memoryOwner: (any AnyObject & Sendable)?
    /// Whether this object destroys the surface.
    private let isOwned: Bool

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
        isOwned = true
    }

    /// Wraps a surface that another library has created on a display.
    ///
    /// - Parameters:
    ///   - id: The libva ID.
    ///   - display: Its display, which stays open as long as this object exists.
    ///   - width: The width in samples.
    ///   - height: The height in rows.
    ///   - format: The pixel format.
    ///   - owner: Keeps the surface in existence.
    package init(
        borrowing id: UInt32,
        of display: borrowing Display,
        width: Int,
        height: Int,
        format: FourCC,
        owner: any AnyObject & Sendable
    ) {
        self.id = id
        self.width = width
        self.height = height
        self.format = format
        connection = display.connection
        memoryOwner = owner
        isOwned = false
    }

    deinit {
        guard isOwned else { return }
        connection.report { () throws(VAError) in
            var id = id
            try check("vaDestroySurfaces", vaDestroySurfaces(connection.handle, &id, 1))
        }
    }

    /// Waits until all reads and writes of the surface are complete (`vaSyncSurface2`, `vaSyncSurface`).
    ///
    /// - Parameter timeout: The time limit; nil for none. Drivers without `vaSyncSurface2` always wait without a limit.
    /// - Returns: Whether the surface is idle.
    public func wait(atMost timeout: Duration? = nil) throws(VAError) -> Bool {
        try connection.wait(forSurface: id, atMost: timeout)
    }

    /// Returns the current status of the surface (`vaQuerySurfaceStatus`).
    public func status() throws(VAError) -> SurfaceStatus {
        var status = VASurfaceStatus(rawValue: 0)
        try check("vaQuerySurfaceStatus", vaQuerySurfaceStatus(connection.handle, id, &status))
        return SurfaceStatus(rawValue: status.rawValue)
    }
}

/// The status of a surface (`VASurfaceStatus`).
public struct SurfaceStatus: OptionSet, Sendable, Hashable {
    /// The bits, as in `va.h`.
    public let rawValue: UInt32

    /// Wraps bits from `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A picture in progress uses the surface.
    public static let rendering = Self(rawValue: VASurfaceRendering.rawValue)
    /// The surface is displayed.
    public static let displaying = Self(rawValue: VASurfaceDisplaying.rawValue)
    /// The surface is idle.
    public static let ready = Self(rawValue: VASurfaceReady.rawValue)
    /// The encoder has skipped the picture.
    public static let skipped = Self(rawValue: VASurfaceSkipped.rawValue)
}

/// The properties of surfaces to create.
public struct SurfaceRequest: Sendable, Hashable {
    /// The width in samples.
    public var width: Int
    /// The height in rows.
    public var height: Int
    /// The render target format, as in configs; exactly one.
    public var renderTargetFormat: RTFormats
    /// The pixel format, one of ``SurfaceCapabilities/formats``; nil leaves the choice to the driver.
    public var format: FourCC?
    /// The DRM format modifiers to choose from, unless empty. They require ``SurfaceCapabilities/takesModifiers`` and
    /// do not apply to imports, whose memory already has a modifier.
    public var modifiers: [UInt64]

    /// Creates a request.
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

    /// The attributes of the request, without the modifiers, which require a pointer.
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
    /// Creates surfaces in driver memory (`vaCreateSurfaces`).
    ///
    /// - Throws: ``VAError`` if the driver refuses; no surface is then created.
    public func makeSurfaces(_ count: Int, _ request: SurfaceRequest) throws(VAError) -> [Surface] {
        if request.modifiers.isEmpty {
            return try createSurfaces(count, request, memory: [], memoryOwner: nil)
        }
        return try withModifierLists(request.modifiers, max(count, 1)) { (lists) throws(VAError) in
            let attribute = VASurfaceAttrib.pointer(VASurfaceAttribDRMFormatModifiers, lists)
            return try createSurfaces(count, request, memory: [attribute], memoryOwner: nil)
        }
    }

    /// Calls `vaCreateSurfaces` with attributes that describe memory, and wraps the surfaces.
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

/// Calls a closure with libva's form of a list of modifiers, which contains the list once per surface (va_drmcommon.h).
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
