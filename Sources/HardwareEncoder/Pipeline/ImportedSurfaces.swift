// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import HardwareDisplay
internal import MediaTypes
internal import VAAPI

/// The driver's surfaces for DMA-BUFs. Those of a recurring pool are imported only once.
struct ImportedSurfaces: ~Copyable {
    /// The result of importing a DMA-BUF.
    enum Outcome {
        case imported(Surface)
        /// It cannot be imported.
        case refused(MediaError)
        /// It has no room for whole macroblocks, which only an encoder needs.
        case tooSmall(MediaError)
    }

    /// The memory and layout of a picture. A DMA-BUF has a unique file number, regardless of its descriptor.
    private struct Key: Hashable {
        var files: [File]
        var planes: [DMABuffer.Plane]
        var modifier: UInt64
        var width: Int
        var height: Int
    }

    struct File: Hashable {
        var device: UInt64
        var number: UInt64
    }

    private struct Entry {
        var outcome: Outcome
        /// Keep the file open, so that its number is not reused for other memory.
        var descriptors: KeptDescriptors
    }

    private let display: Display
    private let columns: Int
    private let rows: Int
    private let format: FourCC?
    private let quirks: Quirks
    /// The limit exceeds the size of a capture pool; further pictures are imported again. Memory that its producer has
    /// released stays allocated here, so its size is limited, too.
    private var entries = RecentValues<Key, Entry>(limit: 64, byteLimit: 256 << 20)

    /// - Parameters:
    ///   - display: The display of the surfaces.
    ///   - request: The properties of surfaces without import, which consist of whole macroblocks.
    ///   - quirks: Describes which memory the driver accepts but misreads.
    init(_ display: consuming Display, _ request: SurfaceRequest, quirks: Quirks) {
        self.display = display
        self.quirks = quirks
        (columns, rows) = (request.width, request.height)
        format = request.format
    }

    /// Returns the surface of a picture in a DMA-BUF.
    ///
    /// - Throws: An error if a descriptor is closed, or if too many are open.
    mutating func surface(_ memory: DMABuffer, _ buffer: PixelBuffer) throws(MediaError) -> Outcome {
        let key = Key(
            files: try memory.fileDescriptors.map { (descriptor) throws(MediaError) in try Self.file(descriptor) },
            planes: memory.planes,
            modifier: memory.modifier,
            width: buffer.width,
            height: buffer.height
        )
        if let entry = entries.use(key) { return entry.outcome }
        let sizes = memory.byteCounts
        // Memory with several descriptors counts once.
        let byteCount = Dictionary(zip(key.files, sizes)) { first, _ in first }.values.reduce(0, +)
        entries.makeRoom(byteCount: byteCount)
        let descriptors = try KeptDescriptors(memory.fileDescriptors)
        let outcome: Outcome
        do throws(MediaError) {
            try checkMisreading(memory, key.files)
            try checkArrangement(buffer)
            let hasRoom = hasRoom(memory.planes, buffer.format, key.files, sizes)
            // A driver may read all macroblocks of the declared size, and therefore beyond the memory.
            outcome =
                hasRoom || !buffer.isMapped
                ? .imported(try importSurface(memory, sizes, buffer, hasRoom: hasRoom)) : .tooSmall(tooSmall(buffer))
        } catch {
            outcome = .refused(error)
        }
        entries.insert(Entry(outcome: outcome, descriptors: descriptors), for: key, byteCount: byteCount)
        return outcome
    }

    private func importSurface(
        _ memory: DMABuffer,
        _ sizes: [Int],
        _ buffer: PixelBuffer,
        hasRoom: Bool
    ) throws(MediaError) -> Surface {
        let objects = zip(memory.fileDescriptors, sizes).map { descriptor, size in
            DMABufLayout.Object(descriptor: descriptor, size: UInt32(clamping: size), modifier: memory.modifier)
        }
        // One layer per plane: radeonsi refuses both in one layer, and iHD accepts either.
        let format = format ?? buffer.format.fourCC
        let layers = zip(format.planeFormats, memory.planes).map { format, plane in
            let plane = DMABufLayout.Plane(
                object: UInt32(clamping: plane.object),
                offset: UInt32(clamping: plane.layout.offset),
                pitch: UInt32(clamping: plane.layout.bytesPerRow)
            )
            return DMABufLayout.Layer(format: format, planes: [plane])
        }
        let layout = DMABufLayout(
            format: format,
            width: hasRoom ? columns : buffer.width,
            height: hasRoom ? rows : buffer.height,
            objects: objects,
            layers: layers
        )
        return try calling(.frameFailed) { () throws(VAError) in
            try display.importSurface(layout, renderTargetFormat: buffer.format.renderTargetFormat)
        }
    }

