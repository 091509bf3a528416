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

    fileprivate init(_ surface: Surface, _ owner: any AnyObject & Sendable) {
        self.surface = surface
        self.owner = owner
    }
}

/// Brings pictures into surfaces: DMA-BUFs as they are, if the driver takes them, everything else by a copy. Used on the
/// thread that submits.
final class PictureInput {
    /// How often pictures were copied as a whole: once where the driver gives out a surface's own memory, twice where the
    /// copy goes to an image and the driver brings it into the surface.
    private(set) var copies = 0

    private let pool: SurfacePool
    private var imports: ImportedSurfaces
    private var upload = UploadState()
    private let logger: Logger

    /// - Parameters:
    ///   - display: Where the surfaces are.
    ///   - request: Surfaces that the encoder reads from.
    ///   - logger: Is told when a driver does not take memory that need not have been copied.
    init(_ display: borrowing Display, _ request: SurfaceRequest, logger: Logger) {
        pool = SurfacePool(display.share(), request)
        imports = ImportedSurfaces(display.share())
        self.logger = logger
    }

    /// The surface that holds a picture, from now on until the caller lets go of it.
    func surface(for buffer: PixelBuffer) throws(MediaError) -> InputSurface {
        guard case .dmaBuf(let memory) = buffer.storage else { return try copy(buffer) }
        switch try imports.surface(memory, buffer) {
        case .imported(let surface): return InputSurface(surface, buffer)
        case .refused(let error, let isNew):
            if isNew { logger.notice("a DMA-BUF is copied, for the driver does not take it: \(error)") }
            guard buffer.isMapped else { throw error }
            return try copy(buffer)
        }
    }

    private func copy(_ buffer: PixelBuffer) throws(MediaError) -> InputSurface {
        let pooled = try calling(.frameFailed) { () throws(VAError) in try pool.take() }
        let way = upload.way
        let copied = try calling(.frameFailed) { () throws(VAError) in
            try pooled.surface.withWritablePlanes(&upload) { target in
                Result { () throws(MediaError) in
                    try buffer.copySamples(to: target.pixelPlanes, isForDevice: way == .derived)
                }
            }
        }
        try copied.get()
        copies += upload.way?.copies ?? 0
        return InputSurface(pooled.surface, pooled)
    }
}

extension WritablePlanes {
    /// The planes as pixel buffers have them.
    fileprivate var pixelPlanes: [PixelPlane] {
        planes.compactMap { plane in
            bytes.baseAddress.map { PixelPlane(baseAddress: $0 + plane.offset, bytesPerRow: plane.pitch) }
        }
    }
}
