// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// One uncompressed picture: its samples, their colour description, and its attachments.
///
/// The samples are in this buffer's memory, the caller's memory, a memfd, a file, a DMA-BUF or a GPU surface; see
/// ``PixelStorage``. Write a buffer before passing it to a session and do not change it afterwards: the session and its
/// encoder read it on their own threads, and may read it again if an encoder fails. The memory returns to its pool or
/// owner when the last reference is released.
public final class PixelBuffer: Sendable {
    /// The maximum width and height in luma samples, beyond what any level of H.264 or HEVC allows.
    public static let maximumDimension = 32768

    /// The maximum row stride in bytes. C libraries store row lengths, and small multiples of them, as `int`.
    public static let maximumBytesPerRow = 1 << 24

    /// The pixel format.
    public let format: PixelFormat
    /// The width in luma samples.
    public let width: Int
    /// The height in luma samples.
    public let height: Int
    /// The colour description of the samples.
    public let color: ColorDescription
    /// The pixel aspect ratio (width to height); 1:1 for square pixels.
    public let pixelAspectRatio: Rational
    /// The storage of the samples.
    public let storage: PixelStorage

    private let planes: [PixelPlane]
    /// The memory, if it belongs to a pool.
    private let pages: PicturePages?
    /// Whether the padding around the picture in ``pages`` was filled.
    private let arePagesFilled = Mutex(false)
    /// The samples of a file, a DMA-BUF or a device surface, after the first access to them.
    private let fetched = Mutex<FetchedSamples?>(nil)
    private let lockedAttachments: Mutex<PixelAttachments>
    private let onRelease: @Sendable () -> Void

    /// The attachments: HDR metadata, captions, regions of interest.
    public var attachments: PixelAttachments {
        get { lockedAttachments.withLock { $0 } }
        set { lockedAttachments.withLock { $0 = newValue } }
    }

    private init(
        _ description: Description,
        storage: PixelStorage,
        planes: [PixelPlane],
        pages: PicturePages? = nil,
        onRelease: @escaping @Sendable () -> Void
    ) {
        format = description.format
        width = description.width
        height = description.height
        color = description.color
        pixelAspectRatio = description.pixelAspectRatio
        self.storage = storage
        self.planes = planes
        self.pages = pages
        lockedAttachments = Mutex(description.attachments)
        self.onRelease = onRelease
    }

    deinit { onRelease() }
}

// MARK: - Making buffers

extension PixelBuffer {
    /// The properties of a picture, without the location of its samples.
    public struct Description: Sendable, Hashable {
        /// The pixel format.
        public var format: PixelFormat
        /// The width in luma samples.
        public var width: Int
        /// The height in luma samples.
        public var height: Int
        /// The colour description of the samples.
        public var color: ColorDescription
        /// The pixel aspect ratio (width to height).
        public var pixelAspectRatio: Rational
        /// The attachments.
        public var attachments: PixelAttachments

        /// Makes a description of a picture.
        public init(
            format: PixelFormat,
            width: Int,
            height: Int,
            color: ColorDescription = .unspecified,
            pixelAspectRatio: Rational = .one,
            attachments: PixelAttachments = .init()
        ) {
            self.format = format
            self.width = width
            self.height = height
            self.color = color
            self.pixelAspectRatio = pixelAspectRatio
            self.attachments = attachments
        }
    }

    /// Makes a picture in new private memory with rows aligned to 64 bytes. Its samples are undefined.
    ///
    /// - Throws: `invalidArgument` for a size outside 1...``maximumDimension``, `outOfMemory`.
    public convenience init(_ description: Description) throws(MediaError) {
        let layout = try PackedLayout(
            format: description.format,
            width: description.width,
            height: description.height
        )
        let memory = try PixelMemory.allocate(.owned, byteCount: layout.byteCount)
        self.init(description, memory: memory, layout: layout, onRelease: {})
    }

