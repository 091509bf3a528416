// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA
internal import Glibc

/// Where a surface lies in DMA-BUF memory (`VADRMPRIMESurfaceDescriptor`).
public struct DMABufLayout: Sendable, Hashable {
    /// A DMA-BUF.
    public struct Object: Sendable, Hashable {
        /// Its descriptor.
        public var descriptor: Int32
        /// Its whole size in bytes; it may hold more than the surface.
        public var size: UInt32
        /// The DRM format modifier: how the samples are arranged; 0 is row by row.
        public var modifier: UInt64

        /// Describes a DMA-BUF.
        public init(descriptor: Int32, size: UInt32, modifier: UInt64) {
            self.descriptor = descriptor
            self.size = size
            self.modifier = modifier
        }
    }

    /// A plane of samples.
    public struct Plane: Sendable, Hashable {
        /// The index of its object.
        public var object: UInt32
        /// Where it begins, in bytes.
        public var offset: UInt32
        /// From a row to the next one, in bytes.
        public var pitch: UInt32

        /// Describes a plane.
        public init(object: UInt32, offset: UInt32, pitch: UInt32) {
            self.object = object
            self.offset = offset
            self.pitch = pitch
        }
    }

    /// Planes that DRM takes for one picture.
    public struct Layer: Sendable, Hashable {
        /// DRM's format: ``FourCC/nv12`` for all of it, ``FourCC/r8`` and ``FourCC/gr88`` for its planes.
        public var format: FourCC
        /// The planes, at most 4.
        public var planes: [Plane]

        /// Describes a layer.
        public init(format: FourCC, planes: [Plane]) {
            self.format = format
            self.planes = planes
        }
    }

    /// The pixel format of the whole surface.
    public var format: FourCC
    /// Samples in a row.
    public var width: Int
    /// Rows.
    public var height: Int
    /// The memory, 1 to 4 objects.
    public var objects: [Object]
    /// The layers, 1 to 4.
    public var layers: [Layer]

    /// Describes a surface in DMA-BUF memory.
    public init(format: FourCC, width: Int, height: Int, objects: [Object], layers: [Layer]) {
        self.format = format
        self.width = width
        self.height = height
        self.objects = objects
        self.layers = layers
    }

    /// How many objects, layers and planes the C structure has room for.
    private static let room = 4

    /// The C structure; nil when it has no room for all objects, layers or planes.
    fileprivate var descriptor: VADRMPRIMESurfaceDescriptor? {
        let counts = [objects.count, layers.count] + layers.map(\.planes.count)
        guard counts.allSatisfy({ $0 <= Self.room }) else { return nil }
        var surface = VADRMPRIMESurfaceDescriptor()
        surface.fourcc = format.rawValue
        surface.width = UInt32(clamping: width)
        surface.height = UInt32(clamping: height)
        surface.num_objects = UInt32(objects.count)
        surface.num_layers = UInt32(layers.count)
        for (number, object) in objects.enumerated() {
            let value = clibva_prime_object(fd: object.descriptor, size: object.size, modifier: object.modifier)
            clibva_set_prime_object(&surface, number, value)
        }
        for (number, layer) in layers.enumerated() {
            clibva_set_prime_layer(&surface, number, layer.format.rawValue, UInt32(layer.planes.count))
            for (place, plane) in layer.planes.enumerated() {
                let value = clibva_prime_plane(object: plane.object, offset: plane.offset, pitch: plane.pitch)
                clibva_set_prime_plane(&surface, number, place, value)
            }
        }
        return surface
    }

    fileprivate init(_ descriptor: VADRMPRIMESurfaceDescriptor) {
        var surface = descriptor
        let objects = (0..<min(Int(surface.num_objects), Self.room)).map { number in
            let object = clibva_get_prime_object(&surface, number)
            return Object(descriptor: object.fd, size: object.size, modifier: object.modifier)
        }
        let layers = (0..<min(Int(surface.num_layers), Self.room)).map { number in
            let count = Int(clibva_get_prime_plane_count(&surface, number))
            let planes = (0..<min(count, Self.room)).map { place in
                let plane = clibva_get_prime_plane(&surface, number, place)
                return Plane(object: plane.object, offset: plane.offset, pitch: plane.pitch)
            }
            return Layer(format: FourCC(rawValue: clibva_get_prime_format(&surface, number)), planes: planes)
        }
        self.init(
            format: FourCC(rawValue: surface.fourcc),
            width: Int(surface.width),
            height: Int(surface.height),
            objects: objects,
            layers: layers
        )
    }
}

// MARK: - Import

extension Display {
    /// Makes a surface of DMA-BUF memory (`vaCreateSurfaces` with `VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2`). Nothing is
    /// copied. The driver takes what it needs from the descriptors: they stay the caller's, and may be closed.
    ///
    /// - Parameter layout: The memory. Drivers take what their hardware reads: mind modifier, pitch and alignment.
    /// - Throws: ``VAError`` if the driver refuses.
    public func importSurface(
        _ layout: DMABufLayout,
        renderTargetFormat: RTFormats = .yuv420
    ) throws(VAError) -> Surface {
        guard var descriptor = layout.descriptor else {
            throw VAError(
                call: "vaCreateSurfaces",
                status: .init(rawValue: VA_STATUS_ERROR_INVALID_PARAMETER),
                text: "more than 4 objects, layers or planes"
            )
        }
        let request = SurfaceRequest(
            width: layout.width,
            height: layout.height,
            renderTargetFormat: renderTargetFormat,
            format: layout.format
        )
        return try withUnsafeMutablePointer(to: &descriptor) { (descriptor) throws(VAError) in
            try importSurface(request, .prime2, descriptor, memoryOwner: nil)
        }
    }

