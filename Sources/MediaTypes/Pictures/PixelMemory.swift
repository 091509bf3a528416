// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc

/// A block of memory for one picture. It is freed with its last reference.
final class PixelMemory: @unchecked Sendable {
    /// The alignment of rows and blocks: the width of the widest vector registers and of a cache line.
    static let alignment = 64

    let base: UnsafeMutableRawPointer
    let byteCount: Int
    /// The memfd of the memory, or -1 for private memory.
    let fileDescriptor: Int32

    private init(base: UnsafeMutableRawPointer, byteCount: Int, fileDescriptor: Int32) {
        self.base = base
        self.byteCount = byteCount
        self.fileDescriptor = fileDescriptor
    }

    static func allocate(_ kind: PixelBufferPool.Memory, byteCount: Int) throws(MediaError) -> PixelMemory {
        switch kind {
        case .owned: try allocatePrivate(byteCount, alignment: alignment)
        case .shared: try allocateShared(byteCount)
        }
    }

    /// Allocates private memory that shares no page with anything else.
    static func allocatePages(byteCount: Int) throws(MediaError) -> PixelMemory {
        let page = sysconf(Int32(_SC_PAGESIZE))
        return try allocatePrivate((byteCount + page - 1) / page * page, alignment: page)
    }

    private static func allocatePrivate(_ byteCount: Int, alignment: Int) throws(MediaError) -> PixelMemory {
        var base: UnsafeMutableRawPointer?
        let status = posix_memalign(&base, alignment, byteCount)
        guard status == 0, let base else {
            throw MediaError(
                .outOfMemory,
                "no memory for a picture",
                given: "\(byteCount) bytes",
                call: "posix_memalign",
                status: Int(status)
            )
        }
        return PixelMemory(base: base, byteCount: byteCount, fileDescriptor: -1)
    }

    private static func allocateShared(_ byteCount: Int) throws(MediaError) -> PixelMemory {
        func failure(_ call: String) -> MediaError {
            MediaError(
                .outOfMemory,
                "no shared memory for a picture",
                given: "\(byteCount) bytes",
                call: call,
                status: Int(errno)
            )
        }
        let descriptor = linux_memfd_create("vatoolbox-picture")
        guard descriptor >= 0 else { throw failure("memfd_create") }
        guard ftruncate(descriptor, byteCount) == 0 else {
            let error = failure("ftruncate")
            close(descriptor)
            throw error
        }
        guard let base = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), base != MAP_FAILED
        else {
            let error = failure("mmap")
            close(descriptor)
            throw error
        }
        // The seals follow the mapping, which is the only one that may ever write.
        guard linux_seal_for_readers(descriptor) == 0 else {
            let error = failure("fcntl(F_ADD_SEALS)")
            munmap(base, byteCount)
            close(descriptor)
            throw error
        }
        return PixelMemory(base: base, byteCount: byteCount, fileDescriptor: descriptor)
    }

    deinit {
        if fileDescriptor >= 0 {
            munmap(base, byteCount)
            close(fileDescriptor)
        } else {
            free(base)
        }
    }
}

/// The layout of a picture of one format and size: packed planes with aligned rows.
package struct PackedLayout: Sendable, Hashable {
    /// The planes, one behind the other.
    package private(set) var planes: [PlaneLayout] = []
    /// The size of the memory in bytes.
    package private(set) var byteCount = 0

    /// Lays out a picture.
    ///
    /// - Parameter rowUnit: The unit of rows: each plane has room for a multiple of this number of luma rows.
    /// - Throws: `invalidArgument` for a size outside 1...``PixelBuffer/maximumDimension``.
    package init(format: PixelFormat, width: Int, height: Int, rowUnit: Int = 1) throws(MediaError) {
        let alignment = PixelMemory.alignment
        for plane in 0..<format.planeCount {
            guard let extent = format.planeExtent(plane, width: width, height: height) else {
                throw PixelBuffer.sizeError(width: width, height: height)
            }
            let bytesPerRow = (extent.bytesPerRow + alignment - 1) / alignment * alignment
            planes.append(PlaneLayout(offset: byteCount, bytesPerRow: bytesPerRow))
            let unit = format.is420 && plane > 0 ? (rowUnit + 1) / 2 : rowUnit
            byteCount += bytesPerRow * ((extent.rows + unit - 1) / unit * unit)
        }
    }
}