    /// Makes a picture around the caller's memory, without a copy.
    ///
    /// - Parameters:
    ///   - description: The properties of the picture in the memory.
    ///   - planes: The planes of the format, each with rows at least as long as the format requires. The memory must
    ///     stay valid and unchanged until `release` is called.
    ///   - release: Called exactly once, on any thread, when nothing reads the memory any more. It is not called if
    ///     this initialiser throws.
    /// - Throws: `invalidArgument` for a wrong size, number of planes or row length, or for an odd address if samples
    ///   have 2 bytes.
    public convenience init(
        _ description: Description,
        planes: [PixelPlane],
        release: @escaping @Sendable () -> Void
    ) throws(MediaError) {
        try Self.check(description, rows: planes.map(\.bytesPerRow))
        let bytesPerSample = description.format.bytesPerSample
        if let odd = planes.first(where: { Int(bitPattern: $0.baseAddress) % bytesPerSample != 0 }) {
            throw MediaError(
                .invalidArgument,
                "a plane of \(description.format.rawValue) is not aligned to its sample size",
                given: "\(odd.baseAddress)",
                allowed: "a multiple of \(bytesPerSample)"
            )
        }
        self.init(description, storage: .external, planes: planes, onRelease: release)
    }

    /// Makes a picture with samples in a file. The file is read when the samples are needed.
    ///
    /// - Parameters:
    ///   - description: The properties of the picture in the file.
    ///   - file: The file and the layout of the planes in it.
    ///   - release: Called exactly once, on any thread, when the file is no longer read for this picture. It is not
    ///     called if this initialiser throws.
    /// - Throws: `invalidArgument` for a wrong size, number of planes, row length or offset.
    public convenience init(
        _ description: Description,
        file: FilePicture,
        release: @escaping @Sendable () -> Void
    ) throws(MediaError) {
        try Self.check(description, rows: file.planes.map(\.bytesPerRow))
        if let plane = file.planes.first(where: { !(0...Self.lastOffset).contains($0.offset) }) {
            throw MediaError(
                .invalidArgument,
                "the offset of a plane is out of range",
                given: "offset \(plane.offset)",
                allowed: "0...\(Self.lastOffset)"
            )
        }
        self.init(description, storage: .file(file), planes: [], onRelease: release)
    }

    /// Makes a picture in DMA-BUF memory, without a copy.
    ///
    /// - Parameters:
    ///   - description: The properties of the picture in the memory.
    ///   - dmaBuf: The memory and the layout of the planes in it.
    ///   - release: Called exactly once, on any thread, when nothing reads the memory any more. It is not called if
    ///     this initialiser throws.
    /// - Throws: `invalidArgument` for a wrong size, number of planes, row length or offset, or if a plane refers to an
    ///   object that does not exist.
    public convenience init(
        _ description: Description,
        dmaBuf: DMABuffer,
        release: @escaping @Sendable () -> Void
    ) throws(MediaError) {
        try Self.check(description, rows: dmaBuf.planes.map(\.layout.bytesPerRow))
        for plane in dmaBuf.planes
        where !dmaBuf.fileDescriptors.indices.contains(plane.object)
            || !(0...Self.lastOffset).contains(plane.layout.offset)
        {
            throw MediaError(
                .invalidArgument,
                "the DMA-BUF or the offset of a plane is out of range",
                given: "object \(plane.object), offset \(plane.layout.offset)",
                allowed: "\(dmaBuf.fileDescriptors.count) objects, offsets from 0"
            )
        }
        self.init(description, storage: .dmaBuf(dmaBuf), planes: [], onRelease: release)
    }

    /// Makes a picture in a surface of a device.
    ///
    /// - Parameters:
    ///   - description: The properties of the picture in the surface.
    ///   - surface: The surface, which the buffer keeps.
    ///   - release: Called exactly once, on any thread, when the buffer no longer uses the surface. It is not called if
    ///     this initialiser throws.
    /// - Throws: `invalidArgument` for a size outside 1...``maximumDimension``.
    public convenience init(
        _ description: Description,
        surface: any DeviceSurface,
        release: @escaping @Sendable () -> Void = {}
    ) throws(MediaError) {
        try Self.check(description, rows: nil)
        self.init(description, storage: .deviceSurface(surface), planes: [], onRelease: release)
    }

    /// Makes a picture in shared memory that is mapped already, without a copy.
    ///
    /// - Parameters:
    ///   - description: The properties of the picture in the memory.
    ///   - memory: The memory and the layout of the planes in it.
    ///   - base: The address at which the whole memory is mapped, readable and writable.
    ///   - release: Called exactly once, on any thread, when nothing uses the memory any more. It is not called if this
    ///     initialiser throws.
    /// - Throws: `invalidArgument` for a wrong size, number of planes or row length.
    package convenience init(
        _ description: Description,
        sharedMemory memory: SharedMemory,
        at base: UnsafeMutableRawPointer,
        release: @escaping @Sendable () -> Void
    ) throws(MediaError) {
        try Self.check(description, rows: memory.planes.map(\.bytesPerRow))
        let planes = memory.planes.map { PixelPlane(baseAddress: base + $0.offset, bytesPerRow: $0.bytesPerRow) }
        self.init(description, storage: .sharedMemory(memory), planes: planes, onRelease: release)
    }

