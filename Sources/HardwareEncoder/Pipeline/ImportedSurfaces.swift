// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes
internal import VAAPI

/// DMA-BUFs that are surfaces of a driver: those of a pool that comes around again and again are imported once.
struct ImportedSurfaces: ~Copyable {
    /// What became of a DMA-BUF.
    enum Outcome {
        case imported(Surface)
        /// The driver does not take it; `isNew` when it was asked just now.
        case refused(MediaError, isNew: Bool)
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
        var surface: Surface?
        var refusal: MediaError?
        /// Keeps the file, and so its number, from becoming another memory's.
        var descriptors: KeptDescriptors
        var lastUse: UInt64

        func outcome(isNew: Bool) -> Outcome {
            if let surface { return .imported(surface) }
            let unknown = MediaError(.frameFailed, "the DMA-BUF was not imported")
            return .refused(refusal ?? unknown, isNew: isNew)
        }
    }

    /// More than a capture pool has. What is beyond it is imported again.
    private static let limit = 64

    private let display: Display
    private var entries: [Key: Entry] = [:]
    private var uses: UInt64 = 0

    init(_ display: consuming Display) { self.display = display }

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
        uses += 1
        if let entry = entries[key] {
            entries[key]?.lastUse = uses
            return entry.outcome(isNew: false)
        }
        if entries.count >= Self.limit, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) {
            entries[oldest.key] = nil
        }
        var entry = Entry(descriptors: try KeptDescriptors(memory.fileDescriptors), lastUse: uses)
        do throws(MediaError) {
            entry.surface = try importSurface(memory, buffer)
        } catch {
            entry.refusal = error
        }
        entries[key] = entry
        return entry.outcome(isNew: true)
    }

    private func importSurface(_ memory: DMABuffer, _ buffer: PixelBuffer) throws(MediaError) -> Surface {
        let objects = memory.fileDescriptors.map { descriptor in
            let size = max(lseek(descriptor, 0, SEEK_END), 0)
            return DMABufLayout.Object(
                descriptor: descriptor,
                size: UInt32(clamping: size),
                modifier: memory.modifier
            )
        }
        let planes = memory.planes.map { plane in
            DMABufLayout.Plane(
                object: UInt32(clamping: plane.object),
                offset: UInt32(clamping: plane.layout.offset),
                pitch: UInt32(clamping: plane.layout.bytesPerRow)
            )
        }
        let layout = DMABufLayout(
            format: .nv12,
            width: buffer.width,
            height: buffer.height,
            objects: objects,
            layers: [DMABufLayout.Layer(format: .nv12, planes: planes)]
        )
        return try calling(.frameFailed) { () throws(VAError) in try display.importSurface(layout) }
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
