// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import VAAPI

/// Pages of pixel buffer pools that are surfaces of a driver (`VA_SURFACE_ATTRIB_MEM_TYPE_USER_PTR`): told to it once, and
/// read where they lie with every picture that comes in them.
///
/// The kernel wants whole pages that the process may write to, as those of a pool are. A surface keeps its pages. Those that
/// a pool has freed go with the encoder, or when others take their place here.
struct PageSurfaces: ~Copyable {
    private let display: Display
    private let columns: Int
    private let rows: Int
    private let format: FourCC
    /// More than a pool has in use at a time, and as much as that may be.
    private var surfaces = RecentValues<ObjectIdentifier, Surface>(limit: 64, byteLimit: 256 << 20)

    /// - Parameters:
    ///   - display: Where the surfaces are.
    ///   - request: What surfaces that need no import are like: they have whole macroblocks.
    init(_ display: consuming Display, _ request: SurfaceRequest) {
        self.display = display
        (columns, rows) = (request.width, request.height)
        format = request.format ?? .nv12
    }

    /// The surface of a picture.
    ///
    /// - Returns: `nil` for a picture that is in no pages of a pool, or lies in them otherwise than in surfaces.
    /// - Throws: if the driver does not take the pages.
    mutating func surface(_ buffer: PixelBuffer) throws(MediaError) -> Surface? {
        guard buffer.format.lies(as: format) else { return nil }
        let pages = buffer.pages { pages in
            guard buffer.format.is420 else { return }
            // Beyond the surface's last column, too, for other encoders may have larger blocks.
            let columns = (pages.planes.map(\.bytesPerRow).min() ?? 0) / buffer.format.bytesPerSample
            writable(pages).extend(width: buffer.width, height: buffer.height, columns: columns, rows: rows)
        }
        guard let pages else { return nil }
        let key = ObjectIdentifier(pages.owner)
        if let surface = surfaces.use(key) { return surface }
        surfaces.makeRoom(byteCount: pages.bytes.count)
        let memory = UserMemory(
            format: format,
            width: columns,
            height: rows,
            bytes: pages.bytes,
            planes: pages.imagePlanes
        )
        let surface = try calling(.frameFailed) { () throws(VAError) in
            try display.importSurface(
                memory,
                owner: pages.owner,
                renderTargetFormat: buffer.format.renderTargetFormat
            )
        }
        surfaces.insert(surface, for: key, byteCount: pages.bytes.count)
        return surface
    }

    private func writable(_ pages: PicturePages) -> WritablePlanes {
        WritablePlanes(format: format, width: columns, height: rows, planes: pages.imagePlanes, bytes: pages.bytes)
    }
}

extension PicturePages {
    fileprivate var imagePlanes: [ImagePlane] { planes.map { ImagePlane(offset: $0.offset, pitch: $0.bytesPerRow) } }
}
