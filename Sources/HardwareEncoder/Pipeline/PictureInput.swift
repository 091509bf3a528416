// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import HardwareDisplay
internal import Logging
internal import MediaTypes
internal import VAAPI

/// A surface that contains a picture as long as this object exists.
final class InputSurface: Sendable {
    /// The surface.
    let surface: Surface
    /// The owner of the surface or of its memory.
    private let owner: any AnyObject & Sendable

    init(_ surface: Surface, _ owner: any AnyObject & Sendable) {
        self.surface = surface
        self.owner = owner
    }
}

/// Loads pictures into surfaces. Surfaces of the same display are used in place; DMA-BUFs and pages of pools are if the
/// driver accepts them; pictures in files are read into such pages, and all others are copied. Used on the submitting thread.
final class PictureInput {
    /// The number of copies of whole pictures: one if the driver provides access to a surface's own memory, two if it
    /// copies an image to the surface. Reading a file into pages does not count.
    private(set) var copies = 0

    private let display: Display
    private let request: SurfaceRequest
    private let pool: SurfacePool
    private let format: FourCC
    private var imports: ImportedSurfaces
    /// `nil` if the driver does not accept pages, or has refused some.
    private var pages: PageSurfaces?
    /// The pages for pictures in files.
    private var readPictures: PixelBufferPool?
    private let trial: PageTrial
    private var upload = UploadState()
    private var hasToldOfRefusal = false
    private let logger: Logger

    /// - Parameters:
    ///   - display: The display of the surfaces.
    ///   - request: The properties of the encoder's input surfaces.
    ///   - quirks: The known deviations of the driver from VA-API.
    ///   - takesPages: Whether the driver reports support for memory of the process.
    ///   - trial: Is informed when such memory is used.
    ///   - logger: Receives one message if a driver refuses memory that would not have needed a copy.
    init(
        _ display: borrowing Display,
        _ request: SurfaceRequest,
        quirks: Quirks,
        takesPages: Bool,
        trial: PageTrial,
        logger: Logger
    ) {
        self.display = display.share()
        self.request = request
        pool = SurfacePool(display.share(), request)
        format = request.format ?? .nv12
        imports = ImportedSurfaces(display.share(), request, quirks: quirks)
        pages = takesPages && trial.isAllowed ? PageSurfaces(display.share(), request) : nil
        self.trial = trial
        self.logger = logger
    }

    /// Returns a surface that contains a picture until the caller releases it.
    func surface(for buffer: PixelBuffer) throws(MediaError) -> InputSurface {
        guard case .dmaBuf(let memory) = buffer.storage else {
            if let surface = deviceSurface(buffer), isLargeEnough(surface) { return InputSurface(surface, buffer) }
            if let surface = pagesSurface(buffer) { return InputSurface(surface, buffer) }
            if case .file = buffer.storage, let surface = try surfaceOfFile(buffer) { return surface }
            return try copy(buffer)
        }
        switch try imports.surface(memory, buffer) {
        case .imported(let surface): return InputSurface(surface, buffer)
        case .refused(let error), .tooSmall(let error):
            guard buffer.isMapped else { throw error }
            if !hasToldOfRefusal {
                logger.notice("a DMA-BUF cannot be imported and is copied; others may be copied, too: \(error)")
            }
            hasToldOfRefusal = true
            return try copy(buffer)
        }
    }

    /// Returns the surface of a picture in a DMA-BUF, without a copy.
    ///
    /// - Throws: The driver's error, or `unsupported` if it cannot be imported.
    func importedSurface(for buffer: PixelBuffer) throws(MediaError) -> InputSurface {
        guard case .dmaBuf(let memory) = buffer.storage else {
            throw MediaError(.unsupported, "only DMA-BUFs are imported", given: buffer.storage.name)
        }
        switch try imports.surface(memory, buffer) {
        case .imported(let surface): return InputSurface(surface, buffer)
        case .refused(let error), .tooSmall(let error): throw error
        }
    }

    /// Whether a picture is in a DMA-BUF that can be imported for other uses than encoding: it has no room for whole
    /// blocks.
    func isTooSmall(_ buffer: PixelBuffer) throws(MediaError) -> Bool {
        guard case .dmaBuf(let memory) = buffer.storage else { return false }
        if case .tooSmall = try imports.surface(memory, buffer) { return true }
        return false
    }

    /// Whether a picture is in a surface of the display.
    func isOnDevice(_ buffer: PixelBuffer) -> Bool { deviceSurface(buffer) != nil }

    /// Whether such a surface is used in place.
    func isInPlace(_ buffer: PixelBuffer) -> Bool { deviceSurface(buffer).map(isLargeEnough) ?? false }

    private func deviceSurface(_ buffer: PixelBuffer) -> Surface? {
        guard case .deviceSurface(let picture) = buffer.storage else { return nil }
        return (picture as? any DisplaySurface)?.surface(on: display)
    }

    /// Whether a driver can read whole blocks of a surface.
    private func isLargeEnough(_ surface: Surface) -> Bool {
        surface.format == format && surface.width >= request.width && surface.height >= request.height
    }

    /// Returns the surface of pages that the driver accepts. After a refusal, it is not tried again, because all pages
    /// are alike.
    private func pagesSurface(_ buffer: PixelBuffer) -> Surface? {
        do throws(MediaError) {
            guard let surface = try pages?.surface(buffer) else { return nil }
            trial.noteUse()
            return surface
        } catch {
            logger.notice("pictures are copied because the driver cannot import their memory: \(error)")
            pages = nil
            return nil
        }
    }

