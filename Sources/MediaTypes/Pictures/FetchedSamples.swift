// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import CPixelKernels
internal import Glibc

/// Samples of a picture in a file, a DMA-BUF or a device surface, made readable for the CPU: a copy of the file's or the
/// surface's, or a mapping of the DMA-BUF.
final class FetchedSamples: @unchecked Sendable {
    let planes: [PixelPlane]
    private let memory: PixelMemory?
    private let copy: PixelBuffer?
    private let mappings: [Mapping]

    /// The mapping of one DMA-BUF object.
    private struct Mapping {
        var descriptor: Int32
        var bytes: UnsafeMutableRawBufferPointer
    }

    init(_ buffer: PixelBuffer) throws(MediaError) {
        switch buffer.storage {
        case .file(let file):
            let layout = try PackedLayout(format: buffer.format, width: buffer.width, height: buffer.height)
            let memory = try PixelMemory.allocate(.owned, byteCount: layout.byteCount)
            planes = layout.planes.map { PixelPlane(baseAddress: memory.base + $0.offset, bytesPerRow: $0.bytesPerRow) }
            (self.memory, copy, mappings) = (memory, nil, [])
            try file.read(into: planes, format: buffer.format, width: buffer.width, height: buffer.height)
        case .dmaBuf(let picture):
            (memory, copy) = (nil, nil)
            mappings = try Self.map(picture, buffer)
            planes = picture.planes.compactMap { [mappings] plane in
                mappings[plane.object].bytes.baseAddress.map {
                    PixelPlane(baseAddress: $0 + plane.layout.offset, bytesPerRow: plane.layout.bytesPerRow)
                }
            }
        case .deviceSurface(let surface):
            let copy = try surface.copy(buffer.pictureDescription)
            guard copy.format == buffer.format, copy.width == buffer.width, copy.height == buffer.height else {
                throw MediaError(.malformedData, "a device returned another picture", given: copy.format.rawValue)
            }
            (memory, mappings) = (nil, [])
            self.copy = copy
            planes = try copy.withPlanes { planes in planes }
        case .owned, .external, .sharedMemory:
            throw MediaError(.unsupported, "the samples of this picture cannot be read", given: buffer.storage.name)
        }
    }

    deinit { Self.unmap(mappings) }

    private static func map(_ picture: DMABuffer, _ buffer: PixelBuffer) throws(MediaError) -> [Mapping] {
        var mappings: [Mapping] = []
        for (index, descriptor) in picture.fileDescriptors.enumerated() {
            let used = picture.planes.enumerated().filter { $0.element.object == index }.map { number, plane in
                let extent = buffer.format.planeExtent(number, width: buffer.width, height: buffer.height)
                let rows = extent?.rows ?? 1
                return plane.layout.offset + plane.layout.bytesPerRow * (rows - 1) + (extent?.bytesPerRow ?? 0)
            }
            let byteCount = max(used.max() ?? 0, 1)
            do throws(MediaError) {
                mappings.append(try map(descriptor, byteCount))
            } catch {
                unmap(mappings)
                throw error
            }
        }
        return mappings
    }

    private static func map(_ descriptor: Int32, _ byteCount: Int) throws(MediaError) -> Mapping {
        // Exporters report the size by lseek. An access beyond it would raise a signal instead of returning an error.
        let size = lseek(descriptor, 0, SEEK_END)
        guard size >= byteCount else {
            throw MediaError(
                .invalidArgument,
                "a plane exceeds its DMA-BUF",
                given: "\(byteCount) bytes",
                allowed: "at most \(max(size, 0))"
            )
        }
        guard let base = mmap(nil, byteCount, PROT_READ, MAP_SHARED, descriptor, 0), base != MAP_FAILED else {
            throw MediaError(
                .unsupported,
                "a DMA-BUF cannot be mapped",
                given: "\(byteCount) bytes",
                call: "mmap",
                status: Int(errno)
            )
        }
        return Mapping(descriptor: descriptor, bytes: UnsafeMutableRawBufferPointer(start: base, count: byteCount))
    }

    private static func unmap(_ mappings: [Mapping]) {
        for mapping in mappings { munmap(mapping.bytes.baseAddress, mapping.bytes.count) }
    }

    /// Makes the data that devices have written visible to the CPU.
    func beginReading() throws(MediaError) {
        for mapping in mappings where linux_dma_buf_read(mapping.descriptor, 1) != 0 {
            throw MediaError(
                .inputOutput,
                "a DMA-BUF cannot be read",
                call: "ioctl(DMA_BUF_IOCTL_SYNC)",
                status: Int(errno)
            )
        }
    }

    func endReading() {
        for mapping in mappings { _ = linux_dma_buf_read(mapping.descriptor, 0) }
    }
}

extension PixelPlane {
    /// Copies the rows of a plane.
    func copyRows(of source: PixelPlane, _ extent: PlaneExtent, isForDevice: Bool) {
        pixel_kernel_copy_rows(
            baseAddress,
            bytesPerRow,
            source.baseAddress,
            source.bytesPerRow,
            extent.bytesPerRow,
            extent.rows,
            isForDevice
        )
    }
}

extension FilePicture {
    /// The number of bytes per read if rows have to be placed one by one: they stay in the L2 cache until they are
    /// copied.
    private static let chunk = 96 << 10

    /// Reads the planes into memory.
    func read(
        into target: [PixelPlane],
        format: PixelFormat,
        width: Int,
        height: Int,
        isForDevice: Bool = false
    ) throws(MediaError) {
        let scratchSize = max(Self.chunk, planes.map(\.bytesPerRow).max() ?? 0)
        var scratch: UnsafeMutableRawPointer?
        defer { free(scratch) }
        for (index, (source, target)) in zip(planes, target).enumerated() {
            guard let extent = format.planeExtent(index, width: width, height: height) else { continue }
            if source.bytesPerRow == target.bytesPerRow {
                let byteCount = source.bytesPerRow * (extent.rows - 1) + extent.bytesPerRow
                try read(target.baseAddress, byteCount, at: source.offset)
                continue
            }
            let rows = max(1, Self.chunk / source.bytesPerRow)
            if scratch == nil { scratch = malloc(scratchSize) }
            guard let scratch else { throw MediaError(.outOfMemory, "no memory to read a picture") }
            for row in stride(from: 0, to: extent.rows, by: rows) {
                let count = min(rows, extent.rows - row)
                let end = source.bytesPerRow * (count - 1) + extent.bytesPerRow
                try read(scratch, end, at: source.offset + row * source.bytesPerRow)
                let place = PixelPlane(
                    baseAddress: target.baseAddress + row * target.bytesPerRow,
                    bytesPerRow: target.bytesPerRow
                )
                let read = PixelPlane(baseAddress: scratch, bytesPerRow: source.bytesPerRow)
                let extent = PlaneExtent(bytesPerRow: extent.bytesPerRow, rows: count)
                place.copyRows(of: read, extent, isForDevice: isForDevice)
            }
        }
    }

    private func read(_ target: UnsafeMutableRawPointer, _ byteCount: Int, at offset: Int) throws(MediaError) {
        var done = 0
        while done < byteCount {
            let count = pread(fileDescriptor, target + done, byteCount - done, offset + done)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw MediaError(
                    .inputOutput,
                    count == 0 ? "the file of a picture was truncated" : "the file of a picture cannot be read",
                    given: "byte \(offset + done)",
                    call: "pread",
                    status: count == 0 ? 0 : Int(errno),
                    isPermanent: true
                )
            }
            done += count
        }
    }
}
