// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA
internal import Glibc

/// The layout of a surface in DMA-BUF memory (`VADRMPRIMESurfaceDescriptor`).
public struct DMABufLayout: Sendable, Hashable {
    /// A DMA-BUF.
    public struct Object: Sendable, Hashable {
        /// The file descriptor.
        public var descriptor: Int32
        /// The size of the whole DMA-BUF in bytes, which may exceed that of the surface.
        public var size: UInt32
        /// The DRM format modifier, which defines the arrangement of the samples; 0 is linear.
        public var modifier: UInt64

        /// Creates an object.
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
        /// The offset of the first row in bytes.
        public var offset: UInt32
        /// The distance between rows in bytes.
        public var pitch: UInt32

        /// Creates a plane.
        public init(object: UInt32, offset: UInt32, pitch: UInt32) {
            self.object = object
            self.offset = offset
            self.pitch = pitch
        }
    }

    /// A group of planes that DRM treats as one picture.
    public struct Layer: Sendable, Hashable {
        /// The DRM format: ``FourCC/nv12`` for all planes, ``FourCC/r8`` and ``FourCC/gr88`` for separate planes.
        public var format: FourCC
        /// The planes, at most 4.
        public var planes: [Plane]

        /// Creates a layer.
        public init(format: FourCC, planes: [Plane]) {
            self.format = format
            self.planes = planes
        }
    }

    /// The pixel format of the whole surface.
    public var format: FourCC
    /// The width in samples.
    public var width: Int
    /// The height in rows.
    public var height: Int
    /// The memory objects, 1 to 4.
    public var objects: [Object]
    /// The layers, 1 to 4.
    public var layers: [Layer]

    /// Creates a layout.
    public init(format: FourCC, width: Int, height: Int, objects: [Object], layers: [Layer]) {
        self.format = format
        self.width = width
        self.height = height
        self.objects = objects
        self.layers = layers
    }

    /// The capacity of the C structure for objects, layers and planes.
    private static let room = 4

    /// The C structure; nil if it cannot hold all objects, layers or planes.
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
    /// Creates a surface from DMA-BUF memory (`vaCreateSurfaces` with `VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2`).
    /// Nothing is copied. The driver takes what it needs from the descriptors: they stay the caller's, and may be
    /// closed.
    ///
    /// - Parameter layout: The memory. Modifier, pitch and alignment must be supported by the hardware.
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

    /// Creates a surface from memory of the process (`VA_SURFACE_ATTRIB_MEM_TYPE_USER_PTR`). Nothing is copied.
    ///
    /// - Parameters:
    ///   - memory: The memory. Drivers require that it starts at a page boundary and consists of whole pages.
    ///   - owner: Retained as long as the surface exists. The memory must stay valid until the owner is released.
    /// - Throws: ``VAError`` if the driver refuses; most do not support such memory, see
    ///   ``SurfaceCapabilities/memoryTypes``.
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

/// A picture in memory of the process (`VASurfaceAttribExternalBuffers`).
public struct UserMemory {
    /// The pixel format.
    public var format: FourCC
    /// The width in samples.
    public var width: Int
    /// The height in rows.
    public var height: Int
    /// The whole memory.
    public var bytes: UnsafeMutableRawBufferPointer
    /// The positions of the planes; at most 4.
    public var planes: [ImagePlane]

    /// Creates a description of a picture in memory.
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

/// A surface as DMA-BUF memory. It owns the file descriptors and closes them when it is released.
public struct ExportedSurface: ~Copyable, Sendable {
    /// The layout of the surface. Its descriptors are valid while this value exists.
    public let layout: DMABufLayout

    fileprivate init(_ layout: DMABufLayout) { self.layout = layout }

    deinit {
        for object in layout.objects { _ = Glibc.close(object.descriptor) }
    }
}

extension Surface {
    /// Exports the surface's memory as DMA-BUF (`vaExportSurfaceHandle`). The memory still belongs to the surface; this
    /// method does not wait for pictures that write to it.
    ///
    /// - Parameters:
    ///   - writable: Whether the importer may write.
    ///   - separateLayers: Whether each plane is a separate layer, instead of one layer with all planes.
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
