// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
internal import MediaTypes

/// The memory of a memfd, mapped into this process until its last reference is released.
final class SharedMapping: @unchecked Sendable {
    /// The access to the memory.
    enum Access { case read, readWrite }

    /// The maximum size of a mapping, far above any picture or ring.
    static let maximumByteCount = 1 << 33

    let base: UnsafeMutableRawPointer
    let byteCount: Int

    /// Maps memory that the other process has sent.
    ///
    /// - Throws: `malformedData` if it is not a memfd of at least that size with a sealed size, because access to
    ///   truncated memory kills a process; `outOfMemory`.
    init(_ descriptor: borrowing Descriptor, byteCount: Int, access: Access) throws(MediaError) {
        var file = stat()
        guard (1...Self.maximumByteCount).contains(byteCount), Self.hasSealedSize(descriptor.number),
            fstat(descriptor.number, &file) == 0, file.st_size >= byteCount
        else {
            throw MediaError(
                .malformedData,
                "the received descriptor is not shared memory of the stated size",
                given: "\(byteCount) bytes"
            )
        }
        let protection = access == .read ? PROT_READ : PROT_READ | PROT_WRITE
        guard let base = mmap(nil, byteCount, protection, MAP_SHARED, descriptor.number, 0), base != MAP_FAILED else {
            throw systemError("mmap", "shared memory cannot be mapped")
        }
        self.base = base
        self.byteCount = byteCount
    }

    deinit { munmap(base, byteCount) }

    /// Whether the size of the memory behind a descriptor can never change: that of a DMA-BUF, or of a memfd with a sealed
    /// size. Access to memory that was truncated ends a process.
    static func hasFixedSize(_ descriptor: Int32) -> Bool {
        linux_is_dma_buf(descriptor) == 1 || hasSealedSize(descriptor)
    }

    private static func hasSealedSize(_ descriptor: Int32) -> Bool {
        // -1, which has all bits set, for a file that does not support seals.
        let seals = linux_get_seals(descriptor)
        return seals >= 0 && seals & linux_seals_of_size() == linux_seals_of_size()
    }

    /// Creates a memfd with a fixed size.
    ///
    /// - Parameters:
    ///   - name: The name that `/proc` shows.
    ///   - allowsSeals: Whether other seals than those of the size may follow.
    static func makeMemory(
        named name: String,
        byteCount: Int,
        allowsSeals: Bool = false
    ) throws(MediaError) -> Descriptor {
        let number = linux_memfd_create(name)
        guard number >= 0 else { throw systemError("memfd_create", "shared memory cannot be created") }
        let descriptor = Descriptor(owning: number)
        guard ftruncate(number, byteCount) == 0 else {
            throw systemError("ftruncate", "shared memory cannot be created")
        }
        guard (allowsSeals ? linux_fix_size(number) : linux_seal_size(number)) == 0 else {
            throw systemError("fcntl(F_ADD_SEALS)", "memory cannot be sealed")
        }
        return descriptor
    }
}

extension PlaneLayout {
    /// Whether every used byte of a plane is among the first `byteCount`.
    func isInside(_ byteCount: Int, _ extent: PlaneExtent) -> Bool {
        guard (0...byteCount).contains(offset),
            (extent.bytesPerRow...PixelBuffer.maximumBytesPerRow).contains(bytesPerRow)
        else { return false }
        // At most 24 + 15 bits.
        return bytesPerRow * (extent.rows - 1) + extent.bytesPerRow <= byteCount - offset
    }
}
