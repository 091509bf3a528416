// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import VAAPI

/// Brings pictures into surfaces. Used on the thread that submits.
final class PictureInput {
    /// How often pictures were copied as a whole.
    private(set) var copies = 0

    private let pool: SurfacePool
    private var upload = UploadState()

    /// - Parameters:
    ///   - display: Where the surfaces are.
    ///   - request: Surfaces that the encoder reads from.
    init(_ display: borrowing Display, _ request: SurfaceRequest) {
        pool = SurfacePool(display.share(), request)
    }

    /// The surface that holds a picture, from now on until the caller lets go of it.
    func surface(for buffer: PixelBuffer) throws(MediaError) -> PooledSurface {
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
        return pooled
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
