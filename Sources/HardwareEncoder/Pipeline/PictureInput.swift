// SPDX-License-Identifier: GPL-2.0-or-later

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
        imports = ImportedSurfaces(display.share(), request, needsEvenPlanes: quirks.importsEvenPlanesOnly)
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
            if !hasToldOfRefusal { logger.notice("a DMA-BUF is copied, as others may be, and not imported: \(error)") }
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
            logger.notice("pictures are copied, for the driver does not take their memory: \(error)")
            pages = nil
            return nil
        }
    }

    /// A picture that is read from its file into pages. That takes less than to read it and to write it past the caches
    /// into a surface.
    ///
    /// - Returns: `nil` if the driver takes no pages.
    private func surfaceOfFile(_ buffer: PixelBuffer) throws(MediaError) -> InputSurface? {
        guard pages != nil else { return nil }
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
                    try buffer.copySamples(to: target.pixelPlanes, isForDevice: way == .derived)
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
    /// Repeats the last column and the last row of a picture up to the end of a surface of whole macroblocks. What lies
    /// there is coded, and cut off by decoders: left alone it would be old memory, which costs bits and may tell secrets.
    ///
    /// - Parameters:
    ///   - width: Samples in a row of the picture, even.
    ///   - height: Rows of the picture, even.
    ///   - columns: Samples in a row of the surface.
    ///   - rows: Rows of the surface.
    func extend(width: Int, height: Int, columns: Int, rows: Int) {
        guard columns > width || rows > height, [FourCC.nv12, .p010].contains(format) else { return }
        let sample = format.bytesPerSample
        let (used, all) = (width * sample, columns * sample)
        for (index, plane) in planes.prefix(2).enumerated() {
            // Luma has single samples, chroma pairs of two in half as many rows.
            let unit = (index + 1) * sample
            let (usedRows, allRows) = (height / (index + 1), rows / (index + 1))
            let end = plane.offset + (allRows - 1) * plane.pitch + all
            guard let base = bytes.baseAddress, usedRows > 0, used >= unit, end <= bytes.count else { return }
            for row in 0..<usedRows {
                let start = base + plane.offset + row * plane.pitch
                for byte in stride(from: used, to: all, by: unit) {
                    (start + byte).copyMemory(from: start + used - unit, byteCount: unit)
                }
            }
            for row in usedRows..<allRows {
                let start = base + plane.offset + row * plane.pitch
                start.copyMemory(from: base + plane.offset + (usedRows - 1) * plane.pitch, byteCount: all)
            }
        }
    }

    /// The planes as pixel buffers have them.
    fileprivate var pixelPlanes: [PixelPlane] {
        planes.compactMap { plane in
            bytes.baseAddress.map { PixelPlane(baseAddress: $0 + plane.offset, bytesPerRow: plane.pitch) }
        }
    }
}