    /// Makes a picture with the samples of another one and with another pixel aspect ratio.
    package convenience init(sharing other: PixelBuffer, pixelAspectRatio: Rational) {
        var description = other.pictureDescription
        description.pixelAspectRatio = pixelAspectRatio
        self.init(description, storage: other.storage, planes: other.planes, pages: other.pages) {
            withExtendedLifetime(other) {}
        }
    }

    convenience init(
        _ description: Description,
        memory: PixelMemory,
        layout: PackedLayout,
        pages: PicturePages? = nil,
        onRelease: @escaping @Sendable () -> Void
    ) {
        let planes = layout.planes.map { PixelPlane(baseAddress: memory.base + $0.offset, bytesPerRow: $0.bytesPerRow) }
        let storage: PixelStorage =
            memory.fileDescriptor < 0
            ? .owned
            : .sharedMemory(
                SharedMemory(
                    fileDescriptor: memory.fileDescriptor,
                    byteCount: memory.byteCount,
                    planes: layout.planes
                )
            )
        self.init(description, storage: storage, planes: planes, pages: pages) { [memory] in
            withExtendedLifetime(memory) { onRelease() }
        }
    }

    private static func check(_ description: Description, rows: [Int]?) throws(MediaError) {
        let format = description.format
        guard format.planeExtent(0, width: description.width, height: description.height) != nil else {
            throw sizeError(width: description.width, height: description.height)
        }
        guard let rows else { return }
        guard rows.count == format.planeCount else {
            throw MediaError(
                .invalidArgument,
                "wrong number of planes for \(format.rawValue)",
                given: "\(rows.count)",
                allowed: "\(format.planeCount)"
            )
        }
        for (plane, bytesPerRow) in rows.enumerated() {
            let extent = format.planeExtent(plane, width: description.width, height: description.height)
            let shortest = extent?.bytesPerRow ?? 1
            guard (shortest...maximumBytesPerRow).contains(bytesPerRow), bytesPerRow % format.bytesPerSample == 0 else {
                throw MediaError(
                    .invalidArgument,
                    "the rows of plane \(plane) have a wrong length",
                    given: "\(bytesPerRow) bytes",
                    allowed: "multiples of \(format.bytesPerSample) from \(shortest) to \(maximumBytesPerRow)"
                )
            }
        }
    }

    /// The maximum offset of a plane, so that no sum with its size overflows.
    private static let lastOffset = Int.max / 2

    static func sizeError(width: Int, height: Int) -> MediaError {
        MediaError(
            .invalidArgument,
            "picture size is out of range",
            given: "\(width)x\(height)",
            allowed: "1x1 to \(maximumDimension)x\(maximumDimension)"
        )
    }
}

// MARK: - Access

extension PixelBuffer {
    /// The properties of the picture, without the location of its samples.
    public var pictureDescription: Description {
        Description(
            format: format,
            width: width,
            height: height,
            color: color,
            pixelAspectRatio: pixelAspectRatio,
            attachments: attachments
        )
    }

    /// The used bytes of a row and the number of rows of each plane, in the order of the planes.
    public var planeExtents: [PlaneExtent] {
        (0..<format.planeCount).compactMap { format.planeExtent($0, width: width, height: height) }
    }

    /// Whether the CPU can access the samples, which is not possible for non-linear DMA-BUFs and some device surfaces.
    public var isMapped: Bool {
        switch storage {
        case .owned, .external, .sharedMemory, .file: true
        case .dmaBuf(let buffer): buffer.isLinear
        case .deviceSurface(let surface): surface.isReadable
        }
    }