    /// Returns the surface of a picture that is read from its file into pages. This takes less time than reading it and
    /// writing it to a surface, which bypasses the caches.
    ///
    /// - Returns: `nil` if the driver does not accept pages.
    private func surfaceOfFile(_ buffer: PixelBuffer) throws(MediaError) -> InputSurface? {
        guard pages != nil, buffer.format.lies(as: format) else { return nil }
        let picture = try pool(for: buffer).make()
        try picture.withPlanes { (planes) throws(MediaError) in try buffer.copySamples(to: planes) }
        return pagesSurface(picture).map { InputSurface($0, picture) }
    }

    private func pool(for buffer: PixelBuffer) throws(MediaError) -> PixelBufferPool {
        let wanted = PixelBuffer.Description(format: buffer.format, width: buffer.width, height: buffer.height)
        if let readPictures, readPictures.description == wanted { return readPictures }
        let pool = try PixelBufferPool(wanted)
        readPictures = pool
        return pool
    }

    private func copy(_ buffer: PixelBuffer) throws(MediaError) -> InputSurface {
        let pooled = try calling(.frameFailed) { () throws(VAError) in try pool.take() }
        let way = upload.way
        let copied = try calling(.frameFailed) { () throws(VAError) in
            try pooled.surface.withWritablePlanes(&upload) { target in
                Result { () throws(MediaError) in
                    try target.write(buffer, isForDevice: way == .derived)
                    target.extend(
                        width: buffer.width,
                        height: buffer.height,
                        columns: pooled.surface.width,
                        rows: pooled.surface.height
                    )
                }
            }
        }
        try copied.get()
        copies += upload.way?.copies ?? 0
        return InputSurface(pooled.surface, pooled)
    }
}

extension WritablePlanes {
    /// Copies a picture with the same chroma format and bit depth, and with the same or a smaller size.
    fileprivate func write(_ buffer: PixelBuffer, isForDevice: Bool) throws(MediaError) {
        guard let arrangement = format.arrangement, !buffer.format.lies(as: format) else {
            return try buffer.copySamples(to: pixelPlanes, isForDevice: isForDevice)
        }
        guard planes.count >= arrangement.planeCount, hasRoom(for: arrangement, buffer.width, buffer.height) else {
            throw MediaError(.frameFailed, "a surface is too small for the picture", given: "\(bytes.count) bytes")
        }
        let target = PictureComponents(arrangement, width: buffer.width, height: buffer.height, planes: pixelPlanes)
        try buffer.withPlanes { planes throws(MediaError) in
            PictureComponents(buffer.format.arrangement, width: buffer.width, height: buffer.height, planes: planes)
                .write(to: target)
        }
    }

    /// Repeats the last column and row of a picture up to the end of a surface of whole macroblocks. These samples are
    /// encoded, and decoders crop them. Otherwise, old memory contents would cost bits and might leak secrets.
    ///
    /// - Parameters:
    ///   - width: The width of the picture in samples, even.
    ///   - height: The height of the picture in rows, even.
    ///   - columns: The width of the surface in samples.
    ///   - rows: The height of the surface in rows.
    func extend(width: Int, height: Int, columns: Int, rows: Int) {
        guard columns > width || rows > height, width > 0, height > 0, let arrangement = format.arrangement,
            planes.count >= arrangement.planeCount, hasRoom(for: arrangement, columns, rows)
        else { return }
        let chroma = arrangement.chromaFormat
        let surface = PictureComponents(arrangement, width: columns, height: rows, planes: pixelPlanes)
        for (index, plane) in surface.planes.enumerated() {
            let usedColumns = index == 0 ? width : width / chroma.horizontalSubsampling
            let usedRows = index == 0 ? height : height / chroma.verticalSubsampling
            let (right, below) = (plane.width - usedColumns, plane.height - usedRows)
            if right > 0 {
                var last = plane.part(x: usedColumns - 1, y: 0, width: right, height: usedRows)
                last.step = 0
                last.write(
                    to: plane.part(x: usedColumns, y: 0, width: right, height: usedRows),
                    bitDepth: arrangement.bitDepth
                )
            }
            if below > 0 {
                var last = plane.part(x: 0, y: usedRows - 1, width: plane.width, height: below)
                last.bytesPerRow = 0
                last.write(
                    to: plane.part(x: 0, y: usedRows, width: plane.width, height: below),
                    bitDepth: arrangement.bitDepth
                )
            }
        }
    }

    /// Whether the memory contains all planes of a picture of that size.
    private func hasRoom(for arrangement: SampleArrangement, _ width: Int, _ height: Int) -> Bool {
        planes.prefix(arrangement.planeCount).enumerated().allSatisfy { index, plane in
            guard let extent = arrangement.extent(ofPlane: index, width: width, height: height), plane.offset >= 0
            else {
                return false
            }
            return plane.offset + (extent.rows - 1) * plane.pitch + extent.bytesPerRow <= bytes.count
        }
    }

    /// The planes in the representation of pixel buffers.
    fileprivate var pixelPlanes: [PixelPlane] {
        planes.compactMap { plane in
            bytes.baseAddress.map { PixelPlane(baseAddress: $0 + plane.offset, bytesPerRow: plane.pitch) }
        }
    }
}
