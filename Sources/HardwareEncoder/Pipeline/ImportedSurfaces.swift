// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes
internal import VAAPI

/// DMA-BUFs that are surfaces of a driver: those of a pool that comes around again and again are imported once.
struct ImportedSurfaces: ~Copyable {
    /// What became of a DMA-BUF.
    enum Outcome {
        case imported(Surface)
        /// It cannot be a surface.
        case refused(MediaError)
    }

    /// Memory and layout of a picture. A DMA-BUF has a file number of its own, whichever descriptor it has.
    private struct Key: Hashable {
        var files: [File]
        var planes: [DMABuffer.Plane]
        var modifier: UInt64
        var width: Int
        var height: Int
    }

    private struct File: Hashable {
        var device: UInt64
        var number: UInt64
    }

    private struct Entry {
        var outcome: Outcome
        /// Keeps the file, and so its number, from becoming another memory's.
        var descriptors: KeptDescriptors
    }

    private let display: Display
    private let columns: Int
    private let rows: Int
    private let format: FourCC?
    /// More than a capture pool has. What is beyond it is imported again.
    private var entries = RecentValues<Key, Entry>(limit: 64)

    /// - Parameters:
    ///   - display: Where the surfaces are.
    ///   - request: What surfaces that need no import are like: they have whole macroblocks.
    init(_ display: consuming Display, _ request: SurfaceRequest) {
        self.display = display
        (columns, rows) = (request.width, request.height)
        format = request.format
    }

    /// The surface of a picture in a DMA-BUF.
    ///
    /// - Throws: if a descriptor is closed, or there are too many open ones.
    mutating func surface(_ memory: DMABuffer, _ buffer: PixelBuffer) throws(MediaError) -> Outcome {
        let key = Key(
            files: try memory.fileDescriptors.map { (descriptor) throws(MediaError) in try Self.file(descriptor) },
            planes: memory.planes,
            modifier: memory.modifier,
            width: buffer.width,
            height: buffer.height
        )
        if let entry = entries.use(key) { return entry.outcome }
        entries.makeRoom()
        let descriptors = try KeptDescriptors(memory.fileDescriptors)
        let outcome: Outcome
        do throws(MediaError) {
            outcome = .imported(try importSurface(memory, key.files, buffer))
        } catch {
            outcome = .refused(error)
        }
        entries.insert(Entry(outcome: outcome, descriptors: descriptors), for: key)
        return outcome
    }

    private func importSurface(
        _ memory: DMABuffer,
        _ files: [File],
        _ buffer: PixelBuffer
    ) throws(MediaError) -> Surface {
        let sizes = memory.fileDescriptors.map { max(Int(lseek($0, 0, SEEK_END)), 0) }
        let hasRoom = hasRoom(memory.planes, buffer.format, files, sizes)
        // A driver may read all of the macroblocks that it is told of, and so beyond the memory.
        if !hasRoom, buffer.isMapped {
            throw MediaError(
                .unsupported,
                "the planes have no room for whole macroblocks",
                given: "\(buffer.width)x\(buffer.height)",
                allowed: "\(columns)x\(rows)"
            )
        }
        let objects = zip(memory.fileDescriptors, sizes).map { descriptor, size in
            DMABufLayout.Object(descriptor: descriptor, size: UInt32(clamping: size), modifier: memory.modifier)
        }
        // A layer for each plane: radeonsi refuses the two in one, and iHD takes either.
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

    /// Whether no plane ends behind its memory, or behind the beginning of another one, if all of its macroblocks are
    /// whole. What lies in the rows below the picture is coded then, and cut off by decoders.
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

/// Duplicates of descriptors, closed at the end of its life.
private final class KeptDescriptors {
    private var descriptors: [Int32] = []

    init(_ originals: [Int32]) throws(MediaError) {
        for original in originals {
            let copy = fcntl(original, F_DUPFD_CLOEXEC, 0)
            guard copy >= 0 else {
                throw MediaError(
                    .outOfMemory,
                    "a DMA-BUF cannot be kept open",
                    call: "fcntl(F_DUPFD_CLOEXEC)",
                    status: Int(errno)
                )
            }
            descriptors.append(copy)
        }
    }

    deinit { for descriptor in descriptors { close(descriptor) } }
}