    private func tooSmall(_ buffer: PixelBuffer) -> MediaError {
        MediaError(
            .unsupported,
            "the planes are too small for whole macroblocks",
            given: "\(buffer.width)x\(buffer.height)",
            allowed: "\(columns)x\(rows)"
        )
    }

    private func checkArrangement(_ buffer: PixelBuffer) throws(MediaError) {
        guard let format, !buffer.format.lies(as: format) else { return }
        throw MediaError(
            .unsupported,
            "the samples of the picture are arranged differently from the driver's surfaces",
            given: buffer.format.rawValue,
            allowed: format.description
        )
    }

    private func checkMisreading(_ memory: DMABuffer, _ files: [File]) throws(MediaError) {
        if quirks.importsEvenPlanesOnly, !Self.areEven(memory.planes, files) {
            throw MediaError(
                .unsupported,
                "the driver cannot import this layout of planes",
                given: memory.planes.map { "\($0.layout.bytesPerRow) bytes per row from \($0.layout.offset) on" }
                    .joined(separator: ", "),
                allowed: "one object, one row length for all planes, planes that begin at a whole row"
            )
        }
        if let vendor = quirks.readModifierVendor, !Self.isModifier(memory.modifier, of: vendor) {
            throw MediaError(
                .unsupported,
                "the driver would misread the tiled memory of another GPU",
                given: "format modifier 0x\(String(memory.modifier, radix: 16))",
                allowed: "0 (linear), or a format modifier of the GPU that encodes"
            )
        }
    }

    /// Whether a format modifier has no vendor (linear or unspecified) or this one. The upper 8 bits contain the vendor
    /// (`drm_fourcc.h`).
    static func isModifier(_ modifier: UInt64, of vendor: UInt8) -> Bool {
        let stated = UInt8(modifier >> 56)
        return stated == 0 || stated == vendor
    }

    /// Whether all planes are in the same memory, have the same pitch, and begin at a multiple of the pitch.
    ///
    /// - Parameter files: The memory of each plane's object.
    static func areEven(_ planes: [DMABuffer.Plane], _ files: [File]) -> Bool {
        guard let first = planes.first, first.layout.bytesPerRow > 0 else { return false }
        return planes.allSatisfy { plane in
            files[plane.object] == files[0] && plane.layout.bytesPerRow == first.layout.bytesPerRow
                && plane.layout.offset % first.layout.bytesPerRow == 0
        }
    }

    /// Whether no plane, extended to whole macroblocks, ends beyond its memory or beyond the beginning of another
    /// plane. The rows below the picture are then encoded, and decoders crop them.
    private func hasRoom(
        _ planes: [DMABuffer.Plane],
        _ format: PixelFormat,
        _ files: [File],
        _ sizes: [Int]
    ) -> Bool {
        planes.enumerated().allSatisfy { index, plane in
            guard let extent = format.planeExtent(index, width: columns, height: rows) else { return false }
            let (start, pitch) = (plane.layout.offset, plane.layout.bytesPerRow)
            let end = start + pitch * (extent.rows - 1) + extent.bytesPerRow
            let others = planes.filter { files[$0.object] == files[plane.object] && $0.layout.offset > start }
            return pitch >= extent.bytesPerRow && end <= sizes[plane.object]
                && others.allSatisfy { end <= $0.layout.offset }
        }
    }

    private static func file(_ descriptor: Int32) throws(MediaError) -> File {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw MediaError(
                .invalidArgument,
                "the descriptor of a DMA-BUF is closed",
                given: "\(descriptor)",
                call: "fstat",
                status: Int(errno)
            )
        }
        return File(device: UInt64(status.st_dev), number: UInt64(status.st_ino))
    }
}

/// Duplicated descriptors, which are closed when this object is released.
private final class KeptDescriptors {
    private var descriptors: [Int32] = []

    init(_ originals: [Int32]) throws(MediaError) {
        for original in originals {
            let copy = fcntl(original, F_DUPFD_CLOEXEC, 0)
            guard copy >= 0 else {
                throw MediaError(
                    .outOfMemory,
                    "the descriptor of a DMA-BUF cannot be duplicated",
                    call: "fcntl(F_DUPFD_CLOEXEC)",
                    status: Int(errno)
                )
            }
            descriptors.append(copy)
        }
    }

    deinit { for descriptor in descriptors { close(descriptor) } }
}