    /// Makes a surface of the process's own memory (`VA_SURFACE_ATTRIB_MEM_TYPE_USER_PTR`). Nothing is copied.
    ///
    /// - Parameters:
    ///   - memory: The memory. Drivers want it to begin at a page and to fill pages.
    ///   - owner: Kept as long as the surface lives. The memory has to stay until it is let go.
    /// - Throws: ``VAError`` if the driver refuses; most know no such memory, see ``SurfaceCapabilities/memoryTypes``.
    public func importSurface(
        _ memory: UserMemory,
        owner: any AnyObject & Sendable,
        renderTargetFormat: RTFormats = .yuv420
    ) throws(VAError) -> Surface {
        let request = SurfaceRequest(
            width: memory.width,
            height: memory.height,
            renderTargetFormat: renderTargetFormat,
            format: memory.format
        )
        var address = UInt(bitPattern: memory.bytes.baseAddress)
        return try withUnsafeMutablePointer(to: &address) { (address) throws(VAError) in
            var description = memory.description
            description.buffers = address
            description.num_buffers = 1
            return try withUnsafeMutablePointer(to: &description) { (description) throws(VAError) in
                try importSurface(request, .userPointer, description, memoryOwner: owner)
            }
        }
    }

    private func importSurface(
        _ request: SurfaceRequest,
        _ type: SurfaceMemoryTypes,
        _ descriptor: UnsafeMutableRawPointer,
        memoryOwner: (any AnyObject & Sendable)?
    ) throws(VAError) -> Surface {
        let memory = [
            VASurfaceAttrib.number(VASurfaceAttribMemoryType, type.rawValue),
            VASurfaceAttrib.pointer(VASurfaceAttribExternalBufferDescriptor, descriptor),
        ]
        return try createSurfaces(1, request, memory: memory, memoryOwner: memoryOwner)[0]
    }
}

/// A picture in the process's own memory (`VASurfaceAttribExternalBuffers`).
public struct UserMemory {
    /// The pixel format.
    public var format: FourCC
    /// Samples in a row.
    public var width: Int
    /// Rows.
    public var height: Int
    /// All of the memory.
    public var bytes: UnsafeMutableRawBufferPointer
    /// Where the planes begin, and from row to row, in bytes; at most 4 planes.
    public var planes: [ImagePlane]

    /// Describes a picture in memory.
    public init(
        format: FourCC,
        width: Int,
        height: Int,
        bytes: UnsafeMutableRawBufferPointer,
        planes: [ImagePlane]
    ) {
        self.format = format
        self.width = width
        self.height = height
        self.bytes = bytes
        self.planes = planes
    }

    fileprivate var description: VASurfaceAttribExternalBuffers {
        var description = VASurfaceAttribExternalBuffers()
        let planes = planes.prefix(4)
        description.pixel_format = format.rawValue
        description.width = UInt32(clamping: width)
        description.height = UInt32(clamping: height)
        description.data_size = UInt32(clamping: bytes.count)
        description.num_planes = UInt32(planes.count)
        func set(_ array: inout (UInt32, UInt32, UInt32, UInt32), _ value: (ImagePlane) -> Int) {
            withUnsafeMutableBytes(of: &array) { bytes in
                for (number, plane) in planes.enumerated() {
                    let offset = number * MemoryLayout<UInt32>.stride
                    bytes.storeBytes(of: UInt32(clamping: value(plane)), toByteOffset: offset, as: UInt32.self)
                }
            }
        }
        set(&description.offsets, \.offset)
        set(&description.pitches, \.pitch)
        return description
    }
}

// MARK: - Export

/// A surface as DMA-BUF memory. Owns the descriptors and closes them at the end of its life.
public struct ExportedSurface: ~Copyable, Sendable {
    /// Where the surface lies. The descriptors in it are valid while this value lives.
    public let layout: DMABufLayout

    fileprivate init(_ layout: DMABufLayout) { self.layout = layout }

    deinit {
        for object in layout.objects { _ = Glibc.close(object.descriptor) }
    }
}

extension Surface {
    /// Gives the surface's memory out as DMA-BUF (`vaExportSurfaceHandle`). It stays the surface's memory; nothing waits
    /// for pictures that write to it.
    ///
    /// - Parameters:
    ///   - writable: Whether the taker may write.
    ///   - separateLayers: Whether each plane is a layer of its own, instead of one layer of all planes.
    /// - Throws: ``VAError`` if the driver refuses.
    public func export(writable: Bool, separateLayers: Bool = false) throws(VAError) -> ExportedSurface {
        var descriptor = VADRMPRIMESurfaceDescriptor()
        let access = writable ? VA_EXPORT_SURFACE_READ_WRITE : VA_EXPORT_SURFACE_READ_ONLY
        let layers = separateLayers ? VA_EXPORT_SURFACE_SEPARATE_LAYERS : VA_EXPORT_SURFACE_COMPOSED_LAYERS
        try check(
            "vaExportSurfaceHandle",
            vaExportSurfaceHandle(
                connection.handle,
                id,
                SurfaceMemoryTypes.prime2.rawValue,
                UInt32(access | layers),
                &descriptor
            )
        )
        return ExportedSurface(DMABufLayout(descriptor))
    }
}
