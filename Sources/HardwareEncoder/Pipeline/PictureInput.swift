// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import Logging
internal import MediaTypes
internal import VAAPI

/// A surface that holds a picture as long as this lives.
final class InputSurface: Sendable {
    /// The surface.
    let surface: Surface
    /// What the surface belongs to, or what its memory does.
    private let owner: any AnyObject & Sendable

    init(_ surface: Surface, _ owner: any AnyObject & Sendable) {
        self.surface = surface
        self.owner = owner
    }
}

/// Brings pictures into surfaces: DMA-BUFs and pages of pools as they are, if the driver takes them, pictures in files by
/// reading them into such pages, everything else by a copy. Used on the thread that submits.
final class PictureInput {
    /// How often pictures were copied as a whole: once where the driver gives out a surface's own memory, twice where the
    /// copy goes to an image and the driver brings it into the surface. Reading a file into pages is none.
    private(set) var copies = 0

    private let pool: SurfacePool
    private let format: FourCC
    private var imports: ImportedSurfaces
    /// `nil` if the driver takes no pages, or has refused some.
    private var pages: PageSurfaces?
    /// Pages for pictures that are in files.
    private var readPictures: PixelBufferPool?
    private let trial: PageTrial
    private var upload = UploadState()
    private var hasToldOfRefusal = false
    private let logger: Logger

    /// - Parameters:
    ///   - display: Where the surfaces are.
    ///   - request: Surfaces that the encoder reads from.
    ///   - quirks: What the driver does otherwise than VA-API says.
    ///   - takesPages: Whether the driver says that it takes memory of the process.
    ///   - trial: Is told when that is made use of.
    ///   - logger: Is told once if a driver does not take memory that need not have been copied.
    init(
        _ display: borrowing Display,
        _ request: SurfaceRequest,
        quirks: Quirks,
        takesPages: Bool,
        trial: PageTrial,
        logger: Logger
    ) {
        pool = SurfacePool(display.share(), request)
        format = request.format ?? .nv12
        imports = ImportedSurfaces(display.share(), request, quirks: quirks)
        pages = takesPages && trial.isAllowed ? PageSurfaces(display.share(), request) : nil
        self.trial = trial
        self.logger = logger
    }

    /// The surface that holds a picture, from now on until the caller lets go of it.
    func surface(for buffer: PixelBuffer) throws(MediaError) -> InputSurface {
        guard case .dmaBuf(let memory) = buffer.storage else {
            if let surface = pagesSurface(buffer) { return InputSurface(surface, buffer) }
            if case .file = buffer.storage, let surface = try surfaceOfFile(buffer) { return surface }
            return try copy(buffer)
        }
        switch try imports.surface(memory, buffer) {
        case .imported(let surface): return InputSurface(surface, buffer)
        case .refused(let error):
            guard buffer.isMapped else { throw error }
            if !hasToldOfRefusal {
                logger.notice("a DMA-BUF cannot be imported and is copied; others may be, too: \(error)")
            }
            hasToldOfRefusal = true
            return try copy(buffer)
        }
    }

    /// The surface of pages that the driver has taken. After a refusal it is not asked again, for pages are all alike.
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

    /// A picture that is read from its file into pages. That takes less than to read it and to write it past the caches
    /// into a surface.
    ///
    /// - Returns: `nil` if the driver takes no pages.
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
    /// Copies a picture of the same chroma format and depth, and of the same size or smaller.
    fileprivate func write(_ buffer: PixelBuffer, isForDevice: Bool) throws(MediaError) {
        guard let arrangement = format.arrangement, !buffer.format.lies(as: format) else {
            return try buffer.copySamples(to: pixelPlanes, isForDevice: isForDevice)
        }
        guard planes.count >= arrangement.planeCount, hasRoom(for: arrangement, buffer.width, buffer.height) else {
            throw MediaError(.frameFailed, "a surface has no room for the picture", given: "\(bytes.count) bytes")
        }
        let target = PictureComponents(arrangement, width: buffer.width, height: buffer.height, planes: pixelPlanes)
        try buffer.withPlanes { planes throws(MediaError) in
            PictureComponents(buffer.format.arrangement, width: buffer.width, height: buffer.height, planes: planes)
                .write(to: target)
        }
    }

    /// Repeats the last column and the last row of a picture up to the end of a surface of whole macroblocks. What lies
    /// there is coded, and cut off by decoders: left alone it would be old memory, which costs bits and may tell secrets.
    ///
    /// - Parameters:
    ///   - width: Samples in a row of the picture, even.
    ///   - height: Rows of the picture, even.
    ///   - columns: Samples in a row of the surface.
    ///   - rows: Rows of the surface.
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

    /// Whether the memory has all planes of a picture of that size.
    private func hasRoom(for arrangement: SampleArrangement, _ width: Int, _ height: Int) -> Bool {
        planes.prefix(arrangement.planeCount).enumerated().allSatisfy { index, plane in
            guard let extent = arrangement.extent(ofPlane: index, width: width, height: height), plane.offset >= 0
            else {
                return false
            }
            return plane.offset + (extent.rows - 1) * plane.pitch + extent.bytesPerRow <= bytes.count
        }
    }

    /// The planes as pixel buffers have them.
    fileprivate var pixelPlanes: [PixelPlane] {
        planes.compactMap { plane in
            bytes.baseAddress.map { PixelPlane(baseAddress: $0 + plane.offset, bytesPerRow: plane.pitch) }
        }
    }
}
