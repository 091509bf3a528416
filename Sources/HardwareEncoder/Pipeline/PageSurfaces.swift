// SPDX-License-Identifier: GPL-2.0-or-later

internal import HardwareDisplay
internal import MediaTypes
internal import VAAPI

/// The driver's surfaces for pages of pixel buffer pools (`VA_SURFACE_ATTRIB_MEM_TYPE_USER_PTR`). Pages are imported
/// once and read in place for every picture in them.
///
/// The kernel requires whole pages that the process may write to, as those of a pool are. A surface retains its pages.
/// Pages that a pool has freed are released with the encoder, or when others replace them here.
struct PageSurfaces: ~Copyable {
    private let display: Display
    private let columns: Int
    private let rows: Int
    private let format: FourCC
    /// The limit exceeds the number of pages that a pool uses at a time, and bounds their size.
    private var surfaces = RecentValues<ObjectIdentifier, Surface>(limit: 64, byteLimit: 256 << 20)

    /// - Parameters:
    ///   - display: The display of the surfaces.
    ///   - request: The properties of surfaces without import, which consist of whole macroblocks.
    init(_ display: consuming Display, _ request: SurfaceRequest) {
        self.display = display
        (columns, rows) = (request.width, request.height)
        format = request.format ?? .nv12
    }

    /// Returns the surface of a picture.
    ///
    /// - Returns: `nil` for a picture that is not in pages of a pool, or whose layout differs from that of surfaces.
    /// - Throws: An error if the driver refuses the pages.
    mutating func surface(_ buffer: PixelBuffer) throws(MediaError) -> Surface? {
        guard buffer.format.lies(as: format) else { return nil }
        let pages = buffer.pages { pages in
            guard buffer.format.isYCbCr else { return }
            // Also beyond the surface's last column, because other encoders may have larger blocks.
            let columns = (pages.planes.map(\.bytesPerRow).min() ?? 0) / buffer.format.arrangement.luma.step
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