    /// Calls `body` with the planes of the picture; the pointers are valid only inside `body`.
    ///
    /// A picture in a file or a device surface is copied to the buffer's memory on the first call; a DMA-BUF is mapped.
    /// All of them can only be read.
    ///
    /// - Throws: `unsupported` unless ``isMapped``; `inputOutput` or `outOfMemory` if the file or DMA-BUF cannot be
    ///   read; the error of the device; any error of `body`.
    public func withPlanes<Result>(
        _ body: ([PixelPlane]) throws(MediaError) -> Result
    ) throws(MediaError) -> Result {
        guard isMapped else {
            throw MediaError(.unsupported, "the CPU cannot access the samples of this picture", given: storage.name)
        }
        if !planes.isEmpty { return try body(planes) }
        let samples = try fetched.withLock { (fetched) throws(MediaError) -> FetchedSamples in
            if let samples = fetched { return samples }
            let samples = try FetchedSamples(self)
            fetched = samples
            return samples
        }
        try samples.beginReading()
        defer { samples.endReading() }
        return try body(samples.planes)
    }

    /// Returns the memory of a pool's buffer, for a device to read; `nil` for all other buffers.
    ///
    /// - Parameter fill: Fills the padding around the picture, from the picture's samples only. It is called once,
    ///   before the memory is first returned.
    package func pages(filledBy fill: (PicturePages) -> Void) -> PicturePages? {
        guard let pages else { return nil }
        arePagesFilled.withLock { isFilled in
            if !isFilled { fill(pages) }
            isFilled = true
        }
        return pages
    }

    /// Copies the samples into planes of the same format and size.
    ///
    /// - Parameters:
    ///   - target: The destination planes, with rows at least as long as the format requires.
    ///   - isForDevice: Whether a device reads the samples next, and not the CPU, so that they need not be in its
    ///     caches.
    /// - Throws: As ``withPlanes(_:)``.
    public func copySamples(to target: [PixelPlane], isForDevice: Bool = false) throws(MediaError) {
        guard target.count == format.planeCount else {
            throw MediaError(.invalidArgument, "wrong number of planes", given: "\(target.count)")
        }
        if case .file(let file) = storage {
            return try file.read(into: target, format: format, width: width, height: height, isForDevice: isForDevice)
        }
        try withPlanes { planes in
            for ((source, target), extent) in zip(zip(planes, target), planeExtents) {
                target.copyRows(of: source, extent, isForDevice: isForDevice)
            }
        }
    }
}

// MARK: - Export

extension PixelBuffer {
    /// Returns the picture as DMA-BUF, for Vulkan, OpenGL, a compositor or another process, without a copy. A picture in
    /// DMA-BUF memory returns itself.
    ///
    /// The picture must be complete, as every decoded one is. Only read the memory: the decoder may still predict other
    /// pictures from it. The returned buffer owns the descriptors, which are closed when it is released; import or
    /// duplicate them before that. Keep the buffer as long as anything reads the memory, because the decoder does not
    /// reuse the surface meanwhile; it counts as one of the session's `devicePictureLimit` pictures as long as this buffer
    /// or the returned one exists. The memory itself outlives its decoder and the decoder's process.
    ///
    /// Drivers may state a wrong layout. Therefore, the first export of a decoder takes longer: a test card in a surface
    /// like those of the decoder is exported, imported by its stated layout into another context of the driver, and
    /// compared. Without that proof, no picture is exported. ``DMABuffer/modifier`` is often that of a tiled layout, which
    /// the CPU cannot read: use ``withPlanes(_:)`` of this buffer for that.
    ///
    /// - Throws: `unsupported` for a picture that is not on a device, and for a driver that cannot export or did not pass
    ///   the test, with the reason; the error of the device or its process, also if that process was lost. The samples can
    ///   then still be read with ``withPlanes(_:)``, as far as this is possible without the export.
    public func exportDMABuf() throws(MediaError) -> PixelBuffer {
        switch storage {
        case .dmaBuf: return self
        case .deviceSurface(let surface):
            let exported = try surface.export(pictureDescription)
            guard case .dmaBuf(let buffer) = exported.storage else {
                throw MediaError(
                    .malformedData,
                    "a device exported something else than a DMA-BUF",
                    given: exported.storage.name
                )
            }
            return try PixelBuffer(pictureDescription, dmaBuf: buffer) { withExtendedLifetime((self, exported)) {} }
        case .owned, .external, .sharedMemory, .file:
            throw MediaError(
                .unsupported,
                "only a picture on a device can be exported as DMA-BUF",
                given: storage.name,
                allowed: "device surface, DMA-BUF"
            )
        }
    }
}
